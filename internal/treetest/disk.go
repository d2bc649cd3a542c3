package treetest

import (
	"os"
	"os/exec"
	"testing"
)

// Disk is a file system on a loop device of its own, mounted on a folder as long as the test runs.
type Disk struct {
	testing.TB
	// Device is mounted on Root, and Image is the file that it is.
	Device, Image, Root string
}

// NewDisk makes one of a type, without lost+found. Where that cannot be, the test is skipped, or fails if judges are Required;
// where only the type's mkfs is not installed, it is skipped.
func NewDisk(t testing.TB, system string) *Disk {
	t.Helper()
	sizes := map[string]int64{"ext4": 64 << 20, "xfs": 320 << 20, "btrfs": 128 << 20} // what each takes at least
	mkfs, err := exec.LookPath("mkfs." + system)
	if err != nil {
		t.Skip(err)
	}
	device, image := Loop(t, sizes[system])
	d := &Disk{TB: t, Device: device, Image: image, Root: t.TempDir()}
	d.run(mkfs, device)
	d.Mount()
	t.Cleanup(d.Unmount)
	if err := os.RemoveAll(d.Root + "/lost+found"); err != nil {
		t.Fatal(err)
	}
	return d
}

// Mount mounts it.
func (d *Disk) Mount() {
	d.Helper()
	d.run("mount", d.Device, d.Root)
}

// Unmount writes it to its image, and unmounts it. Nobody has anything open on it.
func (d *Disk) Unmount() {
	d.Helper()
	d.run("umount", d.Root)
	d.run("blockdev", "--flushbufs", d.Device)
}

func (d *Disk) run(name string, args ...string) {
	d.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}
