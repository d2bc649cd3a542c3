package tree

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// File is the content of a file in a tree.
type File struct {
	fd     int
	direct atomic.Bool // reads bypass the cache
	tree   *Tree
	cursor *Cursor // of the goroutine that opened the file, while it uses it
	path   string
	ino    uint64
}

// Open opens a file for reading. It leaves the access time unchanged if that is allowed.
func (c *Cursor) Open(path string) (Content, error) {
	file, err := c.openToRead(path, 0)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (c *Cursor) openToRead(path string, more int) (*File, error) {
	flags := unix.O_RDONLY | unix.O_NONBLOCK | more // if a pipe has replaced it, the open does not wait for a writer
	fd, err := c.openName(path, flags|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) {
		fd, err = c.openName(path, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	return c.file(path, fd)
}

// openPastCache opens a file to read it from the disk itself. If its file system does not support that, the file's data
// are dropped from the system's cache.
func (c *Cursor) openPastCache(path string) (*File, error) {
	file, err := c.openDirect(path)
	if err == nil && !file.direct.Load() {
		file.Drop()
	}
	return file, err
}

// openDirect opens a file to read it past the cache (open(2), O_DIRECT), or through it if its file system does not
// support that. Such reads need buffers of Aligned, and read whole sectors, of which the last may end early.
func (c *Cursor) openDirect(path string) (*File, error) {
	file, err := c.openToRead(path, unix.O_DIRECT)
	if errors.Is(err, unix.EINVAL) {
		return c.openToRead(path, 0)
	}
	if err == nil {
		file.direct.Store(true)
	}
	return file, err
}

// OpenToWrite opens an existing file, to read and change its content.
func (c *Cursor) OpenToWrite(path string) (*File, error) {
	fd, err := c.openName(path, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return c.file(path, fd)
}

// Create creates a file, which must not exist.
func (c *Cursor) Create(path string) (*File, error) {
	fd, err := c.openName(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("%w: the name was free before, so this file system treats two names as one, or another process writes here", err)
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
	return &File{fd: fd, tree: c.tree, cursor: c, path: path, ino: stat.Ino}, nil
}

// ReadAt reads as io.ReaderAt does.
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		direct := f.direct.Load()
		got, err := retry(func() (int, error) { return unix.Pread(f.fd, p[n:], offset+int64(n)) })
		if direct && errors.Is(err, unix.EINVAL) {
			if err := f.cached(); err != nil {
				return n, err
			}
			continue
		}
		if err != nil {
			return n, f.tree.wrap("read", f.path, err)
		}
		n += got
		if got == 0 || direct && n < len(p) && got%sector != 0 {
			return n, io.EOF
		}
	}
	return n, nil
}

// cached switches to reads through the cache: this disk has larger sectors.
func (f *File) cached() error {
	f.direct.Store(false)
	flags, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(f.fd), unix.F_SETFL, flags&^unix.O_DIRECT)
	}
	f.Drop()
	return f.tree.wrap("read", f.path, err)
}

// WriteAt writes as io.WriterAt does.
func (f *File) WriteAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		put, err := retry(func() (int, error) { return unix.Pwrite(f.fd, p[n:], offset+int64(n)) })
		if err != nil {
			return n, f.tree.wrap("write", f.path, err)
		}
		n += put
	}
	return n, nil
}

// Truncate sets the size in bytes.
func (f *File) Truncate(size int64) error {
	_, err := retry(func() (int, error) { return 0, unix.Ftruncate(f.fd, size) })
	return f.tree.wrap("truncate", f.path, err)
}

// WriteBack starts to write a part of the file to the disk, without waiting. Sync reports errors.
func (f *File) WriteBack(offset, length int64) error {
	err := unix.SyncFileRange(f.fd, offset, length, unix.SYNC_FILE_RANGE_WRITE)
	if unsupported(err) {
		return nil
	}
	return f.tree.wrap("write back", f.path, err)
}

// Settle makes sure that the file is written to the disk at the next sync of its tree, or earlier. It reports any write
// error since the file was opened. If that sync reports such errors, Settle only waits until the data are written.
func (f *File) Settle() error {
	if !f.tree.ReportsErrors() {
		return f.Sync()
	}
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	_, err := retry(func() (int, error) { return 0, unix.SyncFileRange(f.fd, 0, 0, all) })
	if unsupported(err) {
		return f.Sync()
	}
	return f.tree.wrap("write", f.path, err)
}

// Sync writes the file to the disk. It reports any write error since the file was opened.
func (f *File) Sync() error {
	_, err := retry(func() (int, error) { return 0, unix.Fsync(f.fd) })
	return f.tree.wrap("fsync", f.path, err)
}

// Close closes the file, once.
func (f *File) Close() error {
	if f.fd < 0 {
		return nil
	}
	fd := f.fd
	f.fd = -1
	return f.tree.wrap("close", f.path, unix.Close(fd))
}

// Stat returns its present entry, without extended attributes.
func (f *File) Stat() (entry.Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(f.fd, &stat); err != nil {
		return entry.Entry{}, f.tree.wrap("stat", f.path, err)
	}
	e, err := fromStat(f.path, &stat)
	if err != nil {
		return entry.Entry{}, f.tree.wrap("stat", f.path, err)
	}
	return *e, nil
}

// NextData returns the first extent with data that ends after offset (lseek(2), SEEK_DATA).
func (f *File) NextData(offset, size int64) (start, end int64, err error) {
	if offset >= size {
		return size, size, nil
	}
	start, err = unix.Seek(f.fd, offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return offset, size, nil // this file system reports no holes
	case err != nil:
		return 0, 0, f.tree.wrap("find the holes of", f.path, err)
	}
	end, err = unix.Seek(f.fd, start, unix.SEEK_HOLE)
	if errors.Is(err, unix.ENXIO) {
		return size, size, nil // it became shorter
	}
	if err != nil {
		return 0, 0, f.tree.wrap("find the holes of", f.path, err)
	}
	return min(start, size), min(end, size), nil
}

// Drop removes its written data from the system's cache.
func (f *File) Drop() {
	// This is advice: if it is ignored, the same bytes come from memory.
	_ = unix.Fadvise(f.fd, 0, 0, unix.FADV_DONTNEED)
}

// Prefetch starts to read length bytes into the cache, without waiting.
func (f *File) Prefetch(offset, length int64) {
	// This is advice: if it is ignored, ReadAt waits longer.
	_ = unix.Fadvise(f.fd, offset, length, unix.FADV_WILLNEED)
}

// Punch makes a hole where there are data.
func (f *File) Punch(offset, length int64) error {
	if length <= 0 {
		return nil
	}
	start, _, err := f.NextData(offset, offset+length)
	if err != nil || start >= offset+length {
		return err
	}
	err = unix.Fallocate(f.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return f.zero(offset, length)
	}
	return f.tree.wrap("make a hole in", f.path, err)
}

// zero writes zeros, for a file system without holes.
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

// ReadFull reads len(p) bytes at an offset. Fewer bytes are ErrChanged.
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
