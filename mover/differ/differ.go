// Package differ decides what to do with one path, from the entries of both sides, and whether content that was
// read before must be read again. It accesses no file system.
package differ

import "github.com/sliceshift/sliceshift/mover/entry"

// Compare is a way to compare contents.
type Compare uint8

// Quick treats files as equal if their size and modification time are equal, as rsync does. The seal finds the
// differences that this misses. Content compares block by block, whatever the times. It is for the pass after a
// seal that has failed, and after a crash.
const (
	Quick Compare = iota
	Content
)

// Action is what the receiver does with one path.
type Action struct {
	// Remove deletes the existing entry first, and for a folder its content too.
	Remove bool
	// Make creates the entry: nothing exists there, or no longer.
	Make bool
	// Fetch requests the content; for an existing file, only where it differs.
	Fetch bool
	// Metadata writes mode, owner, times and extended attributes.
	Metadata bool
}

// Decide returns the action that makes own, which may be nil, equal to source. Neither is a hard link.
func Decide(source, own *entry.Entry, how Compare) Action {
	if own == nil {
		return Action{Make: true, Fetch: source.Kind.HasContent(), Metadata: true}
	}
	if source.Kind != own.Kind || replaced(source, own) {
		return Action{Remove: true, Make: true, Fetch: source.Kind.HasContent(), Metadata: true}
	}
	var do Action
	if source.Kind.HasContent() {
		do.Fetch = how == Content || source.Kind == entry.Device || source.Size != own.Size || source.Modified != own.Modified
	}
	do.Metadata = do.Fetch || !SameMetadata(source, own)
	return do
}

// replaced reports whether own must be replaced, because it cannot be changed in place.
func replaced(source, own *entry.Entry) bool {
	if source.Kind != entry.Directory && own.Names > 1 && source.Names <= 1 {
		return true // its other names would get the same content
	}
	switch source.Kind {
	case entry.Symlink:
		return source.Target != own.Target
	case entry.CharDevice, entry.BlockDevice:
		return source.Device != own.Device
	default:
		return false
	}
}

// SameMetadata reports whether everything that is kept except the content is equal.
func SameMetadata(a, b *entry.Entry) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Modified == b.Modified && entry.SameXattrs(a.Xattrs, b.Xattrs)
}
