package differ

import (
	"encoding/binary"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Reading is where and when the contents of a tree were read. Its findings count only for a later reading of
// the same copy, side and volume. The kernel must not have been restarted since, nor the clock set.
type Reading struct {
	// Copy identifies one copy of one volume, and Side the reader: a sender or a receiver.
	Copy, Side string
	// FileSystem is its type, and Volume identifies the folder and its file system; empty if not known.
	FileSystem, Volume string
	// Boot identifies one run of a kernel. After a crash, content on the disk may be newer than the change time
	// stored with it.
	Boot string
	// Clock is how far the clock was ahead of the time since the kernel started, in nanoseconds.
	Clock int64
	// Synced is the start time of the sync before the contents were read.
	Synced entry.Time
}

// Append appends the reading in the form that is sent and stored.
func (then Reading) Append(b []byte) []byte {
	for _, text := range []string{then.Copy, then.Side, then.FileSystem, then.Volume, then.Boot} {
		b = codec.AppendBytes(b, text)
	}
	return then.Synced.Append(binary.AppendVarint(b, then.Clock))
}

// ReadReading reads a reading that Append has encoded.
func ReadReading(b []byte) (then Reading, err error) {
	const most = 1024
	r := codec.NewReader(b)
	for _, text := range []*string{&then.Copy, &then.Side, &then.FileSystem, &then.Volume, &then.Boot} {
		*text = string(r.Bytes(most))
	}
	then.Clock = r.Varint()
	then.Synced = entry.ReadTime(r)
	return then, r.End()
}

// TrustedFileSystem reports whether change times reflect every write to a file, as they do on these file
// systems of this machine. On a network file system, or in a user's program (FUSE), another client may have
// written, and times are the server's. On other file systems it is not known.
func TrustedFileSystem(name string) bool { return name == "ext4" || name == "xfs" || name == "btrfs" }

// Holds reports whether the findings of a reading may count for one that starts now.
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

// Record is the knowledge about a file at the time when it was read.
type Record struct {
	Path  string
	Inode entry.ID
	// Handle distinguishes the file from earlier files with its inode, if the file system provides a handle.
	Handle            string
	Size              int64
	Modified, Changed entry.Time
	Digest            [32]byte
	// Parts are the digests of the leaves of its content, in order; nil if they are not kept.
	Parts []byte
	// Synced is the start time of the sync before the content was read.
	Synced entry.Time
}

// RecordOf returns the record of a file whose content was read after a sync.
func RecordOf(e *entry.Entry, handle string, synced entry.Time) Record {
	return Record{Path: e.Path, Inode: e.Inode, Handle: handle, Size: e.Size, Modified: e.Modified, Changed: e.Changed, Digest: e.Digest, Synced: synced}
}

// settled is how many seconds before that sync a file must not have changed. A page that is written through a
// memory map changes the time once, and not again until it is written back. So a time that is only a little
// older proves nothing.
const settled = 60

// Settled reports whether a file had not changed for long enough before the sync. Otherwise it is read again.
func (r Record) Settled() bool {
	return r.Changed.Compare(entry.Time{Sec: r.Synced.Sec - settled, Nsec: r.Synced.Nsec}) <= 0
}

// Trusted reports whether a file's content is known without reading it again. The reading of its volume must
// hold (Holds).
func Trusted(now *entry.Entry, handle string, then Record) bool {
	return Same(now, handle, then) && then.Settled()
}

// Same reports whether a file is unchanged since its record, by everything that its file system shows. That is enough
// on a side that only movers write to: they write to no memory map, and had written everything before that read.
func Same(now *entry.Entry, handle string, then Record) bool {
	return now.Kind == entry.File && now.Path == then.Path && now.Inode.Ino == then.Inode.Ino && handle == then.Handle &&
		now.Size == then.Size && now.Modified == then.Modified && now.Changed == then.Changed && then.Changed.Compare(then.Synced) <= 0
}
