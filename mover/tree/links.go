package tree

import (
	"fmt"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// linksLimit is how many bytes are used to remember the names of files with more than one, until the last of
// them was seen.
const linksLimit = 40 << 20

// Links finds the further names of files. A file with one name uses no memory.
type Links struct {
	first map[entry.ID]*named
	size  int
	limit int
}

type named struct {
	path string
	left uint64
}

// NewLinks returns Links without a file.
func NewLinks() *Links { return &Links{first: map[entry.ID]*named{}, limit: linksLimit} }

// Resolve turns an entry into a hard link if its file had a name before.
func (l *Links) Resolve(e *entry.Entry) error {
	if e.Names < 2 || e.Kind == entry.Directory {
		return nil
	}
	known, seen := l.first[e.Inode]
	const fixed = 160 // bytes in the map, about
	if !seen {
		if l.size += len(e.Path) + fixed; l.size > l.limit {
			return fmt.Errorf("%d files have names that were not met yet (hard links), the last one is %.200q: more than fit into %d MiB; give the mover fewer at once", len(l.first)+1, e.Path, l.limit>>20)
		}
		l.first[e.Inode] = &named{path: e.Path, left: e.Names - 1}
		return nil
	}
	*e = entry.Entry{Path: e.Path, Kind: entry.Link, Target: known.path, Inode: e.Inode, Names: e.Names}
	if known.left--; known.left == 0 {
		l.size -= len(known.path) + fixed
		delete(l.first, e.Inode)
	}
	return nil
}
