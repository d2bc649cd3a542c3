package tree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/aio"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// engines returns a bulk for each way to read.
func engines(tr *Tree) map[string]*bulk {
	alone := tr.bulk(false)
	alone.refused = true
	return map[string]*bulk{"together": tr.bulk(false), "for a proof": tr.bulk(true), "one after another": alone}
}

// descriptors returns how many files this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// TestBulk: each file is read whole, in order, whatever its size and however many there are, and however the system reads
// them. One that is shorter gives fewer bytes, and one that is longer no more than expected. One that is missing, or is
// none any more, does not affect the others.
func TestBulk(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	tr := open(t, root)
	sizes := []int{0, 1, sector - 1, sector, sector + 1, 5000, MaxSmall - 1, MaxSmall}
	var files []Small
	var want [][]byte
	add := func(size, expected int) {
		path := fmt.Sprintf("%d/f", len(files))
		content := treetest.Bytes(uint64(len(files))+1, size)
		to.File(path, content)
		files = append(files, Small{Path: path, Size: int64(expected)})
		want = append(want, content[:min(size, expected)])
	}
	for i := range 3*bulkFiles + 5 {
		add(sizes[i%len(sizes)], sizes[i%len(sizes)])
	}
	add(100, 200)
	add(sector, 2*sector+1)
	add(9000, 4096)
	add(9000, 5000)
	add(50, 0)
	to.Must(os.Symlink("0/f", root+"/link"))
	to.Must(unix.Mkfifo(root+"/pipe", 0o600))
	refused := map[string]error{"missing": unix.ENOENT, "link": unix.ELOOP, "pipe": ErrChanged, "../f": unix.EINVAL}
	for path := range refused {
		files, want = append(files, Small{Path: path, Size: 10}), append(want, nil)
	}
	for name, b := range engines(tr) {
		before := descriptors(t)
		next := 0
		err := b.run(files, func(f *Small) error {
			if f != &files[next] {
				t.Fatalf("%s: %q comes at %d", name, f.Path, next)
			}
			if !errors.Is(f.Err, refused[f.Path]) || !bytes.Equal(f.Data, want[next]) {
				t.Errorf("%s: %q, %d bytes: %d, %v", name, f.Path, f.Size, len(f.Data), f.Err)
			}
			if f.Err == nil && (f.Now.Kind != entry.File || f.Now.Inode.Ino == 0) {
				t.Errorf("%s: %q is %+v", name, f.Path, f.Now)
			}
			f.Drop()
			next++
			return nil
		})
		if err != nil || next != len(files) {
			t.Errorf("%s: %d of %d, %v", name, next, len(files), err)
		}
		stop := errors.New("enough")
		if err := b.run(files, func(*Small) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: got %v", name, err)
		}
		b.cursor.Close()
		if after := descriptors(t); after != before {
			t.Errorf("%s: %d files are open, %d before", name, after, before)
		}
		b.close()
	}
}

// TestTake: a read error is final. A refused read, and one with too few data, is repeated without the others.
func TestTake(t *testing.T) {
	root := t.TempDir()
	treetest.In(t, root).File("f", []byte("content"))
	tr := open(t, root)
	cursor := tr.Cursor()
	defer cursor.Close()
	for name, tc := range map[string]struct {
		read aio.Read
		want error
		data string
	}{
		"the disk failed": {aio.Read{Err: unix.EIO}, unix.EIO, ""},
		"larger sectors":  {aio.Read{Err: unix.EINVAL}, nil, "content"},
		"too many reads":  {aio.Read{Err: os.NewSyscallError("io_submit", unix.EAGAIN)}, nil, "content"},
		"a part":          {aio.Read{N: 3}, nil, "content"},
		"all":             {aio.Read{N: 7}, nil, "what is "},
	} {
		file, err := cursor.openDirect("f")
		if err != nil {
			t.Fatal(err)
		}
		s := Small{Path: "f", Size: 7, file: file, room: Aligned(sector)}
		copy(s.room, "what is in the buffer")
		s.take(tc.read)
		if got := string(s.Data); !errors.Is(s.Err, tc.want) || (tc.want == nil) != (s.Err == nil) || got[:min(len(got), len(tc.data))] != tc.data[:min(len(got), len(tc.data))] {
			t.Errorf("%s: %q, %v", name, got, s.Err)
		}
		_ = file.Close()
	}
}

// TestDescriptors: where a process may open few files, fewer are open at once.
func TestDescriptors(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	var files []Small
	for i := range bulkFiles {
		to.File(strconv.Itoa(i), []byte("content"))
		files = append(files, Small{Path: strconv.Itoa(i), Size: 7})
	}
	tr := open(t, root)
	b := tr.bulk(true)
	defer b.close()
	var old unix.Rlimit
	to.Must(unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old))
	few := old
	few.Cur = uint64(descriptors(t) + 9)
	to.Must(unix.Prlimit(0, unix.RLIMIT_NOFILE, &few, nil))
	defer func() { to.Must(unix.Prlimit(0, unix.RLIMIT_NOFILE, &old, nil)) }()
	read := 0
	err := b.run(files, func(f *Small) error {
		if string(f.Data) == "content" {
			read++
		}
		return f.Err
	})
	if err != nil || read != len(files) {
		t.Errorf("%d of %d files were read: %v", read, len(files), err)
	}
}
