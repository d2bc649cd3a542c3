package world

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/volumes"
)

// text returns a string of an object; empty if it has none.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

// storage returns which claims that all ordinals share, and which of their volumes, may not be created at the
// destination. It also removes claims from the needs that the destination keeps or has: within one cluster, kubelets
// treat two volumes of one storage as one, and a claim that another user has created there is not replaced. The check
// of shared claims reports a claim on another disk.
func (r CopyReader) storage(ctx context.Context, needs *Needs) (map[Named]volumes.Reason, error) {
	barred, left := map[Named]volumes.Reason{}, map[Named]bool{}
	for _, ref := range needs.References {
		origin := needs.Origins[namedBy(ref)]
		if ref.Kind != dependencies.PersistentVolumeClaim || origin == nil {
			continue
		}
		of := Named{dependencies.PersistentVolume, text(origin, "spec", "volumeName")}
		own, err := r.keepsOwn(ctx, ref)
		if err != nil {
			return nil, err
		}
		if own {
			left[namedBy(ref)], left[of] = true, true
			continue
		}
		problem, err := r.bars(origin, needs.Origins[of])
		if err != nil {
			return nil, err
		}
		barred[namedBy(ref)], barred[of] = problem, problem
	}
	needs.References = slices.DeleteFunc(slices.Clone(needs.References), func(ref dependencies.Reference) bool {
		return left[namedBy(ref)] || ref.Kind == dependencies.PersistentVolumeClaim && r.SameCluster()
	})
	return barred, nil
}

// keepsOwn reports whether a claim must not be created at the destination.
func (r CopyReader) keepsOwn(ctx context.Context, ref dependencies.Reference) (bool, error) {
	if r.SameCluster() {
		return true, nil
	}
	kind, _ := dependencies.KindOf(ref.Kind)
	there, err := r.Destination.Dependency(ctx, kind, ref.Name, kind.Versions...)
	if there == nil || err != nil {
		return false, err
	}
	mark := dependencies.ParseMark(there.GetAnnotations()[api.OriginAnnotationKey])
	return !mark.Of(r.Source.ID, r.Source.Namespace, ref.Name), nil
}

// bars returns why the volume of a shared claim may not be created at the destination.
func (r CopyReader) bars(claim, volume *unstructured.Unstructured) (volumes.Reason, error) {
	var c corev1.PersistentVolumeClaim
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(claim.Object, &c); err != nil {
		return volumes.Reason{}, fmt.Errorf("claim %s in cluster %s: %w", claim.GetName(), r.Source.Cluster, err)
	}
	var v *corev1.PersistentVolume
	if volume != nil {
		v = &corev1.PersistentVolume{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(volume.Object, v); err != nil {
			return volumes.Reason{}, fmt.Errorf("volume %s in cluster %s: %w", volume.GetName(), r.Source.Cluster, err)
		}
	}
	if problem := volumes.Shareable(&c, v, r.Source.Kubectl()); problem != nil {
		return *problem, nil
	}
	return r.Policy.Bars(v, volumes.Use{Namespace: r.Destination.Namespace}), nil
}
