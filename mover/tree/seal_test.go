package tree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
)

func seal(t testing.TB, tr *Tree, options ListOptions) (Listed, error) {
	t.Helper()
	options.Digest = true
	return tr.List(t.Context(), options, func(*entry.Entry) error { return nil })
}

func mustSeal(t testing.TB, tr *Tree, options ListOptions) Listed {
	t.Helper()
	listed, err := seal(t, tr, options)
	if err != nil {
		t.Fatal(err)
	}
	return listed
}

// TestPastCache: a read past the cache returns the same data as a read through it, for every size, even if the
// data are only in memory.
func TestPastCache(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	tr := open(t, root)
	for _, size := range []int{1, sector - 1, 3 * sector, smallBuffer + 1, Leaf, Leaf + 1, Leaf + sector, 2*Leaf - 1, stripe + 12345, 2*stripe + sector - 1} {
		to.File("f", treetest.Bytes(uint64(size), size))
		cursor := tr.Cursor()
		var digests [2][32]byte
		for i := range digests {
			open := cursor.openPastCache
			if i == 1 {
				open = func(path string) (*File, error) { return cursor.openToRead(path, 0) }
			}
			file, err := open("f")
			if err != nil {
				t.Fatal(err)
			}
			var read int64
			if digests[i], read, err = NewHasher(nil).Digest(t.Context(), file, int64(size)); err != nil || read != int64(size) {
				t.Fatalf("%d bytes of %d were read: %v", read, size, err)
			}
			_, _, err = NewHasher(nil).Digest(t.Context(), file, int64(size)+1)
			if whole := size%Leaf == 0; !whole && !errors.Is(err, ErrChanged) { // a position beyond the end is a hole
				t.Errorf("a file of %d bytes has one more: %v", size, err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		}
		cursor.Close()
		if digests[0] != digests[1] {
			t.Errorf("%d bytes have two digests", size)
		}
	}
}

// TestHoles: the digest of a content does not depend on the position of its holes; holes are not read.
func TestHoles(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	const size = 20<<20 + 5
	data := map[int64][]byte{3 << 20: treetest.Bytes(1, 3000), 19<<20 - 1: treetest.Bytes(2, 2)}
	to.Sparse("sparse", size, data)
	dense := make([]byte, size)
	for at, content := range data {
		copy(dense[at:], content)
	}
	to.File("dense", dense)
	cursor := open(t, root).Cursor()
	defer cursor.Close()
	digests := map[string][32]byte{}
	for _, name := range []string{"sparse", "dense"} {
		content, err := cursor.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		digest, read, err := NewHasher(nil).Digest(t.Context(), content, size)
		if err != nil {
			t.Fatal(err)
		}
		if name == "sparse" && read > 4*Leaf {
			t.Errorf("%d bytes were read of a file that holds %d", read, 3002)
		}
		digests[name] = digest
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if digests["sparse"] != digests["dense"] {
		t.Errorf("%x with holes, %x without", digests["sparse"], digests["dense"])
	}
}

// TestSealSees: every kept field changes the root, wherever it is.
func TestSealSees(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	to.File("a/file", []byte("one"))
	to.File("large", treetest.Bytes(1, 9<<20))
	tr := open(t, root)
	before := mustSeal(t, tr, ListOptions{Settled: true})
	if again := mustSeal(t, tr, ListOptions{Settled: true}); again != before {
		t.Fatalf("%v, then %v", before, again)
	}
	stat, err := os.Stat(root + "/large")
	to.Must(err)
	f, err := os.OpenFile(root+"/large", os.O_WRONLY, 0)
	to.Must(err)
	_, err = f.WriteAt([]byte{^treetest.Bytes(1, 9<<20)[8<<20+77]}, 8<<20+77)
	to.Must(errors.Join(err, f.Close(), os.Chtimes(root+"/large", time.Time{}, stat.ModTime())))
	if after := mustSeal(t, tr, ListOptions{Settled: true}); after.Root == before.Root {
		t.Error("a bit of 9 MiB changed, and the root did not")
	}
}

// TestKnown: a file that is unchanged since it was read for an index is not read again. An index that is
// damaged, or of another reading, has no records.
func TestKnown(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	to.File("kept", treetest.Bytes(1, 5000))
	to.File("later", treetest.Bytes(2, 700))
	tr := open(t, root)
	tr.FileSystem = "ext4" // whatever holds the temporary folder
	reading := tr.Reading("web-0.1", "sender", time.Now().Add(time.Hour))
	write := func(known *Index) (Listed, *os.File) {
		t.Helper()
		file, err := tr.Unnamed()
		to.Must(err)
		t.Cleanup(func() { _ = file.Close() })
		record := CreateIndex(file, reading)
		listed := mustSeal(t, tr, ListOptions{Settled: true, Known: known, Record: record, Synced: reading.Synced})
		to.Must(record.Commit())
		return listed, file
	}
	read := func(file *os.File) *Index {
		t.Helper()
		index, err := OpenIndex(file, reading)
		to.Must(err)
		return index
	}
	first, file := write(nil)
	if first.Read != 5700 || first.Trusted != 0 || first.Known != 5700 {
		t.Errorf("%+v", first.Totals)
	}
	second, file := write(read(file))
	if second.Root != first.Root || second.Read != 0 || second.Trusted != 5700 || second.Known != 5700 {
		t.Errorf("root %x and %x, %+v", first.Root, second.Root, second.Totals)
	}
	to.File("later", treetest.Bytes(3, 800)) // another size: one tick of the kernel's clock may be all that has passed
	third, file := write(read(file))
	if third.Root == first.Root || third.Read != 800 || third.Trusted != 5000 {
		t.Errorf("the same root: %v, %+v", third.Root == first.Root, third.Totals)
	}
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
	to.Must(err)
	for _, damaged := range [][]byte{nil, content[:len(content)-1], content[:40], append([]byte("x"), content[1:]...), []byte(strings.Replace(string(content), "kept", "left", 1))} {
		to.File("../damaged", damaged)
		file, err := os.Open(root + "/../damaged")
		to.Must(err)
		if _, err := OpenIndex(file, reading); !errors.Is(err, ErrNoIndex) {
			t.Errorf("an index of %d bytes that is damaged: %v", len(damaged), err)
		}
		to.Must(file.Close())
	}
	other := reading
	other.Copy = "web-0.2"
	if _, err := OpenIndex(file, other); !errors.Is(err, ErrNoIndex) {
		t.Errorf("an index of another copy: %v", err)
	}
}

// TestReading: a folder has an identity of its own, which is the same when it is opened again.
func TestReading(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	now := time.Now()
	first := open(t, one).Reading("c", "s", now)
	if first.Volume == "" || first.Boot == "" || first.Clock == 0 {
		t.Fatalf("%+v", first)
	}
	again := open(t, one).Reading("c", "s", now)
	if step := first.Clock - again.Clock; step < 0 || step > int64(10*time.Second) {
		t.Errorf("the clock was set by %d ns", step)
	}
	if again.Clock = first.Clock; again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if other := open(t, two).Reading("c", "s", now); other.Volume == first.Volume {
		t.Errorf("two folders are %q", other.Volume)
	}
}

// TestKeep: Keep replaces no file, and a process that has opened a kept file can read it after its name is
// removed.
func TestKeep(t *testing.T) {
	root := t.TempDir()
	tr, to := open(t, root), treetest.In(t, root)
	if found, err := tr.Find("kept"); found != nil || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	file, err := tr.Unnamed()
	to.Must(err)
	defer func() { _ = file.Close() }()
	_, err = file.WriteString("what is kept")
	to.Must(err)
	to.File("theirs", []byte("theirs"))
	if err := tr.Keep(file, "theirs"); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	to.Must(tr.Keep(file, "kept"))
	found, err := tr.Find("kept")
	to.Must(err)
	defer func() { _ = found.Close() }()
	to.Must(os.Remove(root + "/kept"))
	content, err := io.ReadAll(found)
	theirs, err2 := os.ReadFile(root + "/theirs")
	if to.Must(errors.Join(err, err2)); string(content) != "what is kept" || string(theirs) != "theirs" {
		t.Errorf("%q and %q", content, theirs)
	}
}

// TestIndexOrder: records are found in order, and a missing one is not found.
func TestIndexOrder(t *testing.T) {
	tr := open(t, t.TempDir())
	file, err := tr.Unnamed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	tr.FileSystem = "xfs"
	reading := tr.Reading("c", "s", time.Now())
	w := CreateIndex(file, reading)
	want := differ.Record{Path: "a/x", Size: 5, Inode: entry.ID{Ino: 3}, Handle: "1 xyz", Modified: entry.Time{Sec: -1, Nsec: 2}, Changed: entry.Time{Sec: 4}, Synced: entry.Time{Sec: 5, Nsec: 6}, Digest: [32]byte{7}}
	want.Size, want.Parts = 2*Leaf, bytes.Repeat([]byte{8}, 2*DigestSize)
	for _, r := range []differ.Record{{Path: "a"}, want, {Path: "b"}} {
		w.Add(r)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	x, err := OpenIndex(file, reading)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path  string
		there bool
	}{{"a", true}, {"a/b", false}, {"a/x", true}, {"a.b", false}, {"b", true}, {"c", false}} {
		r, err := x.Find(tc.path)
		if err != nil || (r != nil) != tc.there {
			t.Errorf("%q: %v, %v", tc.path, r, err)
		}
		if tc.path == want.Path && r != nil && !reflect.DeepEqual(*r, want) {
			t.Errorf("got %v, want %v", *r, want)
		}
	}
}

// TestSettled: a file that shrinks while it is read is an error if no process may write. Otherwise it has no
// digest.
func TestSettled(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	to.File("a", treetest.Bytes(1, 100))
	tr := open(t, root)
	for _, settled := range []bool{true, false} {
		to.File("a", treetest.Bytes(1, 100))
		options := ListOptions{Settled: settled, Digest: true, Throttle: func(context.Context, int) error { return os.Truncate(root+"/a", 10) }}
		var last *entry.Entry
		listed, err := tr.List(t.Context(), options, func(e *entry.Entry) error {
			last = e
			return nil
		})
		if settled && (!errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), root+"/a")) {
			t.Errorf("got %v", err)
		}
		if !settled && (err != nil || listed.Unsettled != 1 || last.Digest != [32]byte{}) {
			t.Errorf("got %v, %v", listed, err)
		}
	}
}

// TestLinks: the names of a file are forgotten once all of them were met, and names beyond the limit are
// refused.
func TestLinks(t *testing.T) {
	l := NewLinks()
	for range 1000 {
		for i, path := range []string{"a", "b"} {
			e := entry.Entry{Path: path, Kind: entry.File, Names: 2, Inode: entry.ID{Ino: 5}}
			if err := l.Resolve(&e); err != nil {
				t.Fatal(err)
			}
			if (e.Kind == entry.Link) != (i == 1) || i == 1 && e.Target != "a" {
				t.Fatalf("got %v", e)
			}
		}
	}
	if len(l.first) != 0 || l.size != 0 {
		t.Errorf("%d files, %d bytes are remembered", len(l.first), l.size)
	}
	l.limit = 1000
	var err error
	for ino := uint64(0); err == nil && ino < 100; ino++ {
		err = l.Resolve(&entry.Entry{Path: "x", Kind: entry.File, Names: 2, Inode: entry.ID{Ino: ino}})
	}
	if err == nil {
		t.Error("it remembers without a limit")
	}
}
