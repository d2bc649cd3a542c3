package volumes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Kept is a volume that an ordinal has left behind: it is parked, and no migration deletes its disk.
type Kept struct {
	Volume string
	// Claim is what the ordinal had it by.
	Claim Ref
	// By is the UID of the migration that has parked it; empty: it does not say so.
	By types.UID
	// Handle is that of its disk.
	Handle string
	// Policy is its reclaim policy, which parked volumes keep at Retain.
	Policy corev1.PersistentVolumeReclaimPolicy
}

// KeptOf is a volume that was left behind, and whether it was.
func KeptOf(volume *corev1.PersistentVolume) (Kept, bool) {
	ref := volume.Spec.ClaimRef
	if ref == nil {
		return Kept{}, false
	}
	claim, parked := strings.CutSuffix(ref.Name, parkedSuffix)
	by := ParseNote(volume.Annotations[api.OriginalReclaimPolicyAnnotationKey]).By
	if by == "" {
		by = api.FenceOwner(volume.Annotations[api.FenceAnnotationKey])
	}
	return Kept{
		Volume: volume.Name, Claim: Ref{Namespace: ref.Namespace, Name: claim}, By: by,
		Handle: Handle(volume), Policy: volume.Spec.PersistentVolumeReclaimPolicy,
	}, parked
}
