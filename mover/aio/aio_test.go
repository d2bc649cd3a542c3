package aio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/internal/treetest"
)

func reader(t *testing.T, depth int) *Reader {
	t.Helper()
	r, err := New(depth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// files creates files with some bytes each, and opens them.
func files(t *testing.T, sizes ...int) (opened []int, contents [][]byte) {
	t.Helper()
	for i, size := range sizes {
		path := filepath.Join(t.TempDir(), "f")
		content := treetest.Bytes(uint64(i)+1, size)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		opened, contents = append(opened, fd), append(contents, content)
	}
	return opened, contents
}

// TestDo: each buffer gets the data of its file, also if there are more reads than run at once. A read at the end of a
// file is short, and an error belongs to one read only.
func TestDo(t *testing.T) {
	r := reader(t, 4)
	opened, contents := files(t, 1, 5000, 0, 70_000, 3, 9, 8192, 11, 12, 13)
	const broken = 5
	for range 3 {
		var reads []Read
		for i, fd := range opened {
			if i == broken {
				fd = -1
			}
			reads = append(reads, Read{FD: fd, Buffer: make([]byte, 64<<10), N: 77, Err: unix.EIO})
		}
		reads[1].Offset = 4999
		r.Do(reads)
		for i, read := range reads {
			want := contents[i][min(read.Offset, int64(len(contents[i]))):]
			want = want[:min(len(want), len(read.Buffer))]
			switch {
			case i == broken && (!errors.Is(read.Err, unix.EBADF) || read.N != 0):
				t.Errorf("a file that is not open: %d bytes, %v", read.N, read.Err)
			case i != broken && (read.Err != nil || !bytes.Equal(read.Buffer[:read.N], want)):
				t.Errorf("file %d: %d bytes, want %d: %v", i, read.N, len(want), read.Err)
			}
		}
	}
}

// TestErrors: the kernel reports an error of a read at its end (EIO, EFAULT) or when it is submitted. After Close every
// read has an error, and no call blocks.
func TestErrors(t *testing.T) {
	r := reader(t, 2)
	folder, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(folder) })
	opened, contents := files(t, 10)
	reads := []Read{{FD: folder, Buffer: make([]byte, 10)}, {FD: opened[0], Buffer: make([]byte, 10)}, {FD: folder, Buffer: make([]byte, 10)}}
	r.Do(reads)
	if reads[0].Err == nil || reads[2].Err == nil {
		t.Errorf("a folder was read: %v, %v", reads[0].Err, reads[2].Err)
	}
	if reads[1].Err != nil || !bytes.Equal(reads[1].Buffer, contents[0]) {
		t.Errorf("%q, %v", reads[1].Buffer, reads[1].Err)
	}
	r.Close()
	r.Close()
	r.Do(reads)
	for i, read := range reads {
		if read.Err == nil || read.N != 0 {
			t.Errorf("read %d of a closed Reader: %d bytes, %v", i, read.N, read.Err)
		}
	}
	r.Do(nil)
}

// TestLimit: a depth that the system refuses is an error. It allows 65,536 to all processes (fs.aio-max-nr).
func TestLimit(t *testing.T) {
	const most = 1 << 22
	if r, err := New(most); err == nil {
		r.Close()
		t.Error("four million reads at once")
	}
}

// TestLayout: the kernel reads these structures.
func TestLayout(t *testing.T) {
	if size := unsafe.Sizeof(control{}); size != 64 {
		t.Errorf("struct iocb has %d bytes", size)
	}
	if size := unsafe.Sizeof(event{}); size != 32 {
		t.Errorf("struct io_event has %d bytes", size)
	}
	if at := unsafe.Offsetof(control{}.buffer); at != 24 {
		t.Errorf("the buffer is at %d", at)
	}
}
