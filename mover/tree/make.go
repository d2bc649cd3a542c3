package tree

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Make creates an object without content: a folder, a symbolic link, a pipe, a socket, a device. Only the owner
// has access before its metadata are written.
func (c *Cursor) Make(e *entry.Entry) error {
	folder, name, err := c.at(e.Path)
	if err != nil {
		return err
	}
	const private = 0o600
	switch e.Kind {
	case entry.Directory:
		err = unix.Mkdirat(folder, name, 0o700)
	case entry.Symlink:
		err = unix.Symlinkat(e.Target, folder, name)
	case entry.Pipe:
		err = unix.Mknodat(folder, name, unix.S_IFIFO|private, 0)
	case entry.Socket:
		err = unix.Mknodat(folder, name, unix.S_IFSOCK|private, 0)
	case entry.CharDevice:
		err = unix.Mknodat(folder, name, unix.S_IFCHR|private, int(e.Device))
	case entry.BlockDevice:
		err = unix.Mknodat(folder, name, unix.S_IFBLK|private, int(e.Device))
	default:
		err = fmt.Errorf("a %s is not made this way", e.Kind)
	}
	return c.tree.wrap("make a "+e.Kind.String(), e.Path, err)
}

// Link gives a file a further name.
func (c *Cursor) Link(target, path string) error {
	from := c.tree.Cursor()
	defer from.Close()
	there, first, err := from.at(target)
	if err != nil {
		return err
	}
	folder, name, err := c.at(path)
	if err != nil {
		return err
	}
	return c.tree.wrap("link", path, unix.Linkat(there, first, folder, name, 0))
}

// Remove removes the object at a path, and for a folder its content too.
func (c *Cursor) Remove(path string) error {
	folder, name, err := c.at(path)
	if err != nil {
		return err
	}
	err = unix.Unlinkat(folder, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) && c.isFolder(path) {
		return c.removeFolder(path)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return c.tree.wrap("remove", path, err)
}

func (c *Cursor) isFolder(path string) bool {
	e, err := c.Look(path)
	return err == nil && e != nil && e.Kind == entry.Directory
}

// removeFolder removes from the leaves up: a folder once the walk has left it.
func (c *Cursor) removeFolder(path string) error {
	walk := c.tree.Walk(path)
	defer walk.Close()
	inner := c.tree.Cursor()
	defer inner.Close()
	var open []string
	for {
		e, err := walk.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for len(open) > 0 && (e == nil || !entry.Within(e.Path, open[len(open)-1])) {
			if err := inner.unlink(open[len(open)-1], unix.AT_REMOVEDIR); err != nil {
				return err
			}
			open = open[:len(open)-1]
		}
		switch {
		case e == nil:
			return nil
		case e.Kind == entry.Directory:
			open = append(open, e.Path)
		default:
			if err := inner.unlink(e.Path, 0); err != nil {
				return err
			}
		}
	}
}

func (c *Cursor) unlink(path string, flags int) error {
	folder, name, err := c.at(path)
	if err != nil {
		return err
	}
	if c.path == path {
		c.Close()
	}
	err = unix.Unlinkat(folder, name, flags)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return c.tree.wrap("remove", path, err)
}

// SetMetadata writes everything that is kept except the content. The order matters: a new owner clears
// capabilities and setuid, a new mode changes an ACL's mask, and each of them changes the times.
func (c *Cursor) SetMetadata(e *entry.Entry) error {
	if e.Path == "" {
		return c.tree.wrap("set the metadata of", "", setMetadata(c.tree.fd, ".", e))
	}
	folder, name, err := c.at(e.Path)
	if err != nil {
		return err
	}
	return c.tree.wrap("set the metadata of", e.Path, setMetadata(folder, name, e))
}

// SetMetadata writes everything that is kept except the content of an open file, without a lookup of its path.
func (f *File) SetMetadata(e *entry.Entry) error {
	return f.tree.wrap("set the metadata of", f.path, f.setMetadata(e))
}

func (f *File) setMetadata(e *entry.Entry) error {
	fd := f.fd
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Uid != e.UID || stat.Gid != e.GID {
		if err := unix.Fchown(fd, int(e.UID), int(e.GID)); err != nil {
			return fmt.Errorf("owner %d:%d: %w", e.UID, e.GID, err)
		}
		if err := unix.Fstat(fd, &stat); err != nil { // that may have changed the mode
			return err
		}
	}
	if stat.Mode&0o7777 != e.Mode {
		if err := unix.Fchmod(fd, e.Mode); err != nil {
			return fmt.Errorf("mode %04o: %w", e.Mode, err)
		}
	}
	if size, err := unix.Flistxattr(fd, nil); len(e.Xattrs) > 0 || size > 0 || err != nil {
		folder, name, err := f.cursor.at(f.path)
		if err != nil {
			return err
		}
		if err := setXattrs(link(folder, name), e.Xattrs); err != nil {
			return err
		}
	}
	if err := setModified(fd, e.Modified); err != nil {
		return fmt.Errorf("time of modification: %w", err)
	}
	return nil
}

// setModified is futimens(3): utimensat(2) without a path.
func setModified(fd int, t entry.Time) error {
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: t.Sec, Nsec: int64(t.Nsec)}}
	if _, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func setMetadata(folder int, name string, e *entry.Entry) error {
	if err := unix.Fchownat(folder, name, int(e.UID), int(e.GID), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("owner %d:%d: %w", e.UID, e.GID, err)
	}
	path := link(folder, name)
	if e.Kind != entry.Symlink {
		if err := chmod(folder, name, e); err != nil {
			return fmt.Errorf("mode %04o: %w", e.Mode, err)
		}
		if err := setXattrs(path, e.Xattrs); err != nil {
			return err
		}
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: e.Modified.Sec, Nsec: int64(e.Modified.Nsec)}}
	if err := unix.UtimesNanoAt(folder, name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("time of modification: %w", err)
	}
	return nil
}

// chmod changes the mode of an object that it opens as a path, so that a link that has replaced it is not
// followed. Many kernels are older than fchmodat2(2).
func chmod(folder int, name string, e *entry.Entry) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(folder, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return ErrChanged
	}
	if stat.Mode&0o7777 == e.Mode {
		return nil
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), e.Mode)
}

// setXattrs sets the kept attributes of an object, and leaves the others unchanged.
func setXattrs(path string, want []entry.Xattr) error {
	have, err := readXattrs(path)
	if err != nil {
		return fmt.Errorf("extended attributes: %w", err)
	}
	if entry.SameXattrs(have, want) {
		return nil
	}
	wanted := map[string]bool{}
	for _, x := range want {
		wanted[x.Name] = true
	}
	for _, x := range have {
		if wanted[x.Name] {
			continue
		}
		if err := xattr.LRemove(path, x.Name); err != nil && !errors.Is(err, xattr.ENOATTR) {
			return fmt.Errorf("extended attribute %s: %w", x.Name, errors.Unwrap(err))
		}
	}
	for _, x := range want {
		if err := xattr.LSet(path, x.Name, x.Value); err != nil {
			return fmt.Errorf("extended attribute %s: %w", x.Name, errors.Unwrap(err))
		}
	}
	return nil
}
