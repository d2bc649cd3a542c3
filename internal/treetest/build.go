// Package treetest creates trees with everything that a file system can hold, and compares two trees with programs that
// share no code with the mover.
package treetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is a folder in which a test creates files.
type Tree struct {
	testing.TB
	Root string
}

// In returns helpers for a folder.
func In(t testing.TB, root string) Tree { return Tree{t, root} }

func (t Tree) path(name string) string { return t.Root + "/" + name }

// Must ends the test on an error.
func (t Tree) Must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// File creates a file, with its parent folders.
func (t Tree) File(name string, content []byte) {
	t.Helper()
	t.Must(os.MkdirAll(filepath.Dir(t.path(name)), 0o755))
	t.Must(os.WriteFile(t.path(name), content, 0o644))
}

// Sparse creates a file of a size, with data at some offsets.
func (t Tree) Sparse(name string, size int64, data map[int64][]byte) {
	t.Helper()
	f, err := os.Create(t.path(name))
	t.Must(err)
	t.Must(f.Truncate(size))
	for at, content := range data {
		_, err := f.WriteAt(content, at)
		t.Must(err)
	}
	t.Must(f.Close())
}

// Age sets a modification time, to the nanosecond.
func (t Tree) Age(name string, sec, nsec int64) {
	t.Helper()
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: sec, Nsec: nsec}}
	t.Must(unix.UtimesNanoAt(unix.AT_FDCWD, t.path(name), times, unix.AT_SYMLINK_NOFOLLOW))
}

// Xattr sets an extended attribute.
func (t Tree) Xattr(name, attribute string, value []byte) {
	t.Helper()
	t.Must(unix.Lsetxattr(t.path(name), attribute, value, 0))
}

// acl returns an ACL in the format of the kernel (acl_ea_header and entries, version 2): the owner and user 1234 read and
// write, the group and others read.
func acl() []byte {
	b := []byte{2, 0, 0, 0}
	add := func(tag, perm uint16, id uint32) {
		b = append(b, byte(tag), byte(tag>>8), byte(perm), byte(perm>>8), byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	const none = ^uint32(0)
	add(0x01, 6, none) // user::rw-
	add(0x02, 6, 1234) // user:1234:rw-
	add(0x04, 4, none) // group::r--
	add(0x10, 6, none) // mask::rw-
	add(0x20, 4, none) // other::r--
	return b
}

// netBind is the capability to bind low ports (vfs_cap_data, version 2, effective).
var netBind = []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Bytes returns n bytes, the same for the same seed.
func Bytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	_, _ = source.Read(b)
	return b
}

// Everything creates a tree with every kind of file that is copied. It needs root.
func (t Tree) Everything() {
	t.Helper()
	t.ordinary()
	t.links()
	t.special()
	t.sparse()
	// Times are set last, because every other change updates those of folders.
	t.Age("times", 1_000_000_000, 123_456_789)
	t.Age("times/old", -5, 1)
	t.Age("times/far", 10_000_000_000, 999_999_999)
	t.Age("link", 1_600_000_000, 42)
	t.Age("empty", 1_500_000_000, 7)
	t.Age("", 1_400_000_000, 1)
}

func (t Tree) ordinary() {
	t.Helper()
	t.File("small", []byte("hello\n"))
	t.File("nothing", nil)
	t.File("a/b/c/deep", Bytes(1, 70_000))
	t.File("large", Bytes(2, 9<<20+123))
	t.File("text", []byte(strings.Repeat("the same line again and again\n", 40_000)))
	t.Must(os.Mkdir(t.path("empty"), 0o700))
	t.File("times/old", []byte("old"))
	t.File("times/far", []byte("far"))
	for i, name := range []string{" ", "-n", "*", "new\nline", "\xff\xfe no utf-8", "ünïcödé", "a.b", strings.Repeat("n", 255), "tab\t\x01", `back\slash`, "...", ".hidden"} {
		t.File("names/"+name, fmt.Appendf(nil, "%d", i))
	}
	t.File("a.b/x", nil) // sorts after the entries of "a", but before them as a string
	t.File("modes/setuid", []byte("x"))
	t.File("modes/none", []byte("x"))
	t.Must(os.Mkdir(t.path("modes/sticky"), 0o755))
	t.Must(os.Lchown(t.path("modes/setuid"), 1000, 2000))
	t.Must(unix.Chmod(t.path("modes/setuid"), 0o6755))
	t.Must(unix.Chmod(t.path("modes/sticky"), 0o3777))
	t.Must(unix.Chmod(t.path("modes/none"), 0))
	t.File("xattrs/user", []byte("x"))
	t.Xattr("xattrs/user", "user.one", []byte("1"))
	t.Xattr("xattrs/user", "user.empty", nil)
	t.Xattr("xattrs/user", "user.binary", Bytes(3, 1000))
	t.Xattr("xattrs", "user.folder", []byte("f"))
	t.File("xattrs/acl", []byte("x"))
	t.Xattr("xattrs/acl", "system.posix_acl_access", acl())
	t.Must(os.Mkdir(t.path("xattrs/inherited"), 0o755))
	t.Xattr("xattrs/inherited", "system.posix_acl_default", acl())
	t.File("xattrs/capable", []byte("x"))
	t.Must(os.Lchown(t.path("xattrs/capable"), 7, 7))
	t.Must(os.Chmod(t.path("xattrs/capable"), 0o755))
	t.Xattr("xattrs/capable", "security.capability", netBind)
}

func (t Tree) links() {
	t.Helper()
	t.Must(os.Symlink("small", t.path("link")))
	t.Must(os.Symlink("/nowhere/at/all", t.path("dangling")))
	t.Must(os.Symlink("../../etc/passwd", t.path("a/out")))
	t.Must(os.Lchown(t.path("dangling"), 5, 6))
	t.Must(os.Link(t.path("large"), t.path("a/again")))
	t.Must(os.Link(t.path("large"), t.path("z-again")))
	t.Must(os.Link(t.path("nothing"), t.path("names/nothing")))
	t.Must(os.Link(t.path("dangling"), t.path("dangling-again")))
}

func (t Tree) special() {
	t.Helper()
	t.Must(unix.Mkfifo(t.path("pipe"), 0o640))
	t.Must(unix.Mknod(t.path("socket"), unix.S_IFSOCK|0o660, 0))
	t.Must(unix.Mknod(t.path("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	t.Must(unix.Mknod(t.path("disk"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 99))))
	t.Must(os.Link(t.path("pipe"), t.path("pipe-again")))
}

func (t Tree) sparse() {
	t.Helper()
	t.Sparse("holes", 3<<20, map[int64][]byte{0: Bytes(4, 4096), 1 << 20: Bytes(5, 100_000), 3<<20 - 4096: Bytes(6, 4096)})
	t.Sparse("hole", 50_000, nil)
	t.Sparse("small-holes", 100_000, map[int64][]byte{40_960: Bytes(7, 5000)})
	t.Sparse("tebibyte", 1<<40, map[int64][]byte{1 << 39: Bytes(8, 5000)})
}

// Extents returns the ranges of a file that are not holes, by lseek(2). It returns none if the file does not exist.
func (t Tree) Extents(name string) (extents [][2]int64) {
	t.Helper()
	f, err := os.Open(t.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	t.Must(err)
	defer func() { _ = f.Close() }()
	fd := int(f.Fd())
	for at := int64(0); ; {
		start, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return extents
		}
		t.Must(err)
		at, err = unix.Seek(fd, start, unix.SEEK_HOLE)
		t.Must(err)
		extents = append(extents, [2]int64{start, at})
	}
}

// NeedRoot skips a test that needs root.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("devices, owners and capabilities need root")
	}
}

// WaitUntil waits for a condition.
func WaitUntil(t testing.TB, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); {
		if time.Now().After(deadline) {
			t.Fatal("it has not come to pass within a minute")
		}
		<-time.After(time.Millisecond)
	}
}
