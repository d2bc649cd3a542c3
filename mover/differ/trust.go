package differ

import "github.com/sliceshift/sliceshift/mover/entry"

// Reading is where and when the contents of a tree were read. What was found then counts for a later reading of the same
// copy, side and volume alone, under the same run of the kernel and a clock that nobody has set since.
type Reading struct {
	// Copy tells one copy of one volume from every other one, and Side who has read: a sender or a receiver.
	Copy, Side string
	// FileSystem is its type, and Volume what tells the folder and its file system from every other one; empty: not known.
	FileSystem, Volume string
	// Boot tells one run of a kernel from every other one: after a crash the disk may have a content that is newer than
	// the time of change beside it.
	Boot string
	// Clock is what the clock was ahead of the time since the kernel began, in nanoseconds.
	Clock int64
	// Synced is when the sync began that was made before the contents were read.
	Synced entry.Time
}

// TrustedFileSystem says whether times of change tell of every write to a file: on these file systems of this machine they
// do. On a network, or in a program of a user (FUSE), another one may have written, and times are the server's; on the
// others it is not known.
func TrustedFileSystem(name string) bool { return name == "ext4" || name == "xfs" || name == "btrfs" }

// Holds says whether what a reading has found may count for one that is made now.
func (then Reading) Holds(now Reading) bool {
	if then.Copy == "" || then.Side == "" || then.Volume == "" || then.Boot == "" || !TrustedFileSystem(then.FileSystem) {
		return false
	}
	const second = 1_000_000_000
	if step := now.Clock - then.Clock; step > second || step < -second {
		return false
	}
	return then.Copy == now.Copy && then.Side == now.Side && then.FileSystem == now.FileSystem && then.Volume == now.Volume &&
		then.Boot == now.Boot && then.Synced.Compare(now.Synced) <= 0
}

// Record is what was known of a file when it was read.
type Record struct {
	Path  string
	Inode entry.ID
	// Handle tells the file from others that have had its inode before, where the file system says it.
	Handle            string
	Size              int64
	Modified, Changed entry.Time
	Digest            [32]byte
	// Synced is when the sync began that was made before the content was read.
	Synced entry.Time
}

// RecordOf is what is known of a file whose content was read after a sync.
func RecordOf(e *entry.Entry, handle string, synced entry.Time) Record {
	return Record{Path: e.Path, Inode: e.Inode, Handle: handle, Size: e.Size, Modified: e.Modified, Changed: e.Changed, Digest: e.Digest, Synced: synced}
}

// settled is for how many seconds before that sync a file must not have changed. A page that is written through
// a memory map changes the time once, and then no more until it is written back, so a time that is only
// a little older proves nothing.
const settled = 60

// Settled says whether a file had not changed for long enough before the sync. One that had is read again.
func (r Record) Settled() bool {
	return r.Changed.Compare(entry.Time{Sec: r.Synced.Sec - settled, Nsec: r.Synced.Nsec}) <= 0
}

// Trusted says whether a file, on a volume of which a reading Holds, need not be read again to know its content.
func Trusted(now *entry.Entry, handle string, then Record) bool {
	return now.Kind == entry.File && now.Path == then.Path && now.Inode.Ino == then.Inode.Ino && handle == then.Handle &&
		now.Size == then.Size && now.Modified == then.Modified && now.Changed == then.Changed && then.Settled()
}
