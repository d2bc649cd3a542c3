package methods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// newClaim returns a claim of the part that the action creates.
func (w writer) newClaim(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	switch w.action.Part() {
	case volumes.PartIncoming:
		return w.incoming(ctx, pair)
	case volumes.PartOutgoing:
		return w.outgoing(ctx, pair)
	case volumes.PartBase:
		return w.base(ctx, pair)
	default:
		return w.claim(ctx, pair)
	}
}

// original returns the ordinal's claim on the other side.
func (w writer) original(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	err := w.other.Get(ctx, client.ObjectKey{Namespace: w.from.Namespace, Name: w.from.Name}, &claim)
	return &claim, err
}

// class returns the storage class of a new volume: that of the side's former volume, or the requested one.
func (w writer) class() *string {
	if class := w.action.Copy.Class; class != "" {
		return &class
	}
	return w.StorageClass
}

// incoming returns the claim of the second volume, with the size of the first or the requested size, or in the form of a
// claim template.
func (w writer) incoming(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.original(ctx)
	if err != nil {
		return nil, err
	}
	claim := w.incomingOf(from)
	if like := w.action.Copy.Like; like != nil {
		claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Spec.Resources = like.Spec.AccessModes, like.Spec.VolumeMode, like.Spec.Resources
		claim.Spec.StorageClassName, claim.Spec.VolumeAttributesClassName = like.Spec.StorageClassName, like.Spec.VolumeAttributesClassName
		return claim, nil
	}
	if err := w.likeOf(ctx, w.ownRef(pair), claim); err != nil { // a side that has had the ordinal before keeps its own form
		return nil, err
	}
	volumes.Form{AccessModes: w.AccessModes}.Give(claim)
	return claim, nil
}

// likeOf gives a claim the access modes of an existing one, and its VolumeAttributesClass if both have one storage
// class. If that claim does not exist, the other keeps its own.
func (w writer) likeOf(ctx context.Context, ref volumes.Ref, claim *corev1.PersistentVolumeClaim) error {
	var there corev1.PersistentVolumeClaim
	err := w.at.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &there)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	claim.Spec.AccessModes = there.Spec.AccessModes
	if ptr.Equal(there.Spec.StorageClassName, claim.Spec.StorageClassName) {
		claim.Spec.VolumeAttributesClassName = there.Spec.VolumeAttributesClassName
	}
	return nil
}

func (w writer) incomingOf(from *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := w.claimOf(from, "")
	claim.Spec.VolumeAttributesClassName = from.Spec.VolumeAttributesClassName
	volumes.Form{StorageClass: w.class(), AccessModes: w.AccessModes}.Give(claim)
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: w.size(from)}
	if source := w.action.Copy.Snapshot.Source; source != "" {
		claim.Spec.DataSource = snapshotmanifest.DataSource(source)
	}
	return claim
}

func (w writer) size(from *corev1.PersistentVolumeClaim) resource.Quantity {
	switch size := w.action.Copy.Size; {
	case size > 0:
		return *resource.NewQuantity(size, resource.BinarySI)
	case w.Copy.Size != nil:
		return *w.Copy.Size
	}
	return Needed(from)
}

// Needed returns the size that a copy of a claim needs: the larger of its request and its capacity.
func Needed(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if has.Cmp(asked) > 0 {
		return has
	}
	return asked
}

// outgoing returns the claim from which the last pass reads: a copy of the ordinal's claim under another name.
func (w writer) outgoing(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.own(ctx, pair)
	if err != nil {
		return nil, err
	}
	return w.outgoingOf(from), nil
}

// ownRef names the ordinal's claim on the side of the write.
func (w writer) ownRef(pair volumes.Pair) volumes.Ref {
	if w.action.AtGiver {
		return pair.Giver.Ref
	}
	return pair.Taker.Ref
}

// own returns that claim.
func (w writer) own(ctx context.Context, pair volumes.Pair) (*corev1.PersistentVolumeClaim, error) {
	ref := w.ownRef(pair)
	var claim corev1.PersistentVolumeClaim
	err := w.at.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim)
	return &claim, err
}

func (w writer) outgoingOf(from *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := w.claimOf(from, w.action.Volume)
	claim.Spec.Resources.Requests = from.Spec.Resources.Requests
	return claim
}

// claimOf returns a claim for movers. No selector of the application matches it.
func (w writer) claimOf(from *corev1.PersistentVolumeClaim, volume string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.meta(w.action.Ref.Name)}
	claim.Labels = map[string]string{api.MigrationLabelKey: string(w.Owner)}
	claim.Annotations = map[string]string{api.OwnerAnnotationKey: string(w.Owner), api.FenceAnnotationKey: w.action.Fence}
	claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Spec.VolumeName = from.Spec.AccessModes, from.Spec.VolumeMode, volume
	claim.Spec.StorageClassName = from.Spec.StorageClassName
	return claim
}

// claim returns the ordinal's own claim for the copy that was taken over. It has the form of a claim template, or of the
// claim in which the volume was filled, with which that volume was provisioned.
func (w writer) claim(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	if like := w.action.Copy.Like; like != nil {
		claim := volumes.CopyClaim(like, w.action.Ref, w.action.Volume, w.Owner, volumes.Form{})
		claim.Annotations[api.FenceAnnotationKey] = w.action.Fence
		return claim, nil
	}
	from, err := w.original(ctx)
	if err != nil {
		return nil, err
	}
	claim := volumes.CopyClaim(from, w.action.Ref, w.action.Volume, w.Owner, volumes.Form{StorageClass: &w.action.Copy.Class, AccessModes: w.AccessModes})
	claim.Spec.VolumeAttributesClassName = nil
	if err := w.likeOf(ctx, volumes.HandingOf(pair).Incoming.Ref, claim); err != nil {
		return nil, err
	}
	claim.Annotations[api.FenceAnnotationKey] = w.action.Fence
	return claim, nil
}
