package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Tree is a folder that is read or written.
type Tree struct {
	name string
	fd   int
	dev  uint64
	// FileSystem is its type by the name in mount(8), or a number.
	FileSystem string
	// Locked is true while Lock keeps others out. A file system without such locks has none.
	Locked   bool
	keeps    bool // errors for syncfs
	stepwise bool // openat2 is not available
}

// Open opens the folder that is the root.
func Open(path string) (*Tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	t := &Tree{name: path, fd: fd}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: path, Err: err}, unix.Close(fd))
	}
	t.dev = stat.Dev
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "statfs", Path: path, Err: err}, unix.Close(fd))
	}
	t.FileSystem = fileSystem(int64(system.Type))
	t.keeps = kernelAtLeast(5, 8)
	t.detect()
	return t, nil
}

// Name returns the path that the tree was opened by.
func (t *Tree) Name() string { return t.name }

// Close closes the root, once.
func (t *Tree) Close() error {
	if t.fd < 0 {
		return nil
	}
	fd := t.fd
	t.fd = -1
	return unix.Close(fd)
}

// Lock keeps out every other writer of the tree that calls Lock, until the tree is closed or its process ends:
// flock(2) on its root. A file system without such locks, or without them on folders, keeps no writer out.
func (t *Tree) Lock() error {
	err := unix.Flock(t.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("another mover writes to %s: see which pods mount the volume, and wait until that one has ended", t.name)
	}
	t.Locked = err == nil
	return nil
}

// Sync writes all cached data of its file system. It reports any write error since Open, because the descriptor is older
// than the first write: since Linux 5.8 (commit 735e4ae5ba28) each failed write of a page is recorded for its file
// system, and syncfs(2) reports what was recorded since its descriptor was opened.
func (t *Tree) Sync() error {
	if err := unix.Syncfs(t.fd); err != nil {
		return &fs.PathError{Op: "syncfs", Path: t.name, Err: err}
	}
	return nil
}

// ReportsErrors reports whether Sync reports every failed write, so that files need no fsync of their own. It
// needs a file system on a disk of this machine, and a kernel that keeps errors for syncfs.
func (t *Tree) ReportsErrors() bool {
	switch t.FileSystem {
	case "ext4", "xfs", "btrfs":
		return t.keeps
	default:
		return false
	}
}

func kernelAtLeast(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var a, b int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// fileSystem returns the name of a magic number (statfs(2)).
func fileSystem(magic int64) string {
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.NFS_SUPER_MAGIC: "nfs",
		unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.FUSE_SUPER_MAGIC: "fuse", unix.SMB2_SUPER_MAGIC: "cifs",
		unix.CEPH_SUPER_MAGIC: "ceph", unix.F2FS_SUPER_MAGIC: "f2fs",
	}
	if name, known := names[magic&0xffffffff]; known {
		return name
	}
	return fmt.Sprintf("%#x", magic)
}

// chunk is how much of a path one call takes: PATH_MAX is 4096, with the zero at its end.
const chunk = 3800

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// open opens a path below the root, never through a link and never on another file system.
func (t *Tree) open(path string, flags int, mode uint32) (int, error) {
	fd, err := t.resolve(path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
	if err != nil {
		return -1, t.wrap("open", path, err)
	}
	return fd, nil
}

func (t *Tree) resolve(path string, flags int, mode uint32) (int, error) {
	if !entry.Valid(path) {
		return -1, unix.EINVAL
	}
	at, owned := t.fd, false
	for {
		part, rest := t.nextPart(path)
		how, bits := flags, mode
		if rest != "" {
			how, bits = unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0
		}
		fd, err := t.step(at, part, how, bits)
		if owned {
			_ = unix.Close(at)
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, owned, path = fd, true, rest
	}
}

// nextPart returns as much of a path as one call resolves.
func (t *Tree) nextPart(path string) (part, rest string) {
	if path == "" {
		return ".", ""
	}
	end := -1
	switch {
	case t.stepwise:
		end = strings.IndexByte(path, '/')
	case len(path) > chunk:
		end = strings.LastIndexByte(path[:chunk], '/')
	}
	if end < 0 {
		return path, ""
	}
	return path[:end], path[end+1:]
}

func (t *Tree) step(at int, part string, flags int, mode uint32) (int, error) {
	if t.stepwise {
		return retry(func() (int, error) { return unix.Openat(at, part, flags, mode) })
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: beneath}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(mode)
	}
	return retry(func() (int, error) { return unix.Openat2(at, part, &how) })
}

// retry repeats a call that was interrupted, or that reports that the tree has moved meanwhile.
func retry(call func() (int, error)) (int, error) {
	const most = 1000
	for range most {
		n, err := call()
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return n, err
		}
	}
	return -1, unix.EAGAIN
}

// wrap adds the full path, with the root, to an error.
func (t *Tree) wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: t.name + "/" + path, Err: err}
}

// link returns the path of an object for calls that take no descriptor. It contains the folder's descriptor.
// Those calls (lgetxattr and such) never follow the last name.
func link(folder int, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder, name)
}

// detect finds out whether openat2 is available: a sandbox may refuse it too.
func (t *Tree) detect() {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: beneath}
	fd, err := retry(func() (int, error) { return unix.Openat2(t.fd, ".", &how) })
	if err != nil {
		t.stepwise = true
		return
	}
	_ = unix.Close(fd)
}

// Gone reports whether an error means that an object, or a folder above it, does not exist (any more).
func Gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ESTALE)
}
