package transfer

import "github.com/sliceshift/sliceshift/mover/entry"

// mostTaken is how many of the receiver's own files with several names are remembered at once: 16 MiB at about
// 60 bytes each. The sender's own limit is reached earlier, if as many of its files have names that were not
// met yet (tree.Links).
const mostTaken = 256 << 10

// taken holds those of the receiver's own files with several names that a file of the sender is written to. No
// other file of the sender may use the same one: it would be overwritten too. A file is forgotten once all of
// its names were met.
type taken struct {
	left map[entry.ID]uint64 // how many of its names were not met yet
	most int
}

func newTaken(most int) *taken { return &taken{left: map[entry.ID]uint64{}, most: most} }

// take reserves one of the receiver's own files for a file of the sender, and reports whether it may be written
// to. If the limit is reached, it may not. The file is then created again, which is safe but slower.
func (t *taken) take(own *entry.Entry) bool {
	if _, is := t.left[own.Inode]; is || len(t.left) >= t.most {
		return false
	}
	t.left[own.Inode] = own.Names
	return true
}

// passed records that the walk has passed one of the names of a file. Names in a folder that is removed as a
// whole are not met, so their files are remembered to the end.
func (t *taken) passed(own *entry.Entry) {
	left, is := t.left[own.Inode]
	switch {
	case !is:
	case left <= 1:
		delete(t.left, own.Inode)
	default:
		t.left[own.Inode] = left - 1
	}
}
