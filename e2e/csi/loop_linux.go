package csi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	mount "k8s.io/mount-utils"
)

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
