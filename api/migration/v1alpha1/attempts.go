package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CopyAhead is an ordinal whose volumes are copied before its turn, or read whole after it has started on its copies.
type CopyAhead struct {
	// ordinal of the replica.
	Ordinal int32 `json:"ordinal"`
	// volumes of its claims, with the progress of their copies and proofs.
	// +optional
	Volumes []HandoffVolume `json:"volumes,omitempty"`
}

// CopyAttempt is one attempt to fill an incoming volume, by a copy or from a snapshot.
type CopyAttempt struct {
	// number identifies the attempt among those of the same claim; it increases.
	Number int32 `json:"number"`
	// begun is the fence under which the attempt started.
	Begun string `json:"begun"`
	// giver is the side that the data are copied from: source or destination.
	Giver string `json:"giver"`
	// dropped is true after the attempt was given up: its incoming claim is deleted.
	// +optional
	Dropped bool `json:"dropped,omitempty"`
	// filling is true after the new volume was found empty and a pod was allowed to write to it.
	// +optional
	Filling bool `json:"filling,omitempty"`
	// holds lists the content of the new volume before anything was copied. Such a volume is not new, so it is
	// neither written to nor deleted.
	// +optional
	Holds string `json:"holds,omitempty"`
	// passes counts the final passes that ended with different digests of the two sides.
	// +optional
	Passes int32 `json:"passes,omitempty"`
	// differs is the first path that differed in the last of these.
	// +optional
	Differs string `json:"differs,omitempty"`
	// warm is the result of the passes that ran while the ordinal was running.
	// +optional
	Warm CopyWarm `json:"warm,omitempty,omitzero"`
	// torn records the failures of new disks of a copy in consecutive attempts; absent after a successful pass.
	// +optional
	Torn CopyTorn `json:"torn,omitempty,omitzero"`
	// snapshot is the snapshot of the volume, for method Snapshot. A later attempt of the same handoff restores the
	// same snapshot.
	// +optional
	Snapshot SnapshotTaken `json:"snapshot,omitempty,omitzero"`
	// seal is the result of the comparison of both sides when they were equal.
	// +optional
	Seal CopySeal `json:"seal,omitempty,omitzero"`
}

// SnapshotTaken is a snapshot of a volume, taken when nothing could write to the volume.
type SnapshotTaken struct {
	// number of the attempt that took it.
	Number int32 `json:"number"`
	// driver is the CSI driver of the snapshot, and handle is the driver's identifier for it.
	Driver string `json:"driver"`
	Handle string `json:"handle"`
	// content is the name of its VolumeSnapshotContent, in the cluster where it was taken.
	Content string `json:"content"`
	// size is how many bytes a volume needs to hold it; 0 if the driver does not report it.
	// +optional
	Size int64 `json:"size,omitempty"`
	// released is the fence under which the volume was detached from its ordinal. The snapshot is valid until the
	// volume is returned to the ordinal.
	Released string `json:"released"`
	// from identifies the disk that the snapshot was taken of.
	From string `json:"from"`
}

// SnapshotRoot is the prefix of the root of a seal that identifies a snapshot.
const SnapshotRoot = "snapshot:"

// CopySeal is the result of the last read of both sides of a copy, which were equal; or it identifies the snapshot
// that a volume was restored from. With verify: Later it is the result of the copy alone, and proof is that of its
// source.
type CopySeal struct {
	// root is the digest of the content of either volume, or of the snapshot's driver and handle. With verify: Later it
	// is that of the copy.
	Root string `json:"root"`
	// released is the fence under which the copied volume was detached from its ordinal. The seal is valid until the
	// volume is returned to the ordinal.
	Released string `json:"released"`
	// volume is the PersistentVolume of the copy.
	Volume string `json:"volume"`
	// from and to identify the disks that were read.
	From string `json:"from"`
	To   string `json:"to"`
	// verify is how the sides were compared. Changed: only a part was read. Later: the source is read whole after the
	// ordinal has started: see proof. Absent for a snapshot, and in records of older versions.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// read is how many bytes of both sides together were read for the comparison, after the ordinal was stopped. trusted
	// is how many were not read because they had not changed since a warm pass read them. With verify: Later both are
	// of the copy alone.
	// +optional
	Read int64 `json:"read,omitempty"`
	// +optional
	Trusted int64 `json:"trusted,omitempty"`
	// bytes and files are the content of the volume. written is how many bytes the pass wrote, and seconds is how
	// long it took.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Written int64 `json:"written,omitempty"`
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// tally is a summary of all parts of the copy, with verify: Later. If the root of the source is another one, the
	// first part that differs is found by it.
	// +optional
	Tally string `json:"tally,omitempty"`
	// proof is the result of reading the source whole after the ordinal has started, with verify: Later.
	// +optional
	Proof CopyProof `json:"proof,omitempty,omitzero"`
}

// CopyProof is the result of reading the volume that an ordinal has left, whole, after the ordinal has started on its
// copy.
type CopyProof struct {
	// root is the digest of the content of that volume. The copy is proven if it is that of the copy.
	// +optional
	Root string `json:"root,omitempty"`
	// from identifies the disk that was read.
	// +optional
	From string `json:"from,omitempty"`
	// readTime is when it had been read, read is how many bytes that were, and seconds is how long it took.
	// +optional
	ReadTime metav1.Time `json:"readTime,omitempty,omitzero"`
	// +optional
	Read int64 `json:"read,omitempty"`
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// differs is the first path and part in which the volume differs from the copy; absent if it does not.
	// +optional
	Differs string `json:"differs,omitempty"`
	// acceptedTime is when copy.acceptDiffering was applied to a copy that differs or cannot be proven.
	// +optional
	AcceptedTime metav1.Time `json:"acceptedTime,omitempty,omitzero"`
	// acceptedBefore is true if copy.acceptDiffering listed the ordinal already when this was found. That does not accept
	// it: the ordinal must be removed from the list first, and then added again.
	// +optional
	AcceptedBefore bool `json:"acceptedBefore,omitempty"`
	// withdrawn is true while the volume is not read, because the ordinal is to go back.
	// +optional
	Withdrawn bool `json:"withdrawn,omitempty"`
	// tries is how many movers could not read the volume to its end. trouble is what the last one reported, and
	// troubleTime is when.
	// +optional
	Tries int32 `json:"tries,omitempty"`
	// +optional
	Trouble string `json:"trouble,omitempty"`
	// +optional
	TroubleTime metav1.Time `json:"troubleTime,omitempty,omitzero"`
}

// Proven reports whether a copy with verify: Later equals its source: another disk than the copy's was read whole
// after the ordinal had started, and has the root of the copy.
func (s CopySeal) Proven() bool {
	return s.Root != "" && s.Proof.Root == s.Root && s.Proof.From == s.From && s.From != s.To
}

// OwesProof reports whether an ordinal runs on a copy whose source is not read yet, or differs, and nobody has accepted
// that.
func (a CopyAttempt) OwesProof() bool {
	return a.Seal.Root != "" && a.Seal.Verify == CopyVerifyLater && !a.Dropped && !a.Seal.Proven() && a.Seal.Proof.AcceptedTime.IsZero()
}
