package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// unknownTemplates finds claim templates that the migration configures and that the source does not have.
func unknownTemplates(at endpoint.Endpoint, m *api.Migration, source *appsv1.StatefulSet) []plan.Finding {
	has, findings := world.ClaimTemplates(source), []plan.Finding(nil)
	known := "none"
	if len(has) > 0 {
		known = "only " + plan.Listed(has)
	}
	for _, v := range m.Spec.Volumes {
		ofPods := func(volume corev1.Volume) bool { return volume.Name == v.ClaimTemplate }
		if slices.Contains(has, v.ClaimTemplate) || v.Shared && slices.ContainsFunc(source.Spec.Template.Spec.Volumes, ofPods) {
			continue // with shared it is a volume of the pod template
		}
		findings = append(findings, plan.Finding{
			Reason: api.ReasonClaimTemplateMissing, Object: at.Object(),
			Message: fmt.Sprintf("spec.volumes names claim template %s, but %s has %s: the entry would apply to no volume", v.ClaimTemplate, at.Object(), known),
			Remedy:  "correct the name: --volume, --shared and --storage-class, or claimTemplate in spec.volumes",
		})
	}
	return findings
}

// sharedClaims finds claims that the pod template references directly, and that all ordinals share (KEP-3335 expects
// them to be ReadWriteMany). It reports those that the destination does not have on the same disk, because moved
// ordinals would write to another disk than the others. A claim that is only read may be an intended copy. Claims
// that are copied are checked with the copies.
func (e *Inspector) sharedClaims(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	if e.SameCluster() && e.Source.Namespace == e.Destination.Namespace {
		return nil, nil
	}
	var findings []plan.Finding
	for _, v := range source.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || slices.Contains(world.ClaimTemplates(source), v.Name) {
			continue // the StatefulSet controller replaces it with the ordinal's own claim
		}
		finding, err := e.sharedClaim(ctx, v.PersistentVolumeClaim.ClaimName, e.copiesStorage(m))
		if err != nil {
			return nil, err
		}
		if finding != nil {
			finding.Warning = v.PersistentVolumeClaim.ReadOnly && finding.Reason == volumes.ReasonClaimDiverges
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

// copiesStorage reports whether shared claims are created at the destination, which is in another cluster only.
// Within one cluster, kubelets treat two volumes of one disk as one, and pods that mount both on one node do not
// start (kubernetes#132921).
func (e *Inspector) copiesStorage(m *api.Migration) bool {
	return m.Spec.Dependencies.Mode == api.DependenciesCopy && !e.SameCluster()
}

// remedyOfClaim returns the fix for a claim that the destination does not have.
func (e *Inspector) remedyOfClaim() string {
	if e.SameCluster() {
		return "create it in that namespace before the move, on the same storage: it is never copied within one cluster, where kubelets treat two volumes of one storage as one"
	}
	return "create it at the destination before the move, on the same storage; or, if that is ReadWriteMany on NFS or a CSI driver that both clusters reach, copy it: --copy-dependencies, or spec.dependencies.mode: Copy"
}

// sharedVolumes returns the volumes of shared claims that are created at the destination.
func (e *Inspector) sharedVolumes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]corev1.PersistentVolume, error) {
	if !e.copiesStorage(m) {
		return nil, nil
	}
	var found []corev1.PersistentVolume
	for _, ref := range dependencies.SharedClaims(source.Spec.Template.Spec, world.ClaimTemplates(source)) {
		there, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, e.Destination.Live, e.Destination.Key(ref.Name))
		if err != nil {
			return nil, err
		}
		claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, e.Source.Live, e.Source.Key(ref.Name))
		if err != nil {
			return nil, err
		}
		if there != nil || claim == nil || claim.Spec.VolumeName == "" {
			continue
		}
		volume, err := endpoint.Get[corev1.PersistentVolume](ctx, e.Source.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
		if err != nil {
			return nil, err
		}
		if volume != nil {
			found = append(found, *volume)
		}
	}
	return found, nil
}

func (e *Inspector) sharedClaim(ctx context.Context, name string, copied bool) (*plan.Finding, error) {
	here, _, err := diskOf(ctx, e.Source, name)
	if err != nil {
		return nil, err
	}
	there, found, err := diskOf(ctx, e.Destination, name)
	if err != nil {
		return nil, err
	}
	object := fmt.Sprintf("claim %s in cluster %s", e.Destination.Key(name), e.Destination.Cluster)
	switch {
	case !found && copied:
		return nil, nil
	case !found:
		return &plan.Finding{
			Reason: api.ReasonDependencyMissing, Object: object,
			Message: object + " does not exist, and the pod template names it: a moved ordinal would be stopped and not start again",
			Remedy:  e.remedyOfClaim(),
		}, nil
	case there == "":
		return &plan.Finding{
			Reason: volumes.ReasonClaimDiverges, Object: object,
			Message: object + " is not bound to a volume, and all ordinals share it: the moved ones would get another disk than the others",
			Remedy:  "bind it to a volume of the same storage: " + e.Destination.Kubectl().Do("describe", "pvc", "-n", e.Destination.Namespace, name),
		}, nil
	case here != there:
		return &plan.Finding{
			Reason: volumes.ReasonClaimDiverges, Object: object,
			Message: fmt.Sprintf("%s is on another disk than in cluster %s (%s instead of %s), and all ordinals share it: the moved ones would write apart from the others", object, e.Source.Cluster, there, here),
			Remedy:  "bind it to a volume of the same storage: " + e.Destination.Kubectl().Do("describe", "pvc", "-n", e.Destination.Namespace, name),
		}, nil
	}
	return nil, nil
}

// diskOf returns the identity of the storage behind a claim; empty if the claim is not bound.
func diskOf(ctx context.Context, at endpoint.Endpoint, name string) (disk string, found bool, err error) {
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(name))
	if claim == nil || err != nil {
		return "", false, err
	}
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return "", true, nil
	}
	volume, err := endpoint.Get[corev1.PersistentVolume](ctx, at.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
	if volume == nil || err != nil {
		return "", true, err
	}
	return volumes.Handle(volume), true, nil
}
