package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// parkedSuffix forms a claim name that no claim can have: an underscore is not allowed in the name of an
// object.
const parkedSuffix = "_parked"

// Ref names a claim, as the claimRef of a volume does. UID is empty if the volume is reserved for a claim that
// has not been bound.
type Ref struct {
	Namespace, Name string
	UID             types.UID
}

// Parked returns the reference that makes the volume of a claim unusable.
func Parked(claim Ref) Ref {
	return Ref{Namespace: claim.Namespace, Name: claim.Name + parkedSuffix}
}

// Names reports whether two references name the same claim, whatever their UIDs.
func (r Ref) Names(other Ref) bool {
	return r.Namespace == other.Namespace && r.Name == other.Name
}

// Claim holds the fields of a PersistentVolumeClaim that decisions need.
type Claim struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	Phase           corev1.PersistentVolumeClaimPhase
	// Volume is spec.volumeName.
	Volume      string
	Terminating bool
	// Ours is true if this migration created it.
	Ours bool
	// Fence is the fence of the last write of a migration.
	Fence string
	// Calls counts the calls to the binder for this claim under that fence.
	Calls int
	// Users are the pods that name the claim and have not ended. Mounters are those of them that have a node,
	// so that they may have mounted it. Each is a name and a UID, "backup/8f1c". Own are those of this
	// migration.
	Users, Mounters, Own []string
	// OncePod is true for access mode ReadWriteOncePod: no second pod mounts it.
	OncePod bool
	// OwnedByPod is true if a Pod owns it, so that it would be deleted with that Pod (KEP-1847, whenScaled:
	// Delete).
	OwnedByPod bool
	// Held is true if it has the finalizer of migrations in place. Owned is true if it has any owner, with which it would
	// be deleted.
	Held, Owned bool
	// Keeps are the finalizers that may keep its object after a deletion. While it is being deleted, these are
	// all its finalizers; before, those that are not Kubernetes' own. DeletedAt is when its deletion was
	// requested, in seconds since 1970.
	Keeps     []string
	DeletedAt int64
}

// Volume holds the fields of a PersistentVolume that decisions need.
type Volume struct {
	Found           bool
	Name            string
	UID             types.UID
	ResourceVersion string
	Phase           corev1.PersistentVolumePhase
	// PhaseSince is the time of its last phase transition, in seconds since 1970; 0 if not known.
	PhaseSince int64
	// ParkedBy is the migration that has parked it, as namespace/name. If it is empty, only the UID in Note is
	// known.
	ParkedBy string
	Policy   corev1.PersistentVolumeReclaimPolicy
	// Note is the policy to restore, as noted by some migration.
	Note     Note
	ClaimRef Ref
	// Class is its storage class; empty if it has none.
	Class string
	// FileSystem is its declared file system, "block" for a block volume, or the type of its source; empty if
	// not declared.
	FileSystem string
	// Size is its capacity in bytes; 0 if not known.
	Size int64
	// Attributes is its VolumeAttributesClass, and Modes are its access modes, as claims name them.
	Attributes  string
	Modes       []corev1.PersistentVolumeAccessMode
	Handle      string
	Terminating bool
	// Ours is true if this migration created it.
	Ours bool
	// Attachments are the VolumeAttachments that name it.
	Attachments []Attachment
	// Fence is the fence of the last write of a migration.
	Fence string
	// Barred is why it may not be created in the other side's cluster; zero if it may.
	Barred Reason
	// Chosen is true if it existed without a claim when the binder chose it for the claim that it is bound to.
	Chosen bool
	// Released is the mark of its release: the fence under which its claimRef was set to an outgoing claim, for
	// movers. Empty if it was not released.
	Released string
	// There is the name of its disk's volume in the other side's cluster, as noted on it by a migration; empty
	// if the name is the same.
	There string
	// Seal is the root that both sides had when it was taken over as a copy; empty if it is no copy.
	Seal string
	// Keeps and DeletedAt are as in Claim.
	Keeps     []string
	DeletedAt int64
	// Twin is another volume of the other side's cluster that is the same disk; empty if none. For the volume
	// of a dropped attempt, it may be in either cluster.
	Twin string
}

// Note is a reclaim policy that a migration has noted on a volume before it set Retain. It counts for that
// migration only. The author of the volume may have chosen another policy since an earlier migration.
type Note struct {
	Policy corev1.PersistentVolumeReclaimPolicy
	// By is the UID of the migration.
	By types.UID
}

// Attachment holds the fields of a VolumeAttachment that decisions need.
type Attachment struct{ Name, Node string }

// OriginalFor returns the policy that a migration must restore: the one that it has noted, or else the volume's
// present policy.
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
	// Name is the present or future name of its volume on this side, if the other side's volume has another
	// name; empty if both names are equal.
	Name string
	// Left is the parked volume that the claim names, if that is another one than Volume. An ordinal has left
	// it there in an earlier move. Nil if there is none.
	Left *Volume
	// Kubectl builds commands for its cluster, if that is known. The other side may have a claim and a volume
	// of the same names in use.
	Kubectl shell.Kubectl
}

// Command returns a kubectl command for its cluster. Each verb of the format becomes one word for the shell.
func (h Holding) Command(format string, a ...any) string { return h.Kubectl.Format(format, a...) }

// Describe returns the command that shows its claim.
func (h Holding) Describe() string {
	return h.Command("describe pvc -n %s %s", h.Ref.Namespace, h.Ref.Name)
}

// Delete returns the command that deletes the claim. It first sets the claim's volume to Retain: with another
// reclaim policy the disk would be deleted too.
func (h Holding) Delete() string {
	remove, volume := h.Command("delete pvc -n %s %s", h.Ref.Namespace, h.Ref.Name), h.Claim.Volume
	if volume == "" || h.Volume.Name == volume && h.Volume.Policy == corev1.PersistentVolumeReclaimRetain {
		return remove
	}
	return h.retain(volume) + " && " + remove
}

// retain returns the command that sets a volume of its cluster to Retain, so that the disk survives the
// deletion of the claim and of the volume's object.
func (h Holding) retain(volume string) string {
	return h.Command(`patch pv %s -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'`, volume)
}

// deleteVolume returns the command that deletes the object of a volume of its cluster, and leaves the disk.
func (h Holding) deleteVolume(volume string) string {
	return h.retain(volume) + " && " + h.Command("delete pv %s", volume)
}

// DescribeVolume returns the command that shows its volume.
func (h Holding) DescribeVolume() string { return h.Command("describe pv %s", h.Volume.Name) }

// Bound reports whether claim and volume name each other and the binder has bound them.
func (h Holding) Bound() bool {
	return h.Claim.Found && h.Volume.Found && !h.Claim.Terminating && !h.Volume.Terminating &&
		h.Claim.Phase == corev1.ClaimBound && h.Claim.Volume == h.Volume.Name &&
		h.Volume.ClaimRef.Names(h.Ref) && h.Volume.ClaimRef.UID == h.Claim.UID
}

// Parked reports whether the volume is parked.
func (h Holding) Parked() bool {
	return h.Volume.Found && h.Volume.ClaimRef.Names(Parked(h.Ref))
}

// SecuredBy reports whether the volume survives the loss of its claim, and this migration has noted on it the
// policy to restore.
func (h Holding) SecuredBy(owner types.UID) bool {
	return h.Volume.Policy == corev1.PersistentVolumeReclaimRetain && h.Volume.Note.Policy != "" && h.Volume.Note.By == owner
}
