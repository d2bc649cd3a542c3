package volumes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Carrier holds the clusters in which the actions of a method are done, and the settings that they need.
type Carrier struct {
	Giver, Taker client.Client
	// Owner is the UID of the Migration.
	Owner types.UID
	// Form is the requested form of claims that are created.
	Form
	// Policy and Use decide whether a volume may be created.
	Policy Policy
	Use    Use
	// Copy configures how bytes are copied, and Template returns the pod template of the ordinals. Both are for
	// method Copy.
	Copy     api.CopySpec
	Template func(context.Context) (*corev1.PodTemplateSpec, error)
	// Parked is the giver's volume as its API server returned it when this process parked it; nil if this
	// process did not.
	Parked *corev1.PersistentVolume
}

// Apply performs one action.
func (Rebind) Apply(ctx context.Context, c Carrier, action Action, pair Pair) (client.Object, error) {
	switch action.Verb {
	case Secure:
		return patch(ctx, c.Giver, action, secured(action))
	case Park:
		return patch(ctx, c.Giver, action, claimRef(action))
	case Point:
		return patch(ctx, c.Taker, action, claimRef(action))
	case CreateVolume:
		return c.createVolume(ctx, action, pair)
	case CreateClaim:
		return c.createClaim(ctx, action, pair)
	case MarkClaim:
		return Mark(ctx, c.Taker, action)
	case Restore:
		return RestorePolicy(ctx, c.Taker, action)
	default:
		return nil, fmt.Errorf("unknown action %q", action.Verb)
	}
}

// Apply performs one action. The verbs are those of Rebind.
func (Empty) Apply(ctx context.Context, c Carrier, action Action, pair Pair) (client.Object, error) {
	return Rebind{}.Apply(ctx, c, action, pair)
}

// WriteVolume performs an action on a volume in its cluster: it secures, loosens or repoints the volume.
func WriteVolume(ctx context.Context, c client.Client, action Action) (client.Object, error) {
	switch action.Verb {
	case Secure:
		return patch(ctx, c, action, secured(action))
	case Loosen:
		return patch(ctx, c, action, loosened(action))
	default:
		return patch(ctx, c, action, claimRef(action))
	}
}

// RestorePolicy performs Restore in the cluster of the volume.
func RestorePolicy(ctx context.Context, c client.Client, action Action) (client.Object, error) {
	return patch(ctx, c, action, restored(action))
}

// restored returns the change that restores the policy and removes the marks of the migration.
func restored(action Action) change {
	annotations := map[string]any{api.OriginalReclaimPolicyAnnotationKey: nil, api.FenceAnnotationKey: nil}
	if action.Alone {
		annotations[api.VolumeThereAnnotationKey] = nil
	}
	return change{annotations: annotations, spec: map[string]any{"persistentVolumeReclaimPolicy": action.Note.Policy}}
}

// loosened returns the same change, which also points the volume at its claim. Both must be in one update: the
// reclaimer treats a volume that is reserved for a claim without a UID as waiting for that claim.
func loosened(action Action) change {
	back := restored(action)
	back.annotations[boundByController] = nil
	back.spec["claimRef"] = reference(action.Ref)
	return back
}

// change is the part of a merge patch that concerns a volume.
type change struct{ annotations, spec map[string]any }

// secured returns the change that sets Retain and notes the policy to restore.
func secured(action Action) change {
	return change{
		annotations: map[string]any{api.OriginalReclaimPolicyAnnotationKey: action.Note.String(), api.FenceAnnotationKey: action.Fence},
		spec:        map[string]any{"persistentVolumeReclaimPolicy": corev1.PersistentVolumeReclaimRetain},
	}
}

// claimRef returns the change that sets a volume's claimRef in one update. The UID is written as the binder
// expects it: absent for a reservation. The annotation by which the binder recognises its own claimRef is
// removed, because the binder would clear such a claimRef (pv_controller.go, unbindVolume).
func claimRef(action Action) change {
	annotations := map[string]any{api.FenceAnnotationKey: action.Fence, boundByController: nil}
	if action.Verb == Release {
		annotations[api.ReleasedAnnotationKey] = action.Copy.Released
	}
	if action.Verb == TakeOver {
		annotations[api.SealAnnotationKey] = action.Copy.Seal
	}
	if action.Copy.Returned {
		annotations[api.ReleasedAnnotationKey] = nil
	}
	if action.There != "" {
		annotations[api.VolumeThereAnnotationKey] = action.There
	}
	if action.Verb == Point || action.Verb == TakeOver {
		annotations[api.OriginalReclaimPolicyAnnotationKey] = action.Note.String()
	}
	return change{annotations: annotations, spec: map[string]any{"claimRef": reference(action.Ref)}}
}

func reference(ref Ref) map[string]any {
	target := map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": ref.Namespace, "name": ref.Name,
		"uid": nil, "resourceVersion": nil,
	}
	if ref.UID != "" {
		target["uid"] = ref.UID
	}
	return target
}

// patch writes to the volume that was judged. The API server refuses another UID or resourceVersion.
func patch(ctx context.Context, cluster client.Client, action Action, change change) (client.Object, error) {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": action.UID, "resourceVersion": action.ResourceVersion, "annotations": change.annotations},
		"spec":     change.spec,
	})
	if err != nil {
		return nil, err
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: action.Volume}}
	return volume, cluster.Patch(ctx, volume, client.RawPatch(types.MergePatchType, data))
}

// parked returns the giver's volume. It reads the volume, unless this process knows the judged version in full.
func (c Carrier) parked(ctx context.Context, name string, judged Volume) (*corev1.PersistentVolume, error) {
	if known := c.Parked; known != nil && known.Name == name && known.UID == judged.UID && known.ResourceVersion != "" && known.ResourceVersion == judged.ResourceVersion {
		return known, nil
	}
	from := &corev1.PersistentVolume{}
	return from, c.Giver.Get(ctx, client.ObjectKey{Name: name}, from)
}

// createVolume copies the giver's volume, and only while that is parked. The copy is parked, too. The giver's
// volume is read live again before the claimRef of the copy is changed. A copy under another name records the
// name of its original.
func (c Carrier) createVolume(ctx context.Context, action Action, pair Pair) (client.Object, error) {
	name := pair.Giver.Volume.Name
	from, err := c.parked(ctx, name, pair.Giver.Volume)
	if err != nil {
		return nil, err
	}
	now := Holding{Ref: pair.Giver.Ref, Volume: ViewVolume(from, c.Owner)}
	if from.UID != action.UID || !now.Parked() || !now.SecuredBy(c.Owner) {
		return nil, changed(name, "it is not parked any more")
	}
	if now.Volume.Handle != pair.Giver.Volume.Handle {
		return nil, changed(name, "it is another disk now")
	}
	if bars := c.Policy.Bars(from, c.Use); bars != (Problem{}) {
		return nil, changed(name, bars.Message)
	}
	if twin, err := c.Policy.TwinIn(ctx, c.Taker, CalledThere(from, action.Volume)); err != nil || twin != "" {
		return nil, cmp.Or(err, changed(name, "volume "+twin+" may be the same disk"))
	}
	volume := CopyVolume(from, action.Volume, action.Ref, c.Owner, c.Form)
	volume.Annotations[api.FenceAnnotationKey] = action.Fence
	return volume, c.Taker.Create(ctx, volume)
}

// pageOfVolumes is the number of volumes that are read in one request.
const pageOfVolumes = 500

// TwinIn returns the name of another volume in a cluster that may be the same disk as the volume to create
// there; empty if there is none. It reads the volumes live from the API server.
func (p Policy) TwinIn(ctx context.Context, there client.Reader, volume *corev1.PersistentVolume) (string, error) {
	for next := ""; ; {
		var page corev1.PersistentVolumeList
		if err := there.List(ctx, &page, client.Limit(pageOfVolumes), client.Continue(next)); err != nil {
			return "", fmt.Errorf("looking for other volumes of the disk of volume %s: %w", volume.Name, err)
		}
		if twin := p.Twin(volume, page.Items); twin != "" {
			return twin, nil
		}
		if next = page.Continue; next == "" {
			return "", nil
		}
	}
}

// changed returns a conflict for a volume that has changed since it was judged, so that it is judged again.
func changed(volume, what string) error {
	return apierrors.NewConflict(corev1.Resource("persistentvolumes"), volume, errors.New(what))
}

func (c Carrier) createClaim(ctx context.Context, action Action, pair Pair) (client.Object, error) {
	var from corev1.PersistentVolumeClaim
	key := client.ObjectKey{Namespace: pair.Giver.Ref.Namespace, Name: pair.Giver.Ref.Name}
	if err := c.Giver.Get(ctx, key, &from); err != nil {
		return nil, err
	}
	claim := CopyClaim(&from, action.Ref, action.Volume, c.Owner, c.Form)
	claim.Annotations[api.FenceAnnotationKey] = action.Fence
	return claim, c.Taker.Create(ctx, claim)
}

// Mark performs MarkClaim in the cluster of the claim.
func Mark(ctx context.Context, c client.Client, action Action) (client.Object, error) {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": action.UID, "resourceVersion": action.ResourceVersion,
		"annotations": map[string]any{api.FenceAnnotationKey: marked(action.Fence, action.Calls)},
	}})
	if err != nil {
		return nil, err
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: action.Ref.Namespace, Name: action.Ref.Name}}
	return claim, c.Patch(ctx, claim, client.RawPatch(types.MergePatchType, data))
}
