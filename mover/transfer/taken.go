package transfer

import "github.com/sliceshift/sliceshift/mover/entry"

// mostTaken is how many of the receiver's own files that have several names are remembered at once: 16 MiB at about 60
// bytes each. The sender gives up before, where as many of its own have names that were not met yet (tree.Links).
const mostTaken = 256 << 10

// taken are those of the receiver's own files with several names that one of the sender's files is written to. No other one of
// the sender's may get the same: it would be written to as well. A file is forgotten once all of its names were met.
type taken struct {
	left map[entry.ID]uint64 // how many of its names are still to come
	most int
}

func newTaken(most int) *taken { return &taken{left: map[entry.ID]uint64{}, most: most} }

// take takes one of the receiver's own for a file of the sender's, and says whether that may be written to it. Where more
// would be remembered than there is room for it may not: the file is made anew then, which is safe, and slower.
func (t *taken) take(own *entry.Entry) bool {
	if _, is := t.left[own.Inode]; is || len(t.left) >= t.most {
		return false
	}
	t.left[own.Inode] = own.Names
	return true
}

// passed notes that the walk has gone past one of the names of a file. Names in a folder that is removed as a whole are
// not met: their files are remembered up to the end.
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
