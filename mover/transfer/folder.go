package transfer

import (
	"sync/atomic"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// folder is a folder in which something may still happen. Its metadata are written after all of it: each
// entry that is made or removed in it would change its times again. Only such folders, and those above
// them, are kept.
type folder struct {
	entry  *entry.Entry
	parent *folder
	// busy is how many files in it are under way, and folders; one more until all of it was listed.
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

// release is called by whatever was under way; the last one writes the metadata.
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
