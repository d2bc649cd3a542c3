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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/disk"
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

// at returns the cluster in which an action is done.
func (c Carrier) at(action Action) client.Client {
	if action.AtGiver {
		return c.Giver
	}
	return c.Taker
}

// Apply performs one action that creates or changes a volume or the ordinal's own claim: exactly one write. The API
// server refuses it if the object has changed since pair was observed. Apply returns the object that was written.
func Apply(ctx context.Context, c Carrier, action Action, pair Pair) (client.Object, error) {
	switch {
	case action.Does(Creates, KindVolume):
		return c.createVolume(ctx, action, pair)
	case action.Does(Creates, KindClaim):
		return c.createClaim(ctx, action, pair)
	default:
		return Update(ctx, c.at(action), action)
	}
}

// Update performs an action that changes a volume or a claim, in the cluster of that object. The API server refuses
// another UID or resourceVersion than those that were judged.
func Update(ctx context.Context, cluster client.Client, action Action) (client.Object, error) {
	change, object := encode(action.Before, action.After), client.Object(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: action.Volume}})
	switch {
	case action.Does(Updates, KindClaim):
		change = map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.FenceAnnotationKey: marked(action.Fence, action.Calls)}}}
		object = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: action.Ref.Namespace, Name: action.Ref.Name}}
	case !action.Does(Updates, KindVolume), len(change) == 0:
		return nil, &UnsentError{Reason: fmt.Sprintf("action %q changes nothing", action.Verb)}
	}
	return Patch(ctx, cluster, object, action, change)
}

// Patch writes a change, a merge patch, to the object that was judged.
func Patch(ctx context.Context, cluster client.Client, object client.Object, judged Action, change map[string]any) (client.Object, error) {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = judged.UID, judged.ResourceVersion
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return object, cluster.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}

// encode returns the merge patch that turns one state of a volume into another: only what differs. A claimRef is
// written as a whole, and with it the annotation is removed by which the binder recognises its own claimRef, because
// the binder would clear such a claimRef (kubernetes pv_controller.go, unbindVolume).
func encode(before, after State) map[string]any {
	annotations, spec, change := map[string]any{}, map[string]any{}, map[string]any{}
	note := func(key, was, is string) {
		switch {
		case was == is:
		case is == "":
			annotations[key] = nil
		default:
			annotations[key] = is
		}
	}
	note(api.OriginalReclaimPolicyAnnotationKey, before.Note.annotation(), after.Note.annotation())
	note(api.FenceAnnotationKey, before.Fence, after.Fence)
	note(api.ReleasedAnnotationKey, before.Released, after.Released)
	note(api.SealAnnotationKey, before.Seal, after.Seal)
	note(api.VolumeThereAnnotationKey, before.There, after.There)
	if before.Policy != after.Policy {
		spec["persistentVolumeReclaimPolicy"] = after.Policy
	}
	if before.ClaimRef != after.ClaimRef {
		annotations[boundByController], spec["claimRef"] = nil, reference(after.ClaimRef)
	}
	if len(annotations) > 0 {
		change["metadata"] = map[string]any{"annotations": annotations}
	}
	if len(spec) > 0 {
		change["spec"] = spec
	}
	return change
}

// reference returns a claimRef as the binder expects it: without a UID for a reservation.
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
	if bars := c.Policy.Bars(from, c.Use); bars != (Reason{}) {
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
		if err := there.List(ctx, &page, disk.Only, client.Limit(pageOfVolumes), client.Continue(next)); err != nil {
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
