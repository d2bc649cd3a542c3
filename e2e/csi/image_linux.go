package csi

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/internal/program"
)

// The ioctl requests of linux/fs.h that freeze and thaw a file system.
const (
	freeze = 0xc0045877
	thaw   = 0xc0045878
)

// blank creates an empty image.
func blank(path string, bytes int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(bytes), file.Close())
}

// duplicate creates an image with the content of a volume at one moment, even if the volume is written meanwhile.
func (f *Folder) duplicate(ctx context.Context, s *state, v Volume, path string) error {
	return s.still(v, func() error { return duplicate(ctx, f.image(v.ID), path) })
}

func duplicate(ctx context.Context, from, to string) error {
	_, err := program.In{}.Output(ctx, "cp", "--sparse=always", "--reflink=auto", from, to)
	return err
}

// still runs do while writes to a volume are suspended, and after all earlier writes are in its image.
func (s *state) still(v Volume, do func() error) (err error) {
	staging := s.Nodes[v.Node].Place.path(v.Staging)
	switch {
	case v.Node == "":
		return do()
	case v.Block:
		return errors.Join(flush(staging), do())
	}
	dir, err := os.Open(staging)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.IoctlSetInt(int(dir.Fd()), freeze, 0); err != nil {
		return fmt.Errorf("freeze %s: %w", staging, err)
	}
	defer func() { err = errors.Join(err, unix.IoctlSetInt(int(dir.Fd()), thaw, 0)) }()
	return do()
}

// flush flushes the cache of a device.
func flush(path string) error {
	device, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(device.Sync(), device.Close())
}
