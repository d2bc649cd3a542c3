package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// parkedSuffix makes a claim name that no claim can have: an underscore is not
// allowed in the name of an object.
const parkedSuffix = "_parked"

// Ref names a claim, as the claimRef of a volume does. UID is empty when the
// volume is reserved for a claim that has not been bound.
type Ref struct {
	Namespace, Name string
	UID             types.UID
}

// Parked returns the reference that makes the volume of a claim unusable.
func Parked(claim Ref) Ref {
	return Ref{Namespace: claim.Namespace, Name: claim.Name + parkedSuffix}
}

// Names says whether two references name the same claim, whatever their UIDs.
func (r Ref) Names(other Ref) bool {
	return r.Namespace == other.Namespace && r.Name == other.Name
}

// Claim is what matters of a PersistentVolumeClaim.
type Claim struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	Phase           corev1.PersistentVolumeClaimPhase
	// Volume is spec.volumeName.
	Volume      string
	Terminating bool
	// Ours is true when this migration created it.
	Ours bool
	// Fence is the fence under which a migration wrote it last.
	Fence string
	// Calls counts how often the binder has been called to it under that fence.
	Calls int
	// Users are the pods that name it, and have not ended. Of them Mounters have a node, so they may have mounted it: each is a
	// name and a UID, "backup/8f1c"; Own are those of this migration.
	Users, Mounters, Own []string
	// OncePod is true for access mode ReadWriteOncePod: no second pod mounts it.
	OncePod bool
	// OwnedByPod is true when a Pod owns it, so that it would be deleted with that
	// Pod (KEP-1847, whenScaled: Delete).
	OwnedByPod bool
	// Keeps are the finalizers that may keep its object after a deletion: all of one that is being deleted, and else those that
	// are not Kubernetes' own. DeletedAt is when its deletion was asked for, in seconds since 1970.
	Keeps     []string
	DeletedAt int64
}

// Volume is what matters of a PersistentVolume.
type Volume struct {
	Found           bool
	Name            string
	UID             types.UID
	ResourceVersion string
	Phase           corev1.PersistentVolumePhase
	// PhaseSince is since when it is in its phase, in seconds since 1970; 0: not known.
	PhaseSince int64
	// ParkedBy is the migration that has parked it, as namespace/name; empty: of that only the UID is known, in Note.
	ParkedBy string
	Policy   corev1.PersistentVolumeReclaimPolicy
	// Note is the policy to go back to, as some migration has noted it.
	Note     Note
	ClaimRef Ref
	// Class is its storage class; empty: it has none.
	Class string
	// FileSystem is the one that it says to have, "block" where it has none, or what else it is; empty: it does not say.
	FileSystem string
	// Size is how many bytes it has; 0: nobody says.
	Size        int64
	Handle      string
	Terminating bool
	// Ours is true when this migration created it.
	Ours bool
	// Attachments are the VolumeAttachments that name it.
	Attachments []Attachment
	// Fence is the fence under which a migration wrote it last.
	Fence string
	// Barred says why it may not be made in the other side's cluster; zero: it may.
	Barred Problem
	// Chosen: it was there, and no claim's, when the binder chose it for the one that it is bound to.
	Chosen bool
	// Released is the fence under which it was pointed at an outgoing claim, for movers; empty: it is not.
	Released string
	// There is what the volume of its disk is called in the other side's cluster, as a migration has noted on it; empty: as it is itself.
	There string
	// Seal is the root that both sides had when it was taken over as a copy; empty: it is none.
	Seal string
	// Keeps and DeletedAt are as of a claim.
	Keeps     []string
	DeletedAt int64
	// Twin is another volume of the other side's cluster that is the same disk; empty: none. Of the volume of an
	// attempt that was dropped it is one of either cluster.
	Twin string
}

// Note is a reclaim policy that a migration has noted on a volume before it set Retain. It
// counts for that migration alone: what another one noted says nothing about what the
// author of the volume has chosen since.
type Note struct {
	Policy corev1.PersistentVolumeReclaimPolicy
	// By is the UID of the migration.
	By types.UID
}

// Attachment is what matters of a VolumeAttachment.
type Attachment struct{ Name, Node string }

// OriginalFor is the policy that a migration has to give the volume back: what it has noted,
// or else what the volume has now.
func (v Volume) OriginalFor(owner types.UID) corev1.PersistentVolumeReclaimPolicy {
	if v.Note.By == owner && v.Note.Policy != "" {
		return v.Note.Policy
	}
	return v.Policy
}

// Holding is one side's claim for an ordinal, with the volume it names.
type Holding struct {
	// Ref names the claim; its UID is not used.
	Ref    Ref
	Claim  Claim
	Volume Volume
	// Name is what its volume is, or will be, called on this side, where the other side's is called otherwise; empty: both are called alike.
	Name string
	// Left is the volume that the claim names where that is another one than Volume, and parked: an ordinal has left it there in an
	// earlier move. Nil: there is none.
	Left *Volume
	// Kubectl builds commands for its cluster, where it is known: of the same name there may be a claim and a volume in
	// use on the other side.
	Kubectl shell.Kubectl
}

// Command is one of kubectl about it, for its cluster: each word of the format is one word for the shell.
func (h Holding) Command(format string, a ...any) string { return h.Kubectl.Format(format, a...) }

// Describe is the command that shows its claim.
func (h Holding) Describe() string {
	return h.Command("describe pvc -n %s %s", h.Ref.Namespace, h.Ref.Name)
}

// Delete returns the command that deletes the claim. It first sets the claim's volume to Retain: with another reclaim policy
// the disk would be deleted too.
func (h Holding) Delete() string {
	remove, volume := h.Command("delete pvc -n %s %s", h.Ref.Namespace, h.Ref.Name), h.Claim.Volume
	if volume == "" || h.Volume.Name == volume && h.Volume.Policy == corev1.PersistentVolumeReclaimRetain {
		return remove
	}
	return h.retain(volume) + " && " + remove
}

// retain is the command that has a volume of its cluster survive the loss of its claim, and of its object.
func (h Holding) retain(volume string) string {
	return h.Command(`patch pv %s -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`, volume)
}

// deleteVolume is the command that deletes the object of a volume of its cluster, and leaves the disk.
func (h Holding) deleteVolume(volume string) string {
	return h.retain(volume) + " && " + h.Command("delete pv %s", volume)
}

// DescribeVolume is the command that shows its volume.
func (h Holding) DescribeVolume() string { return h.Command("describe pv %s", h.Volume.Name) }

// Bound says whether claim and volume name each other and the binder agreed.
func (h Holding) Bound() bool {
	return h.Claim.Found && h.Volume.Found && !h.Claim.Terminating && !h.Volume.Terminating &&
		h.Claim.Phase == corev1.ClaimBound && h.Claim.Volume == h.Volume.Name &&
		h.Volume.ClaimRef.Names(h.Ref) && h.Volume.ClaimRef.UID == h.Claim.UID
}

// Parked says whether the volume is parked.
func (h Holding) Parked() bool {
	return h.Volume.Found && h.Volume.ClaimRef.Names(Parked(h.Ref))
}

// SecuredBy says whether the volume survives the loss of its claim, and this migration has
// noted on it the policy to go back to.
func (h Holding) SecuredBy(owner types.UID) bool {
	return h.Volume.Policy == corev1.PersistentVolumeReclaimRetain && h.Volume.Note.Policy != "" && h.Volume.Note.By == owner
}
