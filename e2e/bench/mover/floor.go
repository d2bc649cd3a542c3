package mover

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/mover/aio"
)

// The floor is what no copy on this disk can do without: each byte is read once and written once, as many at a time as
// the disk takes. There is no network, no encryption and no metadata, and nothing is compared. It copies in several
// ways, of which the fastest counts.

const (
	// hands is how many jobs run at once.
	hands = 16
	// short and long are how much of a large file one job reads. Which is faster depends on the disk.
	short, long = 1 << 20, 4 << 20
	// small is the most bytes of a file that is read with others, and batch how many are read at once.
	small, batch = 16 << 10, short / small
	// sector is the alignment of reads and writes past the cache.
	sector = 4096
)

// target takes the content of a tree, from several goroutines.
type target interface {
	folder(path string) error
	// small takes a whole file. The data are valid until it returns.
	small(path string, data []byte) error
	// large begins a file that comes in parts, in any order.
	large(path string, size int64) (parts, error)
}

// parts takes parts of a file, whole sectors each. The last one may end after the file.
type parts interface {
	take(data []byte, at int64) error
	end() error
}

// read reads a tree once, large files in parts of a size, and passes its content on. One hand does all small files of a
// folder, because only one at a time can create a file in a folder.
func read(ctx context.Context, root string, part int64, to target) error {
	var jobs []job
	var open []parts
	var sources []*os.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if err := to.folder(path[len(root):]); err != nil {
			return err
		}
		files, err := regular(path)
		if err != nil {
			return err
		}
		smalls := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.size > small })
		jobs = append(jobs, func(h *hand) error {
			for some := range slices.Chunk(smalls, batch) {
				if err := h.files(root, some, to); err != nil {
					return err
				}
			}
			return nil
		})
		for _, f := range files {
			if f.size <= small {
				continue
			}
			source, err := past(f.path, os.O_RDONLY)
			if err != nil {
				return err
			}
			sources = append(sources, source)
			taker, err := to.large(f.path[len(root):], f.size)
			if err != nil {
				return err
			}
			open = append(open, taker)
			for at := int64(0); at < f.size; at += part {
				jobs = append(jobs, func(h *hand) error { return h.part(source, at, min(part, f.size-at), taker) })
			}
		}
		return nil
	})
	if err == nil {
		err = together(ctx, part, jobs)
	}
	for _, each := range open {
		err = errors.Join(err, each.end())
	}
	for _, each := range sources {
		err = errors.Join(err, each.Close())
	}
	return err
}

// file is a regular file.
type file struct {
	path string
	size int64
	ino  uint64
}

// regular returns the files of a folder in the order of their inodes, which is about that of their data on the disk.
func regular(folder string) ([]file, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []file
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		f := file{path: folder + "/" + e.Name()}
		var stat unix.Stat_t
		if err := unix.Lstat(f.path, &stat); err != nil {
			return nil, &os.PathError{Op: "lstat", Path: f.path, Err: err}
		}
		f.size, f.ino = stat.Size, stat.Ino
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b file) int { return cmp.Compare(a.ino, b.ino) })
	return found, nil
}

// hand does jobs, one after another.
type hand struct {
	room   []byte
	engine *aio.Reader // nil until it is needed
}

type job func(*hand) error

// together does jobs, several at once, with room for a part of a large file.
func together(ctx context.Context, part int64, jobs []job) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(hands, len(jobs)) {
		group.Go(func() error {
			h := &hand{room: aligned(part)}
			defer h.end()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return nil
				}
				if err := jobs[i](h); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (h *hand) end() {
	if h.engine != nil {
		go h.engine.Close() // it has no reads any more, and still takes milliseconds
	}
}

// files reads small files at once, and passes each on.
func (h *hand) files(root string, some []file, to target) (err error) {
	if h.engine == nil {
		if h.engine, err = aio.New(batch); err != nil {
			return err
		}
	}
	reads := make([]aio.Read, len(some))
	defer func() {
		for _, r := range reads {
			if r.FD > 0 {
				_ = unix.Close(r.FD)
			}
		}
	}()
	room := h.room
	for i, f := range some {
		fd, err := openPast(f.path, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		n := whole(f.size)
		reads[i], room = aio.Read{FD: fd, Buffer: room[:n:n]}, room[n:]
	}
	h.engine.Do(reads)
	for i, f := range some {
		if reads[i].Err != nil || int64(reads[i].N) != f.size {
			return errors.Join(&os.PathError{Op: "read", Path: f.path, Err: io.ErrUnexpectedEOF}, reads[i].Err)
		}
		if err := to.small(f.path[len(root):], reads[i].Buffer[:f.size]); err != nil {
			return err
		}
	}
	return nil
}

// part reads a part of a large file, and passes it on.
func (h *hand) part(source *os.File, at, size int64, to parts) error {
	data := h.room[:whole(size)]
	n, err := source.ReadAt(data, at)
	if int64(n) < size {
		return errors.Join(io.ErrUnexpectedEOF, err)
	}
	return to.take(data, at)
}

// whole returns a size in whole sectors.
func whole(size int64) int64 { return (size + sector - 1) / sector * sector }

// aligned returns a buffer for reads and writes past the cache.
func aligned(size int64) []byte {
	room := make([]byte, size+sector)
	over := int(uintptr(unsafe.Pointer(unsafe.SliceData(room))) % sector)
	return room[sector-over:][:size:size]
}

// openPast opens a file past the cache, or through it if its file system has no such reads and writes.
func openPast(path string, flags int, mode uint32) (int, error) {
	fd, err := unix.Open(path, flags|unix.O_DIRECT|unix.O_CLOEXEC, mode)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

func past(path string, flags int) (*os.File, error) {
	fd, err := openPast(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
