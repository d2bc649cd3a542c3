package volumes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Kept is a volume that an ordinal has left behind: it is parked, and no migration deletes its disk.
type Kept struct {
	Volume string
	// Claim is the claim through which the ordinal used it.
	Claim Ref
	// By is the UID of the migration that has parked it; empty if it is not noted.
	By types.UID
	// Handle is that of its disk.
	Handle string
	// Policy is its reclaim policy, which parked volumes keep at Retain.
	Policy corev1.PersistentVolumeReclaimPolicy
}

// KeptOf returns the Kept of a volume, and whether the volume was left behind.
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

// leftBehind returns the problem of a claim at the taker that lost its volume when its ordinal left in an
// earlier migration. The volume outlives the claim, so the claim may be deleted. The message states what is on
// the volume, and as of when. Nil if the claim is no such claim.
func leftBehind(pair Pair) *Reason {
	if pair.Taker.Left != nil {
		pair.Taker.Volume = *pair.Taker.Left
	}
	h := pair.Taker
	if !h.Claim.Found || !h.Parked() || h.Claim.Volume != h.Volume.Name {
		return nil
	}
	return Stalled(
		ReasonForeignClaim,
		fmt.Sprintf("claim %s/%s is left over from %s, which moved its ordinal away: its volume %s is parked, and has %s; it blocks the claim of this move",
			h.Ref.Namespace, h.Ref.Name, h.parkedBy(), h.Volume.Name, holds(pair)),
		fmt.Sprintf("delete only the claim; volume %s stays parked with policy Retain and all its data: %s; to list such volumes, and how to delete them: %s",
			h.Volume.Name, h.Delete(), h.listKept()),
	)
}

// holds describes the data on the taker's volume that was left behind, and their age.
func holds(pair Pair) string {
	taker, giver := pair.Taker.Volume, pair.Giver.Volume
	if giver.Found && giver.Handle == taker.Handle {
		return "the same disk that the ordinal runs on now"
	}
	as := "its data as of then"
	if taker.Phase != corev1.VolumeBound && taker.PhaseSince > 0 {
		as = "its data as of " + time.Unix(taker.PhaseSince, 0).UTC().Format(time.RFC3339)
	}
	if !giver.Found {
		return as
	}
	return as + fmt.Sprintf(", without what the ordinal has written since, on volume %s of the other side", giver.Name)
}

// parkedBy names the migration that has parked the volume, as far as it is known.
func (h Holding) parkedBy() string {
	if h.Volume.ParkedBy != "" {
		return "migration " + h.Volume.ParkedBy
	}
	if by := cmp.Or(h.Volume.Note.By, api.FenceOwner(h.Volume.Fence)); by != "" {
		return "the migration with the UID " + string(by)
	}
	return "an earlier migration"
}

// listKept returns the command that lists the volumes left behind in its cluster. A plugin takes its flags
// after its name.
func (h Holding) listKept() string {
	return h.Kubectl.Migrate("kept")
}
