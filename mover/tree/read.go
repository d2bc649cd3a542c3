package tree

import (
	"errors"
	"fmt"

	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// read returns the entry of a name in a folder.
func (t *Tree) read(folder int, name, path string) (*entry.Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(folder, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, t.wrap("stat", path, err)
	}
	e, err := fromStat(path, &stat)
	if err != nil {
		return nil, t.wrap("stat", path, err)
	}
	if e.Kind == entry.Symlink {
		e.Target, err = readlink(folder, name)
		return e, t.wrap("readlink", path, err)
	}
	e.Xattrs, err = readXattrs(link(folder, name))
	return e, t.wrap("read the extended attributes of", path, err)
}

// readOpen returns the entry of an open descriptor.
func (t *Tree) readOpen(fd int, path string) (*entry.Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, t.wrap("stat", path, err)
	}
	e, err := fromStat(path, &stat)
	if err != nil {
		return nil, t.wrap("stat", path, err)
	}
	e.Xattrs, err = readXattrs(fmt.Sprintf("/proc/self/fd/%d/.", fd))
	return e, t.wrap("read the extended attributes of", path, err)
}

func fromStat(path string, stat *unix.Stat_t) (*entry.Entry, error) {
	e := &entry.Entry{
		Path: path, Mode: stat.Mode & 0o7777, UID: stat.Uid, GID: stat.Gid,
		Modified: entry.Time{Sec: stat.Mtim.Sec, Nsec: uint32(stat.Mtim.Nsec)},
		Changed:  entry.Time{Sec: stat.Ctim.Sec, Nsec: uint32(stat.Ctim.Nsec)},
		Inode:    entry.ID{Dev: stat.Dev, Ino: stat.Ino}, Names: uint64(stat.Nlink),
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		const unit = 512 // bytes, stat(2) st_blocks
		e.Kind, e.Size, e.Allocated = entry.File, stat.Size, stat.Blocks*unit
	case unix.S_IFDIR:
		e.Kind = entry.Directory
	case unix.S_IFLNK:
		e.Kind, e.Mode = entry.Symlink, 0o777
	case unix.S_IFIFO:
		e.Kind = entry.Pipe
	case unix.S_IFSOCK:
		e.Kind = entry.Socket
	case unix.S_IFCHR:
		e.Kind, e.Device = entry.CharDevice, stat.Rdev
	case unix.S_IFBLK:
		e.Kind, e.Device = entry.BlockDevice, stat.Rdev
	default:
		return nil, fmt.Errorf("mode %#o is of no kind that is known", stat.Mode)
	}
	return e, nil
}

func readlink(folder int, name string) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(folder, name, buffer)
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}

func readXattrs(path string) ([]entry.Xattr, error) {
	names, err := xattr.LList(path)
	if err != nil {
		if unsupported(err) {
			return nil, nil
		}
		return nil, errors.Unwrap(err)
	}
	var kept []entry.Xattr
	size := 0
	for _, name := range names {
		if !entry.Kept(name) {
			continue
		}
		value, err := xattr.LGet(path, name)
		if errors.Is(err, xattr.ENOATTR) {
			continue // removed since
		}
		if err != nil {
			return nil, errors.Unwrap(err)
		}
		if size += len(name) + len(value); size > entry.MaxMeta {
			return nil, fmt.Errorf("more than %d bytes of extended attributes, which the mover does not carry", entry.MaxMeta)
		}
		kept = append(kept, entry.Xattr{Name: name, Value: value})
	}
	entry.SortXattrs(kept)
	return kept, nil
}

func unsupported(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}

// Look returns the entry at a path, or nil if nothing exists there.
func (c *Cursor) Look(path string) (*entry.Entry, error) {
	if path == "" {
		return c.tree.readOpen(c.tree.fd, "")
	}
	folder, name, err := c.at(path)
	if err == nil {
		var e *entry.Entry
		if e, err = c.tree.read(folder, name, path); err == nil {
			return e, nil
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return nil, err
}
