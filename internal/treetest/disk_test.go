package treetest

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFailReads: reads past the cache fail until the disk is repaired, and then return the same data as before.
func TestFailReads(t *testing.T) {
	d := NewDisk(t, "ext4")
	content := Bytes(7, 16<<20)
	In(t, d.Root).File("much", content)
	repair, err := d.FailReads()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(d.Root, "much")
	if _, err := readPastCache(file, len(content)); !errors.Is(err, unix.EIO) {
		t.Errorf("a read ends with %v", err)
	}
	if err := repair(); err != nil {
		t.Fatal(err)
	}
	if got, err := readPastCache(file, len(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("once it is repaired %d bytes are read: %v", len(got), err)
	}
}

// readPastCache reads the first bytes of a file from its disk (open(2), O_DIRECT).
func readPastCache(path string, size int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	aligned, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Munmap(aligned) }()
	done := 0
	for done < size {
		n, err := unix.Pread(fd, aligned[done:], int64(done))
		if err != nil || n == 0 {
			return nil, errors.Join(err, errors.New("the file ends early"))
		}
		done += n
	}
	return bytes.Clone(aligned), nil
}
