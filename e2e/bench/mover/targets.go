package mover

import (
	"context"
	"errors"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// way is a way to copy a tree.
type way struct {
	name string
	// part is how much of a large file one read of a floor takes.
	part int64
	copy func(ctx context.Context, source, destination string) error
}

// copies is a way to copy all of a tree, with writes to large files that are opened by open.
func copies(name string, part int64, open func(path string, flags int) (*os.File, error)) way {
	return way{name, part, func(ctx context.Context, source, destination string) error {
		return read(ctx, source, part, copier{root: destination, open: open})
	}}
}

var (
	// largeWays copy all of a tree, large files past the cache or through it.
	largeWays = []way{
		copies("floor, past the cache", short, past),
		copies("floor, past the cache in long parts", long, past),
		copies("floor, through the cache", short, cached),
	}
	// smallWays copy all of a tree. Small files are written through the cache, from where the system writes many at once.
	smallWays = []way{copies("floor", short, cached)}
	// changedWays read all of a tree, and write what change has changed.
	changedWays = []way{changes("floor", short), changes("floor in long parts", long)}
)

func changes(name string, part int64) way {
	return way{name, part, func(ctx context.Context, source, destination string) error {
		return read(ctx, source, part, changer{root: destination})
	}}
}

// readBoth reads two trees, as a proof does.
func readBoth(ctx context.Context, part int64, one, two string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, root := range []string{one, two} {
		group.Go(func() error { return read(ctx, root, part, nowhere{}) })
	}
	return group.Wait()
}

// nowhere drops what it takes.
type nowhere struct{}

func (nowhere) folder(string) error                { return nil }
func (nowhere) small(string, []byte) error         { return nil }
func (nowhere) large(string, int64) (parts, error) { return nowhere{}, nil }
func (nowhere) take([]byte, int64) error           { return nil }
func (nowhere) end() error                         { return nil }

// copier creates a tree.
type copier struct {
	root string
	open func(path string, flags int) (*os.File, error)
}

func cached(path string, flags int) (*os.File, error) { return os.OpenFile(path, flags, 0o600) }

func (c copier) folder(path string) error { return os.MkdirAll(c.root+path, 0o755) }

func (c copier) small(path string, data []byte) error {
	path = c.root + path
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	_, err = unix.Pwrite(fd, data, 0)
	return errors.Join(err, unix.Close(fd))
}

func (c copier) large(path string, size int64) (parts, error) {
	to, err := c.open(c.root+path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := unix.Fallocate(int(to.Fd()), 0, 0, size); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return &copied{File: to, size: size}, nil
}

// copied is a file that is written.
type copied struct {
	*os.File
	size int64
}

func (c *copied) take(data []byte, at int64) error {
	if _, err := c.WriteAt(data, at); err != nil {
		return err
	}
	return unix.SyncFileRange(int(c.Fd()), at, int64(len(data)), unix.SYNC_FILE_RANGE_WRITE)
}

func (c *copied) end() error { return errors.Join(c.Truncate(c.size), c.Sync(), c.Close()) }

// changer writes the changed pages of files that exist.
type changer struct{ root string }

func (changer) folder(string) error        { return nil }
func (changer) small(string, []byte) error { return nil }

func (c changer) large(path string, size int64) (parts, error) {
	to, err := os.OpenFile(c.root+path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	pages := slices.Sorted(places(size))
	return &changing{File: to, pages: slices.Compact(pages)}, nil
}

// changing is a file of which some pages are written.
type changing struct {
	*os.File
	pages []int64 // their offsets, in order
}

func (c *changing) take(data []byte, at int64) error {
	first, _ := slices.BinarySearch(c.pages, at)
	for _, offset := range c.pages[first:] {
		if offset >= at+int64(len(data)) {
			break
		}
		if _, err := c.WriteAt(data[offset-at:][:page], offset); err != nil {
			return err
		}
	}
	return nil
}

func (c *changing) end() error { return errors.Join(c.Sync(), c.Close()) }
