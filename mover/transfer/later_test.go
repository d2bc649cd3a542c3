package transfer

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/block"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

const mebi = 1 << 20

// provenLater returns a pair that uses Verify Later. The sender's clock is an hour ahead: nothing has changed for a minute.
func provenLater(t testing.TB) *pair {
	t.Helper()
	p := newPair(t)
	p.pipes = newPipes()
	p.changeSender = func(o *SenderOptions) {
		source := o.Source.(*tree.Tree)
		source.FileSystem, o.Now = "ext4", func() time.Time { return time.Now().Add(time.Hour) } // whatever holds the temporary folder
		o.Reading = func(now time.Time) differ.Reading { return source.Reading("web-0.1", "sender", now) }
	}
	p.changeReceiver = func(o *ReceiverOptions) {
		o.Copy, o.Verify, o.Tree.FileSystem = "web-0.1", VerifyLater, "ext4" // whatever holds the temporary folder
	}
	return p
}

// sealed returns the list of a tree that is read whole and alone, and its tally.
func sealed(t testing.TB, root string) (tree.Listed, tree.Tally) {
	t.Helper()
	var tally tree.Tally
	source := openTree(t, root)
	listed, err := Seal(t.Context(), source, source.Sync, tree.ListOptions{Settled: true, Tally: &tally})
	if err != nil {
		t.Fatal(err)
	}
	return listed, tally
}

// TestLaterReadsBackTheDelta: of a large file of which little has changed, only the changed parts of 1 MiB are read
// back at the destination after the stop, and only their changed blocks are sent. The root, which covers all, is that
// of the source read whole. Before that, nothing of a source is read for a proof.
func TestLaterReadsBackTheDelta(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	from := treetest.In(t, p.source)
	content := treetest.Bytes(1, 40*mebi+123)
	from.File("base", content)
	from.File("small", treetest.Bytes(2, 1000))
	warm := p.mustRun(false)
	if p.wantRead(int64(len(content))+1000, 0); !warm.Kept || warm.Young != 0 || warm.Own.Known != uint64(len(content))+1000 || warm.Peer != nil {
		t.Errorf("%+v", warm)
	}
	p.mustRun(false)
	p.wantRead(0, 0)
	content[7*mebi+5], content[40*mebi+100] = content[7*mebi+5]^1, content[40*mebi+100]^1
	from.File("base", content)
	last := p.mustRun(true)
	p.wantRead(mebi+123, int64(len(content)))
	if got := p.receiver.Counts.Received.Load(); got != 16<<10+123 {
		t.Errorf("%d bytes were sent for two blocks", got)
	}
	treetest.Same(t, p.source, p.destination)
	whole, tally := sealed(t, p.source)
	if last.Own.Root != whole.Root || last.Tally != tally {
		t.Errorf("root %x and tally %s, and the source has %x and %s", last.Own.Root, last.Tally, whole.Root, tally)
	}
	if p.sender.Listed() != nil {
		t.Error("the source shows a root that it was not read for")
	}
}

// TestLaterComparesContent: after a warm pass, the content of a file counts as unchanged only if nothing that the file
// system of the source shows contradicts that. Otherwise the ordinal would start without a write that has not changed size
// and time of modification, and only the proof after its start would find that.
func TestLaterComparesContent(t *testing.T) {
	t.Parallel()
	_, peer := names("web-0.1")
	small, large := treetest.Bytes(1, 1000), treetest.Bytes(2, 3*mebi)
	rewrite := func(p *pair) {
		from := treetest.In(p, p.source)
		for name, content := range map[string][]byte{"small": small, "large": large} {
			changed := bytes.Clone(content)
			changed[777] ^= 1
			from.File(name, changed)
			from.Age(name, 1000, 5)
		}
	}
	sends := func(p *pair, change func(*SenderOptions)) {
		before := p.changeSender
		p.changeSender = func(o *SenderOptions) {
			before(o)
			change(o)
		}
	}
	for name, tc := range map[string]struct {
		between func(*pair)
		// read is how many bytes the sender reads to find changes.
		read int64
	}{
		"nothing was written":             {func(*pair) {}, 0},
		"the time was set back":           {rewrite, int64(len(large))},
		"the index of the source is gone": {func(p *pair) { treetest.In(p, p.destination).Must(os.Remove(p.destination + "/" + peer)) }, int64(len(large))},
		"its clock was set": {func(p *pair) {
			sends(p, func(o *SenderOptions) { o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } })
		}, int64(len(large))},
		"it is of a file system of no times": {func(p *pair) { sends(p, func(o *SenderOptions) { o.Source.(*tree.Tree).FileSystem = "nfs" }) }, int64(len(large))},
		"its sender names no copy":           {func(p *pair) { sends(p, func(o *SenderOptions) { o.Reading = nil }) }, int64(len(large))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provenLater(t)
			from := treetest.In(t, p.source)
			from.File("small", small)
			from.File("large", large)
			for _, name := range []string{"small", "large"} {
				from.Age(name, 1000, 5)
			}
			if !p.mustRun(false).Kept {
				t.Fatal("nothing was kept")
			}
			tc.between(p)
			last := p.mustRun(true)
			if got := p.sender.Read.Load(); got != tc.read {
				t.Errorf("the sender has read %d bytes, not %d", got, tc.read)
			}
			if whole, _ := sealed(t, p.source); whole.Root != last.Own.Root {
				t.Error("another root than the source")
			}
		})
	}
}

// TestLaterComparesYoungContent: a page of a memory map that is written to twice changes the times of its file once. So a
// file that had changed less than a minute before a pass is compared again.
func TestLaterComparesYoungContent(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	from := treetest.In(t, p.source)
	from.File(victim, treetest.Bytes(1, 3*mebi)) // large: a small file is read past the cache, which writes the page
	m := mapFile(from, victim)
	changes := p.changeSender
	p.changeSender = func(o *SenderOptions) {
		changes(o)
		o.Now = time.Now
		sync := o.Sync
		o.Sync = func() error {
			err := sync()
			m.flip(5) // the page is dirty, and stays so
			return err
		}
	}
	if warm := p.mustRun(false); warm.Young < 3*mebi {
		t.Errorf("%d bytes are young", warm.Young)
	}
	m.flip(77)
	m.end()
	last := p.mustRun(true)
	if whole, _ := sealed(t, p.source); whole.Root != last.Own.Root {
		t.Error("another root than the source")
	}
}

// TestLaterKeepsNothingOfASnapshot: the files of a restored snapshot say nothing about those of the volume, so a pass that
// reads one keeps nothing for the last pass.
func TestLaterKeepsNothingOfASnapshot(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	treetest.In(t, p.source).File("f", treetest.Bytes(1, 3*mebi))
	changes := p.changeSender
	p.changeSender = func(o *SenderOptions) {
		changes(o)
		o.Reading = nil
	}
	if p.mustRun(false).Kept {
		t.Error("it is kept")
	}
	p.changeSender = changes
	p.mustRun(true)
	p.wantRead(0, 3*mebi)
}

// TestLaterWithoutDigests: if the digests of the pass before are missing or damaged, of another copy, or of another
// run of the kernel, the destination is read whole. The root is the same.
func TestLaterWithoutDigests(t *testing.T) {
	t.Parallel()
	own, _ := names("web-0.1")
	for name, between := range map[string]func(*pair){
		"removed":      func(p *pair) { treetest.In(p, p.destination).Must(os.Remove(p.destination + "/" + own)) },
		"damaged":      func(p *pair) { treetest.In(p, p.destination).File(own, []byte("sliceshift-index-3\n")) },
		"another copy": func(p *pair) { p.with(func(o *ReceiverOptions) { o.Copy = "web-0.2" }) },
		"other file system": func(p *pair) {
			p.with(func(o *ReceiverOptions) { o.Tree.FileSystem = "nfs" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provenLater(t)
			content := treetest.Bytes(1, 3*mebi)
			treetest.In(t, p.source).File("f", content)
			p.mustRun(false)
			between(p)
			content[5] ^= 1
			treetest.In(t, p.source).File("f", content)
			last := p.mustRun(true)
			if got := p.receiver.Counts.Verified.Load(); got != int64(len(content)) {
				t.Errorf("%d bytes were read back", got)
			}
			if whole, _ := sealed(t, p.source); whole.Root != last.Own.Root {
				t.Error("another root than the source")
			}
		})
	}
}

// TestLaterSizes: files that grow, shrink and get holes between two passes have the root of the source.
func TestLaterSizes(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	from := treetest.In(t, p.source)
	content := treetest.Bytes(3, 9*mebi)
	for _, name := range []string{"grows", "shrinks", "evenly", "holes", "tiny"} {
		from.File(name, content[:6*mebi+17])
	}
	p.mustRun(false)
	from.File("grows", content[:8*mebi+1])
	from.File("shrinks", content[:4*mebi+1])
	from.File("evenly", content[:4*mebi])
	from.Must(os.Remove(p.source + "/holes"))
	from.Sparse("holes", 6*mebi+17, map[int64][]byte{5 * mebi: content[:mebi]})
	from.File("tiny", content[:3])
	last := p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
	if whole, tally := sealed(t, p.source); whole.Root != last.Own.Root || tally != last.Tally {
		t.Error("another root or tally than the source")
	}
}

// TestLaterLocates: a source that differs from what was copied has another root, and the tallies name the first path
// and part, if the parts that differ are few.
func TestLaterLocates(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	from := treetest.In(t, p.source)
	content := treetest.Bytes(1, 5*mebi)
	from.File("a/base", content)
	for i := range 40 {
		from.File("many"+string(rune('A'+i)), treetest.Bytes(uint64(i), 100))
	}
	from.Age("a/base", 1000, 0)
	last := p.mustRun(true)
	damaged := bytes.Clone(content)
	damaged[3*mebi+9] ^= 1
	from.File("a/base", damaged)
	from.Age("a/base", 1000, 0) // a disk that returns other bytes
	whole, tally := sealed(t, p.source)
	if whole.Root == last.Own.Root {
		t.Fatal("the damage is not seen")
	}
	numbers, more := tally.Differing(last.Tally)
	path, what, err := Locate(t.Context(), openTree(t, p.source), numbers)
	if err != nil || more || path != "a/base" || what != "bytes 3145728 to 4194304 of 5242880" {
		t.Errorf("%q: %q, %v, %v", path, what, more, err)
	}
	for i := range 40 {
		from.File("many"+string(rune('A'+i)), treetest.Bytes(uint64(i+99), 100))
	}
	if _, tally := sealed(t, p.source); true {
		if _, more := tally.Differing(last.Tally); !more {
			t.Error("forty parts seem to be a few")
		}
	}
}

// TestLaterComparesAllButContent: what the destination cannot keep shows in the last pass, before an ordinal starts.
func TestLaterComparesAllButContent(t *testing.T) {
	t.Parallel()
	own := entry.Entry{Path: "f", Kind: entry.File, Size: 3, Mode: 0o600, Digest: [32]byte{1}}
	source := own
	source.Digest = [32]byte{}
	if what := differButContent(&source, &own); what != "" {
		t.Errorf("equal: %s", what)
	}
	source.Mode, source.Size = 0o640, 4
	if what := differButContent(&source, &own); !strings.Contains(what, "mode 0640 and 0600") || !strings.Contains(what, "size 4 and 3") {
		t.Errorf("got %q", what)
	}
}

// TestLaterChanges: where the source's storage tracks its changes, the sender reads nothing to find them.
func TestLaterChanges(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	content := treetest.Bytes(1, 8*mebi)
	from := treetest.In(t, p.source)
	from.File("f", content)
	p.mustRun(false)
	content[2*mebi] ^= 1
	from.File("f", content)
	asked := 0
	last := p.with(func(o *ReceiverOptions) {
		o.Changes = func(e *entry.Entry) ([]wire.Extent, bool) {
			asked++
			return []wire.Extent{{Offset: 2 * mebi, Length: 1}}, e.Path == "f"
		}
	}).mustRun(true)
	p.wantRead(mebi, 0)
	if whole, _ := sealed(t, p.source); asked != 1 || whole.Root != last.Own.Root {
		t.Errorf("asked %d times, root %x and %x", asked, whole.Root, last.Own.Root)
	}
}

// TestLaterDevice: of a device, each side is read once, for the delta, and what was written is read back.
func TestLaterDevice(t *testing.T) {
	const size = 9*mebi + 1536
	from, image := treetest.Loop(t, size)
	to, copied := treetest.Loop(t, size+mebi)
	content := treetest.Bytes(1, size)
	store := func() { treetest.In(t, "").Must(os.WriteFile(image, content, 0o600)) }
	pass := func() (*pair, Outcome) {
		p := newPair(t)
		p.pipes = newPipes()
		sends, receives := openDevice(t, from, false), openDevice(t, to, true)
		p.changeSender = func(o *SenderOptions) { o.Source, o.Sync, o.Device = sends, sends.Sync, true }
		p.changeReceiver = func(o *ReceiverOptions) { o.Tree, o.Device, o.Verify = nil, receives, VerifyLater }
		outcome, err := p.run(true)
		if err := errors.Join(err, sends.Close(), receives.Close()); err != nil {
			t.Fatal(err)
		}
		return p, outcome
	}
	store()
	pass()
	content[5*mebi] ^= 1
	store()
	p, outcome := pass()
	p.wantRead(size+mebi, size)
	if got := p.receiver.Counts.Received.Load(); got != 16<<10 {
		t.Errorf("%d bytes were sent for one that changed", got)
	}
	stored, err := os.ReadFile(copied)
	if err != nil || !bytes.Equal(stored[:size], content) {
		t.Errorf("the destination is not equal (%v)", err)
	}
	device, err := block.Open(from, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	if whole, err := Seal(t.Context(), device, device.Sync, tree.ListOptions{Settled: true}); err != nil || whole.Root != outcome.Own.Root {
		t.Errorf("another root than the source (%v)", err)
	}
}

// TestLaterBroken: a link that breaks again and again within a large file costs neither the result nor the root.
func TestLaterBroken(t *testing.T) {
	t.Parallel()
	p := provenLater(t)
	content := treetest.Bytes(1, 6*mebi)
	from := treetest.In(t, p.source)
	from.File("f", content)
	p.mustRun(false)
	for i := range content {
		content[i] ^= byte(i >> 12)
	}
	from.File("f", content)
	p.pipes.wrap = func(c net.Conn) net.Conn {
		budget := new(atomic.Int64)
		budget.Store(700 << 10)
		return cut{c, budget}
	}
	last := p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
	if whole, _ := sealed(t, p.source); whole.Root != last.Own.Root {
		t.Error("another root than the source")
	}
}
