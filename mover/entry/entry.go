// Package entry describes one object in a tree, such as a file, a folder, a link or a pipe, with everything
// that is kept of it. It defines the names and the order that both sides use, and the bytes of each entry in a
// digest.
//
// Times are kept to the nanosecond. A change time, an inode and the number of blocks are read to recognise
// unchanged files. They are not kept.
package entry

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Kind is the kind of an entry.
type Kind uint8

// The kinds. Link is a further name of a file that came before, in the order of Compare. Device is the content
// of a whole block device, which is then the only entry.
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

// String returns the kind in plain words.
func (k Kind) String() string {
	names := [...]string{"nothing", "file", "folder", "symbolic link", "named pipe", "socket", "character device", "block device", "hard link", "device"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// HasContent reports whether the kind has bytes of content.
func (k Kind) HasContent() bool { return k == File || k == Device }

// Limits on what a peer may send and a file system may hold.
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

// ID identifies an inode.
type ID struct{ Dev, Ino uint64 }

// Entry is one object in a tree.
type Entry struct {
	// Path is relative to the root, which is "". It has names separated by "/". A name is any bytes but "/" and
	// NUL.
	Path string
	Kind Kind
	// Size is the size of the content in bytes.
	Size int64
	// Mode is the permission bits with setuid, setgid and sticky.
	Mode     uint32
	UID, GID uint32
	// Modified is the last change of the content, or of a folder's list.
	Modified Time
	// Device is the number of a device.
	Device uint64
	// Target is the target of a symbolic link, or the first path of a hard link's file.
	Target string
	// Xattrs are sorted by name.
	Xattrs []Xattr
	// Digest is that of the content, if it was requested.
	Digest [32]byte

	// Inode and Changed identify the state of an inode, and Names is how many names it has.
	Inode   ID
	Names   uint64
	Changed Time
	// Allocated is how many bytes it occupies on the disk: fewer than Size if it has holes.
	Allocated int64
}

// Sparse reports whether a file has holes, judged by its number of blocks.
func (e *Entry) Sparse() bool { return e.Kind == File && e.Allocated < e.Size }

// Valid reports whether a path stays in its root, whatever the file system.
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

// Compare orders paths so that a folder comes directly before its content, and names within a folder by their
// bytes: "a" < "a/x" < "a.b".
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

// Join returns the path of a name in a folder.
func Join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// Split returns the folder of a path, and its name there.
func Split(path string) (folder, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// Within reports whether a path is below a folder.
func Within(path, folder string) bool {
	return folder == "" && path != "" || len(path) > len(folder) && path[len(folder)] == '/' && path[:len(folder)] == folder
}

// SameXattrs reports whether two sorted lists are equal.
func SameXattrs(a, b []Xattr) bool {
	return slices.EqualFunc(a, b, func(x, y Xattr) bool { return x.Name == y.Name && bytes.Equal(x.Value, y.Value) })
}

// Kept reports whether an extended attribute is carried: those of users, ACLs and capabilities. Labels
// (security.selinux), signatures (security.ima, security.evm) and attributes of a kernel's own layers
// (trusted.*) belong to the machine. A peer that sends one is refused.
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
