package transfer

import (
	"sync/atomic"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// folder is a folder in which something may still change. Its metadata are written last, because each entry
// that is created or removed in it changes its times. Only such folders, and those above them, are kept in
// memory.
type folder struct {
	entry  *entry.Entry
	parent *folder
	// busy counts the unfinished files and folders in it, and one more until all of it was listed.
	busy atomic.Int64
}

func newFolder(e *entry.Entry, parent *folder) *folder {
	f := &folder{entry: e, parent: parent}
	f.busy.Store(1)
	if parent != nil {
		parent.busy.Add(1)
	}
	return f
}

// release is called for each finished one; the last call writes the metadata.
func (f *folder) release(cursor *tree.Cursor) error {
	for f != nil && f.busy.Add(-1) == 0 {
		own, err := cursor.Look(f.entry.Path)
		if err != nil {
			return err
		}
		if own == nil || !differ.SameMetadata(f.entry, own) {
			if err := cursor.SetMetadata(f.entry); err != nil {
				return err
			}
		}
		f = f.parent
	}
	return nil
}
