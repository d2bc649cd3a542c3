package v1alpha1

// CopyAhead is an ordinal whose volumes are copied before it is its turn.
type CopyAhead struct {
	// ordinal is the replica's.
	Ordinal int32 `json:"ordinal"`
	// volumes are those of its claims, with how far their copies are.
	// +optional
	Volumes []HandoffVolume `json:"volumes,omitempty"`
}

// CopyAttempt is one attempt to copy a volume, or to restore a snapshot of it: the making of one incoming volume.
type CopyAttempt struct {
	// number tells it from every other attempt at the same claim; it grows.
	Number int32 `json:"number"`
	// begun is the fence under which it was begun.
	Begun string `json:"begun"`
	// giver is the side that is copied from: source or destination.
	Giver string `json:"giver"`
	// dropped is true once nobody goes on with it: its incoming claim is removed.
	// +optional
	Dropped bool `json:"dropped,omitempty"`
	// filling is true once the new volume was found empty, and a pod was let write to it.
	// +optional
	Filling bool `json:"filling,omitempty"`
	// holds is what the new volume had before anything was copied: it is not new, and neither written to nor removed.
	// +optional
	Holds string `json:"holds,omitempty"`
	// passes is how many last passes have ended with different roots.
	// +optional
	Passes int32 `json:"passes,omitempty"`
	// differs is the first path in which both sides differed in the last of these.
	// +optional
	Differs string `json:"differs,omitempty"`
	// warm is what passes have come to that were made while the ordinal ran.
	// +optional
	Warm CopyWarm `json:"warm,omitempty,omitzero"`
	// torn is how often the new disk of a copy has failed, one attempt after the other; absent once a pass has ended well.
	// +optional
	Torn CopyTorn `json:"torn,omitempty,omitzero"`
	// snapshot is what was taken of the volume, for method Snapshot. A later attempt of the same handoff
	// restores the same one.
	// +optional
	Snapshot SnapshotTaken `json:"snapshot,omitempty,omitzero"`
	// seal is what both sides have shown when they were equal.
	// +optional
	Seal CopySeal `json:"seal,omitempty,omitzero"`
}

// SnapshotTaken is a snapshot of a volume that nothing could write to.
type SnapshotTaken struct {
	// number is that of the attempt which has taken it.
	Number int32 `json:"number"`
	// driver is the CSI driver whose snapshot it is, and handle what that calls it.
	Driver string `json:"driver"`
	Handle string `json:"handle"`
	// content is its VolumeSnapshotContent, in the cluster where it was taken.
	Content string `json:"content"`
	// size is how many bytes a volume must have to hold it; 0: the driver does not say.
	// +optional
	Size int64 `json:"size,omitempty"`
	// released is the fence under which the volume was taken from its ordinal: the snapshot counts as long as it
	// was not given back.
	Released string `json:"released"`
	// from tells the disk that it was taken of from every other one.
	From string `json:"from"`
}

// SnapshotRoot begins the root of a seal that is of a snapshot.
const SnapshotRoot = "snapshot:"

// CopySeal is what both sides of a copy have shown when they were read for the last time, and were equal; or
// which snapshot a volume was made of.
type CopySeal struct {
	// root is the digest of all that is on either volume, or that of the snapshot's driver and handle.
	Root string `json:"root"`
	// released is the fence under which the volume that was copied was taken from its ordinal: the seal counts
	// as long as it was not given back.
	Released string `json:"released"`
	// volume is the PersistentVolume of the copy.
	Volume string `json:"volume"`
	// from and to tell the disks that were read from every other one.
	From string `json:"from"`
	To   string `json:"to"`
	// verify is how they were compared. Changed: not all was read; absent for what is no copy, and for one of before that was said.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// read is how many bytes of both sides together were read for it, and trusted how many were not, since nothing has
	// changed since a warm pass read them.
	// +optional
	Read int64 `json:"read,omitempty"`
	// +optional
	Trusted int64 `json:"trusted,omitempty"`
	// bytes and files are what there is, written is how many bytes the pass had to write, and seconds is how long
	// it took.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Written int64 `json:"written,omitempty"`
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
}
