package block

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// TestDevice: data written past the last whole megabyte are read and digested, and change the digest.
func TestDevice(t *testing.T) {
	path, image := treetest.Loop(t, 5<<20+512*3)
	device, err := Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	if device.Size != 5<<20+512*3 {
		t.Fatalf("%d bytes", device.Size)
	}
	content := treetest.Bytes(1, int(device.Size))
	if _, err := device.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	if err := device.Sync(); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(image)
	if err != nil || !bytes.Equal(stored, content) {
		t.Fatalf("the disk has something else (%v)", err)
	}
	for _, at := range [][2]int64{{0, 10}, {1, 4096}, {4096, 8192}, {5 << 20, 512 * 3}, {4095, 2}, {0, device.Size}} {
		got := make([]byte, at[1])
		if n, err := device.ReadAt(got, at[0]); n != len(got) || err != nil || !bytes.Equal(got, content[at[0]:at[0]+at[1]]) {
			t.Errorf("%d bytes at %d: %d, %v", at[1], at[0], n, err)
		}
	}
	if n, err := device.ReadAt(make([]byte, 1024), device.Size-512); n != 512 || err == nil {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	root := func() tree.Listed {
		t.Helper()
		entries := 0
		listed, err := device.List(t.Context(), tree.ListOptions{Digest: true}, func(*entry.Entry) error {
			entries++
			return nil
		})
		if err != nil || entries != 1 || listed.Bytes != uint64(device.Limit) {
			t.Fatalf("%d entries, %+v, %v", entries, listed, err)
		}
		return listed
	}
	before := root()
	if _, err := device.WriteAt([]byte{^content[len(content)-1]}, device.Size-1); err != nil {
		t.Fatal(err)
	}
	if after := root(); after.Root == before.Root {
		t.Error("the last byte changed, and the root did not")
	}
	device.Limit -= 512
	if short := root(); short.Root == before.Root {
		t.Error("what does not count counts")
	}
}

// TestInUse: a mounted device is not written to.
func TestInUse(t *testing.T) {
	path, _ := treetest.Loop(t, 4<<20)
	if out, err := exec.Command("mkfs.ext4", "-q", path).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v: %s", err, out)
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", path, dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	defer func() { _ = exec.Command("umount", dir).Run() }()
	if _, err := Open(path, true); err == nil || !strings.Contains(err.Error(), "is mounted") {
		t.Errorf("got %v", err)
	}
}
