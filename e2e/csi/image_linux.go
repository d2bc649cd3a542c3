package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	mount "k8s.io/mount-utils"

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

// loopMajor is the major number of loop devices.
const loopMajor = 7

// attached returns the loop device of an image, or empty.
func attached(image string) (device string, err error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // sysfs
		if err == nil && strings.TrimSpace(string(content)) == image {
			return deviceOf(file), nil
		}
	}
	return "", nil
}

func deviceOf(backingFile string) string {
	return filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(backingFile))))
}

// attach creates a loop device for an image, or finds the existing one.
func attach(image string) (device string, err error) {
	if device, err = attached(image); device != "" || err != nil {
		return device, err
	}
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("loop devices: %w", err)
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("no loop device is free: %w", err)
		}
		device = fmt.Sprintf("/dev/loop%d", number)
		if err := configure(device, number, file); !errors.Is(err, unix.EBUSY) { // another process has taken it
			return device, err
		}
	}
}

// configure attaches an image to a free loop device. Where /dev is no devtmpfs, a new device has no file yet.
func configure(device string, number int, image *os.File) error {
	err := unix.Mknod(device, unix.S_IFBLK|0o660, int(unix.Mkdev(loopMajor, uint32(number))))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %s: %w", device, err)
	}
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer loop.Close()
	return unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{Fd: uint32(image.Fd())})
}

// detach detaches a loop device.
func detach(device string) error {
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer loop.Close()
	err = unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil // it has none
	}
	return err
}

// resized updates a loop device to the current size of its image.
func resized(device string) error {
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer loop.Close()
	return unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_SET_CAPACITY, 0)
}

// detachBelow detaches the loop devices of all images below a folder, including removed images.
func detachBelow(dir string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // sysfs
		if errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(string(content), dir+"/") {
			continue
		}
		errs = append(errs, err, detach(deviceOf(file)))
	}
	return errors.Join(errs...)
}

// unmountBelow unmounts everything below a folder, the latest mount first.
func unmountBelow(dir string) error {
	points, err := mount.New("").List()
	if err != nil {
		return err
	}
	slices.Reverse(points)
	var errs []error
	for _, point := range points {
		if strings.HasPrefix(point.Path, dir+"/") {
			errs = append(errs, unix.Unmount(point.Path, 0))
		}
	}
	return errors.Join(errs...)
}

// Look makes a read-only copy of the current content of a volume accessible, whichever node has the volume. It returns
// the mount path, or the device. done removes the copy.
func (f *Folder) Look(ctx context.Context, id string) (at string, done func() error, err error) {
	dir, err := os.MkdirTemp(f.Dir, "look-")
	if err != nil {
		return "", nil, err
	}
	image, isDevice := dir+".image", false
	err = f.with(func(s *state) error {
		v, err := s.volume(id)
		if err != nil {
			return err
		}
		isDevice = v.Device
		return f.duplicate(ctx, s, v, image)
	})
	if err != nil {
		return "", nil, err
	}
	loop, err := attach(image)
	if err != nil {
		return "", nil, err
	}
	done = func() error { return errors.Join(unmount(dir, true), detach(loop), os.Remove(image)) }
	if isDevice {
		return loop, done, nil
	}
	if err := mountImage(loop, dir, true); err != nil {
		return "", nil, errors.Join(err, done())
	}
	return dir, done, nil
}

// mountImage mounts the file system of a loop device.
func mountImage(loop, dir string, readOnly bool) error {
	m := place(0).mounter()
	system, err := m.GetDiskFormat(loop)
	if err != nil {
		return err
	}
	var options []string
	switch {
	case readOnly && system == xfs:
		options = []string{"ro", "norecovery", "nouuid"}
	case readOnly:
		options = []string{"ro", "noload"}
	case system == xfs:
		options = []string{"nouuid"}
	}
	return m.Mount(loop, dir, system, options)
}

// Spoil changes the content of a snapshot of a file system, like a storage that has lost data. do gets the folder
// where it is mounted.
func (f *Folder) Spoil(id string, do func(dir string) error) error {
	return f.with(func(s *state) error {
		if _, found := s.Snapshots[id]; !found {
			return status.Errorf(codes.NotFound, "there is no snapshot %s", id)
		}
		dir, err := os.MkdirTemp(f.Dir, "spoil-")
		if err != nil {
			return err
		}
		loop, err := attach(f.image(id))
		if err != nil {
			return err
		}
		err = mountImage(loop, dir, false)
		if err == nil {
			err = do(dir)
		}
		return errors.Join(err, unmount(dir, true), detach(loop))
	})
}
