package treetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Disk is a file system on a loop device, mounted for the duration of the test.
type Disk struct {
	testing.TB
	// Device is mounted on Root. Image is the file of the loop device.
	Device, Image, Root string
}

// NewDisk returns a disk of a type, without lost+found. If a loop device is not available, the test is skipped, or fails if
// judges are Required. If only the type's mkfs is not installed, the test is skipped.
func NewDisk(t testing.TB, system string) *Disk {
	t.Helper()
	return NewDiskAt(t, system, t.TempDir())
}

// NewDiskAt does the same as NewDisk, and mounts the disk on a folder that exists.
func NewDiskAt(t testing.TB, system, root string) *Disk {
	t.Helper()
	sizes := map[string]int64{"ext4": 64 << 20, "xfs": 320 << 20, "btrfs": 128 << 20} // the minimum size of each
	mkfs, err := exec.LookPath("mkfs." + system)
	if err != nil {
		t.Skip(err)
	}
	device, image := Loop(t, sizes[system])
	return newDisk(t, mkfs, &Disk{TB: t, Device: device, Image: image, Root: root})
}

// NewFailingDisk returns an ext4 disk of 64 MiB whose writes fail after some bytes. Data in the cache that are written to
// it later are lost, and the kernel reports that (EIO) when they are synced.
func NewFailingDisk(t testing.TB, bytes int64) *Disk {
	t.Helper()
	NeedRoot(t)
	const size = 64 << 20
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		t.Skip(err)
	}
	store := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", bytes), "tmpfs", store).CombinedOutput(); err != nil {
		t.Skipf("no tmpfs: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", store).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	image := filepath.Join(store, "image")
	return newDisk(t, mkfs, &Disk{TB: t, Device: loop(t, image, size), Image: image, Root: t.TempDir()})
}

func newDisk(t testing.TB, mkfs string, d *Disk) *Disk {
	t.Helper()
	d.run(mkfs, d.Device)
	d.Mount()
	t.Cleanup(d.Unmount)
	if err := os.RemoveAll(d.Root + "/lost+found"); err != nil {
		t.Fatal(err)
	}
	return d
}

// Mount mounts the disk.
func (d *Disk) Mount() {
	d.Helper()
	d.run("mount", d.Device, d.Root)
}

// Unmount unmounts the disk and flushes it to its image. No file on it may be open.
func (d *Disk) Unmount() {
	d.Helper()
	d.run("umount", d.Root)
	d.run("blockdev", "--flushbufs", d.Device)
}

// readable is the part of a disk that FailReads leaves. It has what mkfs.ext4 writes at the beginning of a small disk.
const readable = 8 << 20

// FailReads makes the file system read-only, and makes reads of data beyond the first 8 MiB of the disk fail (EIO): the
// file of the loop device ends there. repair ends that.
func (d *Disk) FailReads() (repair func() error, err error) {
	if out, err := exec.Command("mount", "-o", "remount,ro", d.Root).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("remount %s: %w: %s", d.Root, err, out)
	}
	image, err := os.ReadFile(d.Image)
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(d.Image, readable); err != nil {
		return nil, err
	}
	return func() error {
		file, err := os.OpenFile(d.Image, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteAt(image[readable:], readable)
		return errors.Join(err, file.Close())
	}, nil
}

func (d *Disk) run(name string, args ...string) {
	d.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}
