// Package entry is one thing in a tree: a file, a folder, a link, a pipe, and all that is kept of it.
// It is how both sides name things, in which order, and as which bytes they go into a digest.
//
// Times are kept to the nanosecond; a change time, an inode and the number of blocks are read to
// recognise what has not changed since, and are not part of what is kept.
package entry

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Kind is what a thing is.
type Kind uint8

// The kinds. Link is a further name of a file that was named before, in the order of Compare. Device is
// the content of a whole block device, which is the only entry then.
const (
	File Kind = 1 + iota
	Directory
	Symlink
	Pipe
	Socket
	CharDevice
	BlockDevice
	Link
	Device
)

// String is the kind in plain words.
func (k Kind) String() string {
	names := [...]string{"nothing", "file", "folder", "symbolic link", "named pipe", "socket", "character device", "block device", "hard link", "device"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// HasContent says whether bytes belong to it.
func (k Kind) HasContent() bool { return k == File || k == Device }

// Limits of what a peer may send, and a file system may hold.
const (
	MaxPath  = 64 << 10  // bytes; PATH_MAX bounds a call, not a tree
	MaxName  = 255       // bytes, limits.h NAME_MAX
	MaxXattr = 64 << 10  // bytes of a value, limits.h XATTR_SIZE_MAX
	MaxMeta  = 512 << 10 // bytes of all xattrs of an entry
	MaxSize  = 1<<63 - 1
)

// Time is a time in seconds and nanoseconds since 1970: int64 nanoseconds would end in 2262.
type Time struct {
	Sec  int64
	Nsec uint32
}

// Compare orders times.
func (t Time) Compare(other Time) int {
	return cmp.Or(cmp.Compare(t.Sec, other.Sec), cmp.Compare(t.Nsec, other.Nsec))
}

// Xattr is an extended attribute.
type Xattr struct {
	Name  string
	Value []byte
}

// ID tells inodes of a file system apart.
type ID struct{ Dev, Ino uint64 }

// Entry is one thing in a tree.
type Entry struct {
	// Path is relative to the root, which is "": names with "/" between them, of any bytes but these.
	Path string
	Kind Kind
	// Size is in bytes, of what has content.
	Size int64
	// Mode is the permission bits with setuid, setgid and sticky.
	Mode     uint32
	UID, GID uint32
	// Modified is when the content, or a folder's list, changed last.
	Modified Time
	// Device is the number of a device.
	Device uint64
	// Target is where a symbolic link points, and the first path of a hard link's file.
	Target string
	// Xattrs are sorted by name.
	Xattrs []Xattr
	// Digest is of the content, where it was asked for.
	Digest [32]byte

	// What an inode is known by, and how many names it has.
	Inode   ID
	Names   uint64
	Changed Time
	// Allocated is how many bytes of the disk it takes: fewer than Size where it has holes.
	Allocated int64
}

// Sparse says whether a file has holes, as far as its number of blocks tells.
func (e *Entry) Sparse() bool { return e.Kind == File && e.Allocated < e.Size }

// Valid says whether a path stays in its root, whatever the file system does with it.
func Valid(path string) bool {
	if path == "" {
		return true
	}
	if len(path) > MaxPath || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || len(name) > MaxName {
			return false
		}
	}
	return true
}

// Compare orders paths so that a folder comes directly before what is in it, and names within a
// folder by their bytes: "a" < "a/x" < "a.b".
func Compare(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	switch {
	case i == n:
		return cmp.Compare(len(a), len(b))
	case a[i] == '/':
		return -1
	case b[i] == '/':
		return 1
	}
	return cmp.Compare(a[i], b[i])
}

// Join is the path of a name in a folder.
func Join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// Split is the folder that a path is in, and its name there.
func Split(path string) (folder, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// Within says whether a path is below a folder.
func Within(path, folder string) bool {
	return folder == "" && path != "" || len(path) > len(folder) && path[len(folder)] == '/' && path[:len(folder)] == folder
}

// SameXattrs says whether two sorted lists are equal.
func SameXattrs(a, b []Xattr) bool {
	return slices.EqualFunc(a, b, func(x, y Xattr) bool { return x.Name == y.Name && bytes.Equal(x.Value, y.Value) })
}

// Kept reports whether an extended attribute is carried: those of users, ACLs and capabilities. What labels
// (security.selinux), signs (security.ima, security.evm) or belongs to a kernel's own layers (trusted.*) is of the machine
// it is on, and a peer that names it is refused.
func Kept(name string) bool {
	switch name {
	case "security.capability", "system.posix_acl_access", "system.posix_acl_default":
		return true
	}
	return strings.HasPrefix(name, "user.")
}

// SortXattrs sorts by name, as an entry has them.
func SortXattrs(xattrs []Xattr) {
	slices.SortFunc(xattrs, func(a, b Xattr) int { return cmp.Compare(a.Name, b.Name) })
}
