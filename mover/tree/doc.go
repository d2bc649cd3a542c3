// Package tree reads and writes a tree of files below one folder: in a fixed order, with everything that is
// kept of them, in bounded memory, and never outside that folder.
//
// Every path is opened from the root's descriptor with openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, so
// that neither a peer nor a link inside the tree leads out of it. If a kernel has no openat2, a path is opened
// name by name with O_NOFOLLOW. Every change uses the folder's descriptor and the last name.
//
// docs/engineering/mover.md lists the properties that are kept.
package tree

import (
	"errors"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Reserved are names in the root that belong to the file system or the storage, not to its user.
var Reserved = []string{"lost+found", ".snapshot"}

// ErrChanged is the error for a file that changed since it was listed, or while it was read.
var ErrChanged = errors.New("it changed while it was read")

// Content is the readable content of a file or a device.
type Content interface {
	// ReadAt reads as io.ReaderAt does.
	ReadAt(p []byte, offset int64) (int, error)
	// NextData returns the first extent with data that ends after offset; start is size if there is none.
	NextData(offset, size int64) (start, end int64, err error)
	// Stat returns its present entry.
	Stat() (entry.Entry, error)
	// Prefetch starts to read a part into the cache, without waiting.
	Prefetch(offset, length int64)
	// Drop removes its data from the system's cache.
	Drop()
	Close() error
}
