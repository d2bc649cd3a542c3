// Package differ decides what is to be done with one path, from what both sides have there, and
// whether what was read once need not be read again. It sees no file system.
package differ

import "github.com/sliceshift/sliceshift/mover/entry"

// Compare is how contents are compared.
type Compare uint8

// Quick takes files for equal whose size and time of modification are equal, as rsync does; what it misses
// the seal finds. Content compares block by block, whatever the times say: for the pass after
// a seal that has failed, and after a crash.
const (
	Quick Compare = iota
	Content
)

// Action is what the receiver does with one path.
type Action struct {
	// Remove: what is there goes away first, a folder with all that is in it.
	Remove bool
	// Make: nothing is there, or nothing any more.
	Make bool
	// Fetch: the content is asked for: of a file that is there, where it differs.
	Fetch bool
	// Metadata: mode, owner, times or extended attributes are to be written.
	Metadata bool
}

// Decide is what makes own, which may be nil, equal to source. Neither is a hard link.
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

// replaced: what cannot be changed in place.
func replaced(source, own *entry.Entry) bool {
	if source.Kind != entry.Directory && own.Names > 1 && source.Names <= 1 {
		return true // its other names would get the same
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

// SameMetadata says whether all that is kept beside the content is equal.
func SameMetadata(a, b *entry.Entry) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Modified == b.Modified && entry.SameXattrs(a.Xattrs, b.Xattrs)
}
