package methods

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	"github.com/sliceshift/sliceshift/volumes/snapshot"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Snapshot is the method that moves data by a snapshot of the storage, with its writes.
type Snapshot struct{ snapshot.Snapshot }

// Apply performs one action.
func (Snapshot) Apply(ctx context.Context, c volumes.Carrier, action volumes.Action, pair volumes.Pair) (client.Object, error) {
	w, asked := writerOf(c, action, pair), action.Copy.Snapshot
	mark := snapshotmanifest.Mark{Owner: c.Owner, Fence: action.Fence}
	switch action.Verb {
	case volumes.CreateSnapshot:
		return w.create(ctx, snapshotmanifest.Taken(mark, action.Ref, asked))
	case volumes.CreateContent:
		return w.content(ctx, mark)
	case volumes.CreateImport:
		return w.create(ctx, snapshotmanifest.Import(mark, action.Ref, asked))
	case volumes.RetainContent, volumes.LoosenContent:
		return w.writeContent(ctx)
	case volumes.DeleteSnapshot:
		return nil, w.remove(ctx, snapshotmanifest.Empty(snapshotmanifest.SnapshotKind, action.Ref))
	case volumes.DeleteContent:
		return nil, w.remove(ctx, snapshotmanifest.Empty(snapshotmanifest.ContentKind, volumes.Ref{Name: action.Ref.Name}))
	case volumes.CreateMover:
		return w.placeholder(ctx, pair)
	default:
		return w.second(ctx, pair)
	}
}

func (w writer) create(ctx context.Context, object client.Object) (client.Object, error) {
	return object, w.at.Create(ctx, object)
}

// content creates the content that makes the snapshot known, with the mode of the volume that it was taken of.
// The giver's cluster reports its driver, so the policy judges that driver again.
func (w writer) content(ctx context.Context, mark snapshotmanifest.Mark) (client.Object, error) {
	if bars := w.Policy.BarsSnapshot(w.action.Copy.Snapshot.Driver); bars != (volumes.Problem{}) {
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
	return w.create(ctx, snapshotmanifest.Content(mark, w.action.Ref, w.action.Copy.Snapshot, mode))
}

// writeContent writes the deletionPolicy of the very content that was judged.
func (w writer) writeContent(ctx context.Context) (client.Object, error) {
	policy := w.action.Note.Policy
	if w.action.Verb == volumes.RetainContent {
		policy = corev1.PersistentVolumeReclaimRetain
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.action.UID, "resourceVersion": w.action.ResourceVersion, "annotations": map[string]any{
			api.OriginalReclaimPolicyAnnotationKey: w.action.Note.String(), api.FenceAnnotationKey: w.action.Fence,
		}},
		"spec": map[string]any{"deletionPolicy": policy},
	})
	if err != nil {
		return nil, err
	}
	object := snapshotmanifest.Empty(snapshotmanifest.ContentKind, volumes.Ref{Name: w.action.Ref.Name})
	return object, w.at.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}

// placeholder creates the pod for which the incoming claim's volume is provisioned. That claim owns the pod.
func (w writer) placeholder(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	template, err := w.Template(ctx)
	if err != nil {
		return nil, err
	}
	near, err := w.near(ctx, pair.Copy)
	if err != nil {
		return nil, err
	}
	pod := w.placeholderPod(template, near)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: w.action.Ref.Name, UID: w.action.UID}}
	return pod, w.at.Create(ctx, pod)
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
