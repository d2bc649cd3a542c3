package methods

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/snapshot"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// snapshot returns a VolumeSnapshot: one that is taken of a claim, or one that is bound to a content.
func (w writer) snapshot() client.Object {
	asked := w.action.Copy.Snapshot
	if asked.Content != "" {
		return snapshotmanifest.Import(w.mark(), w.action.Ref, asked)
	}
	return snapshotmanifest.Taken(w.mark(), w.action.Ref, asked)
}

func (w writer) mark() snapshotmanifest.Mark {
	return snapshotmanifest.Mark{Owner: w.Owner, Fence: w.action.Fence}
}

// content returns the content that makes the snapshot known, with the mode of the volume that it was taken of.
// The giver's cluster reports its driver, so the policy judges that driver again.
func (w writer) content(ctx context.Context) (client.Object, error) {
	if bars := w.Policy.BarsSnapshot(w.action.Copy.Snapshot.Driver); bars != (volumes.Reason{}) {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: snapshotmanifest.ContentKind.Group, Resource: "volumesnapshotcontents"}, w.action.Ref.Name, errors.New(bars.Message))
	}
	from, err := w.original(ctx)
	if err != nil {
		return nil, err
	}
	mode := corev1.PersistentVolumeFilesystem
	if from.Spec.VolumeMode != nil {
		mode = *from.Spec.VolumeMode
	}
	return snapshotmanifest.Content(w.mark(), w.action.Ref, w.action.Copy.Snapshot, mode), nil
}

// writeContent writes the deletionPolicy of the content that was judged.
func (w writer) writeContent(ctx context.Context) (client.Object, error) {
	object, err := w.empty()
	if err != nil {
		return nil, err
	}
	after := w.action.After
	return volumes.Patch(ctx, w.at, object, w.action, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{api.OriginalReclaimPolicyAnnotationKey: after.Note.String(), api.FenceAnnotationKey: after.Fence}},
		"spec":     map[string]any{"deletionPolicy": after.Policy},
	})
}

// placeholder returns the pod for which the incoming claim's volume is provisioned. That claim owns the pod.
func (w writer) placeholder(template *corev1.PodTemplateSpec, near []corev1.NodeSelector) client.Object {
	pod := w.placeholderPod(template, near)
	pod.OwnerReferences = w.withClaim()
	return pod
}

// placeholderPod returns a pod with the requests, the image and the placement of the ordinals' pods. The side
// already admits that image.
func (w writer) placeholderPod(template *corev1.PodTemplateSpec, near []corev1.NodeSelector) *corev1.Pod {
	spec := w.spec()
	spec.Near = near
	requests := resourcehelper.PodRequests(&corev1.Pod{Spec: template.Spec}, resourcehelper.PodResourcesOptions{})
	spec.Image, spec.Placement, spec.PullSecrets = template.Spec.Containers[0].Image, manifest.PlacementOf(template.Spec), template.Spec.ImagePullSecrets
	spec.Resources = corev1.ResourceRequirements{Requests: requests, Limits: requests}
	return manifest.Placeholder(spec)
}

// RehearsedContent returns, for a dry run, the content that a move creates on a side to import a snapshot of a
// driver.
func RehearsedContent(c volumes.Carrier, claim volumes.Ref, driver string) client.Object {
	ref := volumes.Ref{Namespace: claim.Namespace, Name: snapshot.PlaceholderName(claim, c.Owner, 1)}
	asked := volumes.SnapshotAction{Driver: driver, Handle: ref.Name}
	return snapshotmanifest.Content(snapshotmanifest.Mark{Owner: c.Owner}, ref, asked, corev1.PersistentVolumeFilesystem)
}

// RehearsedPlaceholder returns, for a dry run, the placeholder that a move creates beside an ordinal's claim.
func RehearsedPlaceholder(c volumes.Carrier, claim volumes.Ref, template *corev1.PodTemplateSpec) *corev1.Pod {
	w := writer{Carrier: c}
	w.action.Ref, w.action.Copy.Attempt = claim, 1
	w.action.Copy.Pod = snapshot.PlaceholderName(claim, c.Owner, 1)
	return w.placeholderPod(template, nil)
}
