// Package block reads and writes a whole block device. Reads bypass the cache, so that they return the data on
// the device.
package block

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unsafe"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// Device is an open block device.
type Device struct {
	path  string
	fd    int // buffered: writes
	plain int // O_DIRECT: reads
	// Size is in bytes. Limit is how many of them count: a destination may be larger.
	Size, Limit int64
}

// Open opens a device. For writing it opens it exclusively: a mounted device is refused.
func Open(path string, write bool) (*Device, error) {
	flags := unix.O_RDONLY
	if write {
		flags = unix.O_RDWR | unix.O_EXCL
	}
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("%s is mounted or held by another program: stop that program before the content is replaced", path)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	d := &Device{path: path, fd: fd, plain: -1}
	if err := d.measure(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) measure() error {
	var stat unix.Stat_t
	if err := unix.Fstat(d.fd, &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFBLK {
		return fmt.Errorf("%s is no block device", d.path)
	}
	size, err := deviceSize(d.fd)
	if err != nil {
		return &fs.PathError{Op: "measure", Path: d.path, Err: err}
	}
	d.Size, d.Limit = size, size
	d.plain, err = unix.Open(d.path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open with O_DIRECT", Path: d.path, Err: err}
	}
	return nil
}

func deviceSize(fd int) (int64, error) {
	var size uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKGETSIZE64, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0, errno
	}
	return int64(size), nil
}

// Name returns the path that the device was opened by.
func (d *Device) Name() string { return d.path }

// Close closes the device.
func (d *Device) Close() error {
	err := unix.Close(d.fd)
	if d.plain >= 0 {
		err = errors.Join(err, unix.Close(d.plain))
	}
	return err
}

// sector is the alignment of direct reads.
const sector = 4096

// ReadAt reads from the device itself, past the cache.
func (d *Device) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= d.Size {
		return 0, io.EOF
	}
	begin := offset / sector * sector
	end := (offset + int64(len(p)) + sector - 1) / sector * sector
	buffer := p
	if begin != offset || end != offset+int64(len(p)) || uintptr(unsafe.Pointer(unsafe.SliceData(p)))%sector != 0 {
		buffer = tree.Aligned(int(end - begin))
	}
	n, err := d.readFull(buffer, begin)
	if &buffer[0] != &p[0] {
		skip := int(offset - begin)
		n = copy(p, buffer[min(skip, n):n])
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (d *Device) readFull(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		got, err := unix.Pread(d.plain, p[n:], offset+int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return n, &fs.PathError{Op: "read", Path: d.path, Err: err}
		}
		if got == 0 {
			break
		}
		n += got
	}
	return n, nil
}

// WriteAt writes to the device. The data are on it after Sync.
func (d *Device) WriteAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		put, err := unix.Pwrite(d.fd, p[n:], offset+int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return n, &fs.PathError{Op: "write", Path: d.path, Err: err}
		}
		n += put
	}
	return n, nil
}

// WriteBack starts to write a part of the device to disk, without waiting. Sync reports errors.
func (d *Device) WriteBack(offset, length int64) error {
	err := unix.SyncFileRange(d.fd, offset, length, unix.SYNC_FILE_RANGE_WRITE)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return &fs.PathError{Op: "write back", Path: d.path, Err: err}
	}
	return nil
}

// Settle does nothing: a device is written to disk by Sync, once.
func (d *Device) Settle() error { return nil }

// Sync writes all cached data to the device.
func (d *Device) Sync() error {
	if err := unix.Fsync(d.fd); err != nil {
		return &fs.PathError{Op: "fsync", Path: d.path, Err: err}
	}
	return nil
}

// NextData returns the whole rest: a device reports no holes.
func (d *Device) NextData(offset, size int64) (start, end int64, err error) {
	return min(offset, size), size, nil
}

// Punch does nothing: a device has no holes.
func (d *Device) Punch(int64, int64) error { return nil }

// Stat returns the one entry that a device is.
func (d *Device) Stat() (entry.Entry, error) {
	return entry.Entry{Kind: entry.Device, Size: d.Limit, Allocated: d.Limit, Names: 1}, nil
}

// Prefetch does nothing: reads bypass the cache.
func (d *Device) Prefetch(int64, int64) {}

// Drop removes the device's data from the system's cache.
func (d *Device) Drop() { _ = unix.Fadvise(d.fd, 0, 0, unix.FADV_DONTNEED) }

// List emits the one entry that a device is.
func (d *Device) List(ctx context.Context, options tree.ListOptions, emit func(*entry.Entry) error) (tree.Listed, error) {
	e, err := d.Stat()
	if err != nil {
		return tree.Listed{}, err
	}
	var listed tree.Listed
	if options.Digest {
		d.Drop()
		digest, read, err := tree.NewHasher(options.Throttle).DigestParts(ctx, d, d.Limit, partsOf(options))
		if options.Progress != nil {
			options.Progress.Add(read)
		}
		if err != nil {
			return listed, fmt.Errorf("reading %s: %w", d.path, err)
		}
		e.Digest, listed.Read = digest, uint64(read)
		if options.Tally != nil {
			options.Tally.AddEntry(&e, nil)
		}
		root := blake3.New()
		tree.Roll(root, entry.AppendRow(nil, &e))
		root.Sum(listed.Root[:0])
	}
	listed.Count(&e)
	return listed, emit(&e)
}

// partsOf returns the known leaves of the device, which has no path.
func partsOf(options tree.ListOptions) (parts tree.Parts) {
	if options.Written != nil {
		if known := options.Written(""); known != nil {
			parts = *known
		}
	}
	if options.Tally != nil {
		parts.Each = func(leaf int64, digest []byte) { options.Tally.Add("", leaf, digest) }
	}
	return parts
}

// NewReader returns a reader of the device.
func (d *Device) NewReader() tree.Reader { return reader{d} }

type reader struct{ device *Device }

// Open returns the device, whatever the path: its only entry has none.
func (r reader) Open(string) (tree.Content, error) { return shared{r.device}, nil }

// Small refuses files: a device has none.
func (r reader) Small([]tree.Small, func(*tree.Small) error) error {
	return fmt.Errorf("%s is a device, and files were requested", r.device.path)
}

// Close does nothing: the device stays open.
func (reader) Close() {}

// shared is the device for one of several readers, whose Close must not close it.
type shared struct{ *Device }

func (shared) Close() error { return nil }
