// Package tree reads and writes a tree of files below one folder: in a fixed order, with all that is
// kept of them, in bounded memory, and never outside of that folder.
//
// Every path is opened from the root's descriptor with openat2(2), RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS, so that neither a peer nor a link inside the tree leads out of it; where a kernel
// has no openat2, name by name with O_NOFOLLOW. Whatever changes a thing takes its folder's descriptor
// and its last name.
//
// What is kept, and what is not, is in docs/mover.md.
package tree

import (
	"errors"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Reserved are names in the root that belong to the file system or the storage, not to its user.
var Reserved = []string{"lost+found", ".snapshot"}

// ErrChanged is that a file is not, or no longer, what was read of it.
var ErrChanged = errors.New("it changed while it was read")

// Content is what can be read of a file or a device.
type Content interface {
	// ReadAt reads as io.ReaderAt does.
	ReadAt(p []byte, offset int64) (int, error)
	// NextData is the first extent with data that ends after offset; start is size where there is none.
	NextData(offset, size int64) (start, end int64, err error)
	// Stat is what is known of it now.
	Stat() (entry.Entry, error)
	// Prefetch has the system begin to read a part of it, and does not wait.
	Prefetch(offset, length int64)
	// Drop forgets what the system has cached of it.
	Drop()
	Close() error
}
