package tree

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// Reading returns the Reading of the tree that starts with a sync now, for a side of a copy. Fields that cannot
// be determined stay empty, and such a reading never holds.
func (t *Tree) Reading(of, side string, now time.Time) differ.Reading {
	r := differ.Reading{Copy: of, Side: side, FileSystem: t.FileSystem, Volume: t.volume(), Synced: entry.Time{Sec: now.Unix(), Nsec: uint32(now.Nanosecond())}}
	var since unix.Timespec
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil && unix.ClockGettime(unix.CLOCK_BOOTTIME, &since) == nil {
		r.Boot, r.Clock = strings.TrimSpace(string(boot)), now.UnixNano()-since.Nano()
	}
	return r
}

// volume identifies the root and its file system, by the creation time of the root. The device number is not
// part of it: a disk may get another one each time it is attached.
func (t *Tree) volume() string {
	var stat unix.Statx_t
	if err := unix.Statx(t.fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &stat); err != nil {
		return ""
	}
	if stat.Mask&unix.STATX_BTIME == 0 || stat.Btime.Sec == 0 {
		return ""
	}
	return fmt.Sprintf("%d %d.%09d", stat.Ino, stat.Btime.Sec, stat.Btime.Nsec)
}

// Handle distinguishes a file from earlier files with its inode (name_to_handle_at(2)), because it contains the
// inode's generation. It is empty if there is none.
func (c *Cursor) Handle(path string) string {
	folder, name, err := c.at(path)
	if err != nil {
		return ""
	}
	handle, _, err := unix.NameToHandleAt(folder, name, 0)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %s", handle.Type(), handle.Bytes())
}

// Unnamed returns a new file on the tree's file system without a name, which is deleted when it is closed.
func (t *Tree) Unnamed() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(t.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return nil, t.wrap("make a file without a name in", "", err)
	}
	return os.NewFile(uintptr(fd), t.name), nil
}

// Keep gives an unnamed file a name in the root, which must not exist.
func (t *Tree) Keep(file *os.File, name string) error {
	return t.wrap("link", name, unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), t.fd, name, unix.AT_SYMLINK_FOLLOW))
}

// Find opens a file of the root; nil if there is none.
func (t *Tree) Find(name string) (*os.File, error) {
	cursor := t.Cursor()
	defer cursor.Close()
	file, err := cursor.openName(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(file), t.name+"/"+name), nil
}
