package transfer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// TestTakenForgets: of two million files with two names each, one after the other, one is remembered at a time.
// If the further names come at the end, as many are remembered as the limit allows, and the others are created
// again.
func TestTakenForgets(t *testing.T) {
	const files = 2_000_000
	own := func(i uint64) *entry.Entry {
		return &entry.Entry{Kind: entry.File, Inode: entry.ID{Ino: i}, Names: 2}
	}
	near := newTaken(1)
	for i := range uint64(files) {
		if !near.take(own(i)) || near.take(own(i)) {
			t.Fatalf("file %d is taken not once", i)
		}
		for range 2 {
			near.passed(own(i))
		}
		if len(near.left) != 0 {
			t.Fatalf("%d are remembered after file %d", len(near.left), i)
		}
	}
	far, made := newTaken(1000), 0
	for i := range uint64(files) {
		if !far.take(own(i)) {
			made++
		}
		far.passed(own(i))
	}
	if len(far.left) != 1000 || made != files-1000 {
		t.Errorf("%d are remembered, %d are made anew", len(far.left), made)
	}
	for i := range uint64(files) {
		far.passed(own(i))
	}
	if len(far.left) != 0 {
		t.Errorf("%d are remembered when all names were met", len(far.left))
	}
}

// named creates a file with several names.
func named(t *testing.T, root, content string, names ...string) {
	t.Helper()
	first := filepath.Join(root, names[0])
	if err := os.MkdirAll(filepath.Dir(first), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range names[1:] {
		if err := os.Link(first, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTakenInAPass: a second pass over many files with two names each leaves all of them unchanged, with a
// limit of one: files whose names were all met are forgotten.
func TestTakenInAPass(t *testing.T) {
	p := newPair(t)
	p.changeReceiver = func(o *ReceiverOptions) { o.mostTaken = 1 }
	for i := range 300 {
		named(t, p.source, fmt.Sprintf("file %d", i), fmt.Sprintf("%04d", i), fmt.Sprintf("%04d.again", i))
	}
	p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
	p.mustRun(true)
	if c := &p.receiver.Counts; c.Fetched.Load() != 0 || c.Removed.Load() != 0 {
		t.Errorf("%d were fetched again, %d removed", c.Fetched.Load(), c.Removed.Load())
	}
}

// TestTakenApart: files of the sender's do not share one of the receiver's, however low the limit is. They get
// their further names once they are written.
func TestTakenApart(t *testing.T) {
	for _, most := range []int{1, 2, mostTaken} {
		t.Run(fmt.Sprintf("with room for %d", most), func(t *testing.T) {
			p := newPair(t)
			p.changeReceiver = func(o *ReceiverOptions) { o.mostTaken = most }
			named(t, p.source, "one", "a", "x", "xx")
			named(t, p.source, "two", "b", "y", "yy")
			named(t, p.source, "three", "c", "z", "zz")
			named(t, p.destination, "one", "a", "b", "c")
			named(t, p.destination, "two", "x", "y", "z")
			p.mustRun(true)
			treetest.Same(t, p.source, p.destination)
		})
	}
}
