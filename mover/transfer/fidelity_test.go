package transfer

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
)

// TestFidelity: a tree with every kind of entry arrives equal, whichever side listens, and a second pass
// changes nothing. The comparison shares no code with the mover.
func TestFidelity(t *testing.T) {
	treetest.NeedRoot(t)
	for name, receiverListens := range map[string]bool{"M-032, M-080: the sender listens": false, "M-032, M-080: the receiver listens": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.receiverListens = receiverListens
			treetest.In(t, p.source).Everything()
			outcome := p.mustRun(true)
			treetest.Equal(t, p.source, p.destination)
			if outcome.Own.Root != outcome.Peer.Root || outcome.Own.Root == [32]byte{} {
				t.Errorf("roots %x and %x", outcome.Own.Root, outcome.Peer.Root)
			}
			p.mustRun(true)
			if n := p.receiver.Counts.Fetched.Load(); n > 0 {
				t.Errorf("the second pass asked for %d files", n)
			}
			treetest.Equal(t, p.source, p.destination)
		})
	}
}

// TestOverwrites: conflicting entries at the destination are removed.
func TestOverwrites(t *testing.T) {
	treetest.NeedRoot(t)
	p := newPair(t)
	treetest.In(t, p.source).Everything()
	to := treetest.In(t, p.destination)
	to.File("small/is/a/folder", []byte("x"))
	to.File("empty", []byte("a file"))
	to.File("large", treetest.Bytes(2, 9<<20+123)[:5<<20])
	to.File("extra/with/much", []byte("x"))
	to.File("pipe", []byte("a file"))
	to.Must(os.Symlink("/etc", p.destination+"/a")) // and nothing is written there
	to.Must(os.Symlink("large", p.destination+"/names"))
	to.File("holes", treetest.Bytes(9, 4<<20))
	to.File("shared", []byte("x"))
	to.Must(os.Link(p.destination+"/shared", p.destination+"/nothing"))
	to.Must(os.Link(p.destination+"/shared", p.destination+"/text"))
	to.File("z-again", []byte("no link"))
	p.mustRun(true)
	t.Run("M-041, M-080, M-083: nothing is left that only the destination had", func(t *testing.T) {
		treetest.Equal(t, p.source, p.destination)
	})
}
