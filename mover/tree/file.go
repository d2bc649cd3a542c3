package tree

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// File is the content of a file in a tree.
type File struct {
	*os.File
	tree   *Tree
	cursor *Cursor // for who opened it, while it stays there
	path   string
}

// Open opens a file to read it. Its time of access stays where that is allowed.
func (c *Cursor) Open(path string) (Content, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK // a pipe that has taken its place does not wait for a writer
	fd, err := c.openName(path, flags|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) {
		fd, err = c.openName(path, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	return c.file(path, fd)
}

// OpenToWrite opens a file that is there, to read and change its content.
func (c *Cursor) OpenToWrite(path string) (*File, error) {
	fd, err := c.openName(path, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return c.file(path, fd)
}

// Create makes a file, which must not be there.
func (c *Cursor) Create(path string) (*File, error) {
	fd, err := c.openName(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("%w: nothing was there before, so this file system takes two names for one, or somebody else writes here", err)
	}
	if err != nil {
		return nil, err
	}
	return c.file(path, fd)
}

func (c *Cursor) file(path string, fd int) (*File, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, errors.Join(c.tree.wrap("stat", path, err), unix.Close(fd))
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(c.tree.wrap("open", path, ErrChanged), unix.Close(fd))
	}
	return &File{File: os.NewFile(uintptr(fd), c.tree.name+"/"+path), tree: c.tree, cursor: c, path: path}, nil
}

// Stat is what is known of it now, without its extended attributes.
func (f *File) Stat() (entry.Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return entry.Entry{}, f.tree.wrap("stat", f.path, err)
	}
	e, err := fromStat(f.path, &stat)
	if err != nil {
		return entry.Entry{}, f.tree.wrap("stat", f.path, err)
	}
	return *e, nil
}

// NextData is the first extent with data that ends after offset (lseek(2), SEEK_DATA).
func (f *File) NextData(offset, size int64) (start, end int64, err error) {
	fd := int(f.Fd())
	if offset >= size {
		return size, size, nil
	}
	start, err = unix.Seek(fd, offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return offset, size, nil // this file system knows of no holes
	case err != nil:
		return 0, 0, f.tree.wrap("find the holes of", f.path, err)
	}
	end, err = unix.Seek(fd, start, unix.SEEK_HOLE)
	if errors.Is(err, unix.ENXIO) {
		return size, size, nil // it became shorter
	}
	if err != nil {
		return 0, 0, f.tree.wrap("find the holes of", f.path, err)
	}
	return min(start, size), min(end, size), nil
}

// Drop forgets what is cached of it and written.
func (f *File) Drop() {
	// Advice: where it is not taken, the same bytes come from memory.
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// Prefetch has the system begin to read it, and does not wait.
func (f *File) Prefetch() {
	// Advice: where it is not taken, ReadAt waits for longer.
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_WILLNEED)
}

// Punch makes a hole, where there is data.
func (f *File) Punch(offset, length int64) error {
	if length <= 0 {
		return nil
	}
	start, _, err := f.NextData(offset, offset+length)
	if err != nil || start >= offset+length {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return f.zero(offset, length)
	}
	return f.tree.wrap("make a hole in", f.path, err)
}

// zero writes zeros, where a file system makes no holes.
func (f *File) zero(offset, length int64) error {
	zeros := make([]byte, 256<<10)
	for length > 0 {
		n := min(length, int64(len(zeros)))
		if _, err := f.WriteAt(zeros[:n], offset); err != nil {
			return err
		}
		offset, length = offset+n, length-n
	}
	return nil
}

// ReadFull reads len(p) bytes at an offset. Fewer are ErrChanged.
func ReadFull(c Content, p []byte, offset int64) error {
	n, err := c.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ErrChanged
	}
	return err
}
