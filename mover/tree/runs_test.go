package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// TestGather: small files come in runs that have room for them, in the order of their inodes, and each large file comes
// alone. Each file comes once.
func TestGather(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const count = 2*window + 77
	work := make(chan *reading, count)
	for i := range count {
		size := random.Int64N(2 * smallBuffer)
		if i%3 > 0 {
			size = random.Int64N(2 * sector)
		}
		work <- &reading{entry: &entry.Entry{Path: strconv.Itoa(i), Size: size, Inode: entry.ID{Ino: random.Uint64N(1000)}}}
	}
	close(work)
	runs := make(chan []*reading, count)
	if err := gather(t.Context(), work, runs); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	longest := 0
	for run := range runs {
		longest = max(longest, len(run))
		room := 0
		for _, r := range run {
			if seen[r.entry.Path] {
				t.Errorf("%q came twice", r.entry.Path)
			}
			seen[r.entry.Path] = true
			room += sectors(r.entry.Size)
			if !inRuns(r) && len(run) > 1 {
				t.Errorf("%d bytes in a run of %d files", r.entry.Size, len(run))
			}
		}
		if len(run) > 1 && room > bulkBytes || len(run) > bulkFiles {
			t.Errorf("a run of %d files, %d bytes", len(run), room)
		}
		if !slices.IsSortedFunc(run, func(a, b *reading) int { return cmp.Compare(a.entry.Inode.Ino, b.entry.Inode.Ino) }) {
			t.Error("a run is not in the order of inodes")
		}
	}
	if len(seen) != count || longest < bulkFiles/2 {
		t.Errorf("%d of %d files, the longest run has %d", len(seen), count, longest)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	work = make(chan *reading, 1)
	work <- &reading{entry: &entry.Entry{Path: "last"}}
	if err := gather(ctx, work, make(chan []*reading)); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody takes runs any more: %v", err)
	}
}

// TestRuns: in a tree of any shape, entries come in order, each with the digest that Hasher.Digest returns. More entries
// than fit into the queue may lie between two files.
func TestRuns(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	random := rand.New(rand.NewPCG(3, 4))
	sizes := []int{0, 1, 100, sector - 1, sector, 3 * sector, smallBuffer - 1, smallBuffer, smallBuffer + 1, MaxSmall, Leaf, Leaf + 1}
	for i := range 400 {
		to.File(fmt.Sprintf("%d/%x", random.IntN(9), random.Uint64()), treetest.Bytes(uint64(i)+1, sizes[i%len(sizes)]))
	}
	to.File("a", []byte("before the links"))
	for i := range 3 * window {
		to.Must(os.Symlink("a", fmt.Sprintf("%s/b-%d", root, i)))
	}
	to.File("c", []byte("after the links"))
	tr := open(t, root)
	cursor := tr.Cursor()
	defer cursor.Close()
	var last string
	files := 0
	listed, err := tr.List(t.Context(), ListOptions{Digest: true, Settled: true}, func(e *entry.Entry) error {
		if e.Path != "" && entry.Compare(e.Path, last) <= 0 {
			t.Errorf("%q after %q", e.Path, last)
		}
		last = e.Path
		if e.Kind != entry.File {
			return nil
		}
		files++
		content, err := cursor.Open(e.Path)
		if err != nil {
			return err
		}
		want, _, err := NewHasher(nil).Digest(t.Context(), content, e.Size)
		if e.Digest != want {
			t.Errorf("%q, %d bytes: another digest", e.Path, e.Size)
		}
		return errors.Join(err, content.Close())
	})
	if err != nil || files != 402 || listed.Bytes != listed.Read {
		t.Errorf("%d files, %d bytes, %d read, %v", files, listed.Bytes, listed.Read, err)
	}
}

// TestRunsBesideWrites: of files that are read together, one that vanishes, is replaced or changes has an error. All
// others have their digests.
func TestRunsBesideWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		act  func(path string) error
		want func(error) bool
	}{
		"vanishes":  {os.Remove, Gone},
		"grows":     {func(path string) error { return os.WriteFile(path, treetest.Bytes(1, 101), 0o600) }, changed},
		"shrinks":   {func(path string) error { return os.Truncate(path, 50) }, changed},
		"is a link": {func(path string) error { return errors.Join(os.Remove(path), os.Symlink("0", path)) }, Gone},
		"is another": {func(path string) error {
			return errors.Join(os.WriteFile(path+".new", treetest.Bytes(1, 100), 0o600), os.Rename(path+".new", path))
		}, changed},
		"is older": {func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }, changed},
	} {
		root := t.TempDir()
		to := treetest.In(t, root)
		tr := open(t, root)
		var run []*reading
		for i := range 20 {
			to.File(strconv.Itoa(i), treetest.Bytes(uint64(i)+1, 100))
			cursor := tr.Cursor()
			e, err := cursor.Look(strconv.Itoa(i))
			to.Must(err)
			cursor.Close()
			run = append(run, &reading{entry: e, done: make(chan struct{})})
		}
		const victim = 7
		to.Must(tc.act(root + "/7"))
		var read atomic.Int64
		l := &lister{tree: tr, options: ListOptions{Progress: &read}}
		b := tr.bulk(true)
		to.Must(l.readRun(t.Context(), b, run))
		b.close()
		for i, r := range run {
			<-r.done
			switch {
			case i == victim && !tc.want(r.err):
				t.Errorf("%s: got %v", name, r.err)
			case i != victim && (r.err != nil || r.read != 100 || r.digest != wholeDigest(treetest.Bytes(uint64(i)+1, 100))):
				t.Errorf("%s: file %d: %v, %d bytes", name, i, r.err, r.read)
			}
		}
		if read.Load() < 1900 || read.Load() > 2000 {
			t.Errorf("%s: %d bytes were read", name, read.Load())
		}
	}
}

func changed(err error) bool { return errors.Is(err, ErrChanged) }

// BenchmarkDigest is the rate of one processor: for a part of a large file, and for a small file. BLAKE3_PUREGO=yes is the
// rate without the instructions of this machine.
func BenchmarkDigest(b *testing.B) {
	for name, size := range map[string]int{"1MiB": Leaf, "8KiB": 8 << 10} {
		data := treetest.Bytes(1, size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				wholeDigest(data)
			}
		})
	}
}
