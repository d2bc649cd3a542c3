package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// left describes all objects that a migration leaves, without details that differ from run to run.
func (v *move) left() string {
	v.T.Helper()
	var lines []string
	for _, at := range []struct {
		name string
		harness.Endpoint
	}{{"source", v.Here()}, {"destination", v.There()}} {
		lines = append(lines, v.leftOfSet(at.name, at.Endpoint)...)
		lines = append(lines, v.leftOfVolumes(at.name, at.Endpoint)...)
		budgets, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		for _, budget := range budgets.Items {
			lines = append(lines, fmt.Sprintf("%s: budget %s %v %v", at.name, budget.Name, budget.Spec.MaxUnavailable, annotationKeys(budget.Annotations)))
		}
		services, err := at.Client.CoreV1().Services(at.Namespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		for _, service := range services.Items {
			if ofMovers(&service) {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: service %s %v", at.name, service.Name, annotationKeys(service.Annotations)))
		}
	}
	slices.Sort(lines)
	return strings.NewReplacer(v.App.Namespace, "NAMESPACE").Replace(strings.Join(slices.Compact(lines), "\n"))
}

// ofMovers reports whether an object belongs to movers. Such objects are deleted on their own: see
// expectNoMovers.
func ofMovers(object metav1.Object) bool {
	_, found := object.GetLabels()[api.MigrationLabelKey]
	return found
}

func (v *move) leftOfSet(side string, at harness.Endpoint) []string {
	v.T.Helper()
	set, err := at.Client.AppsV1().StatefulSets(at.Namespace).Get(v.Ctx, at.Set, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	v.Must(err)
	lines := []string{fmt.Sprintf("%s: set %s of %d, %d Ready, %v", side, set.Name, *set.Spec.Replicas, set.Status.ReadyReplicas, annotationKeys(set.Annotations))}
	if *set.Spec.Replicas > 0 && set.Spec.Ordinals != nil {
		lines = append(lines, fmt.Sprintf("%s: set %s from %d", side, set.Name, set.Spec.Ordinals.Start))
	}
	return lines
}

// awaitDeletions waits until the volumes of deleted claims are deleted according to their reclaim policy. After
// a failure the controller retries some seconds later.
func (v *move) awaitDeletions(at harness.Endpoint) {
	v.T.Helper()
	v.Eventually("the volumes of deleted claims are gone", func(ctx context.Context) (bool, error) {
		claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		there := map[types.UID]bool{"": true} // reserved for a claim that does not exist yet
		for i := range claims.Items {
			there[claims.Items[i].UID] = true
		}
		volumes, err := at.Client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(volumes.Items, func(volume corev1.PersistentVolume) bool {
			ref, policy := volume.Spec.ClaimRef, volume.Spec.PersistentVolumeReclaimPolicy
			return ref != nil && ref.Namespace == at.Namespace && policy == corev1.PersistentVolumeReclaimDelete && !there[ref.UID]
		}), nil
	})
}

func (v *move) leftOfVolumes(side string, at harness.Endpoint) []string {
	v.T.Helper()
	v.awaitDeletions(at)
	claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	volumes, err := at.Client.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	byName := map[string]corev1.PersistentVolume{}
	var lines []string
	for _, volume := range volumes.Items {
		ref := volume.Spec.ClaimRef
		if ref == nil || ref.Namespace != at.Namespace {
			continue
		}
		byName[volume.Name] = volume
		lines = append(lines, fmt.Sprintf("%s: a volume of claim %s %s %v", side, ref.Name, volume.Spec.PersistentVolumeReclaimPolicy, annotationKeys(volume.Annotations)))
	}
	for _, claim := range claims.Items {
		if ofMovers(&claim) {
			continue
		}
		bound := byName[claim.Spec.VolumeName]
		mine := bound.Spec.ClaimRef != nil && bound.Spec.ClaimRef.UID == claim.UID
		line := fmt.Sprintf("%s: claim %s without its volume", side, claim.Name) // the binder reports it as Lost at its next sync
		if mine {
			line = fmt.Sprintf("%s: claim %s %s", side, claim.Name, claim.Status.Phase)
		}
		lines = append(lines, line)
	}
	return lines
}

func annotationKeys(annotations map[string]string) []string {
	var keys []string
	for key := range annotations {
		if strings.Contains(key, "sliceshift.io/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
