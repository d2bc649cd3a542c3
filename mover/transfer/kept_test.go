package transfer

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// changing returns a pair that uses Verify Changed, with a clock that is an hour ahead: nothing has changed for
// a minute.
func changing(t *testing.T) *pair {
	t.Helper()
	p := newPair(t)
	p.pipes = newPipes()
	scratch := t.TempDir()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	p.changeSender = func(o *SenderOptions) {
		o.Scratch, o.Now = scratch, later
		source := o.Source.(*tree.Tree)
		source.FileSystem = "ext4" // whatever holds the temporary folder
		o.Reading = func(now time.Time) differ.Reading { return source.Reading("web-0.1", "sender", now) }
	}
	p.changeReceiver = func(o *ReceiverOptions) {
		o.Copy, o.Now, o.Verify, o.Tree.FileSystem = "web-0.1", later, VerifyChanged, "ext4"
	}
	return p
}

// with changes the options of the receiver for the following passes.
func (p *pair) with(change func(*ReceiverOptions)) *pair {
	before := p.changeReceiver
	p.changeReceiver = func(o *ReceiverOptions) {
		before(o)
		change(o)
	}
	return p
}

func (p *pair) wantRead(own, peer int64) {
	p.Helper()
	if gotOwn, gotPeer := p.receiver.Counts.Verified.Load(), p.sender.Read.Load(); gotOwn != own || gotPeer != peer {
		p.Errorf("%d bytes were read at the destination and %d at the source, not %d and %d", gotOwn, gotPeer, own, peer)
	}
}

// TestVerifyChanged: after a warm pass that has read everything, the next one reads on both sides only later
// changes. The root of the last pass is that of a pass that reads everything, and no findings are left at the
// destination.
func TestVerifyChanged(t *testing.T) {
	t.Parallel()
	p := changing(t)
	from := treetest.In(t, p.source)
	for i := range 5 {
		from.File(fmt.Sprintf("f%d", i), treetest.Bytes(uint64(i), 1000))
	}
	first := p.mustRun(false)
	p.wantRead(5000, 5000)
	if !first.Kept || first.Own.Known != 5000 || first.Peer.Known != 5000 || p.sender.Listed() != nil {
		t.Errorf("%+v, %+v, %+v: a warm pass shows a root: %v", first, first.Own, first.Peer, p.sender.Listed())
	}
	from.File("f3", treetest.Bytes(9, 1001))
	p.mustRun(false)
	p.wantRead(1001, 1001)
	from.File("f4", treetest.Bytes(9, 1002))
	changed := p.mustRun(true)
	p.wantRead(1002, 1002)
	if changed.Own.Trusted != 4001 || changed.Peer.Trusted != 4001 || changed.Own.Root != changed.Peer.Root {
		t.Errorf("%+v and %+v", changed.Own, changed.Peer)
	}
	treetest.Same(t, p.source, p.destination)
	full := p.with(func(o *ReceiverOptions) { o.Verify = VerifyFull }).mustRun(true)
	if p.wantRead(5003, 5003); full.Own.Root != changed.Own.Root {
		t.Errorf("roots %x and %x", full.Own.Root, changed.Own.Root)
	}
}

// TestNothingKept: earlier findings do not count if they are of another copy, if a pass in between kept none,
// if one half is missing, or if they are damaged. Both sides are then read in full.
func TestNothingKept(t *testing.T) {
	t.Parallel()
	own, peer := names("web-0.1")
	for name, between := range map[string]func(*pair){
		"another copy": func(p *pair) {
			p.with(func(o *ReceiverOptions) { o.Copy = "web-0.2" })
		},
		"a pass that kept nothing": func(p *pair) {
			changes := p.changeReceiver
			p.with(func(o *ReceiverOptions) { o.Verify = VerifyNone }).mustRun(false)
			p.changeReceiver = changes
		},
		"the sender's half is gone": func(p *pair) { treetest.In(p, p.destination).Must(os.Remove(p.destination + "/" + peer)) },
		"the receiver's is gone":    func(p *pair) { treetest.In(p, p.destination).Must(os.Remove(p.destination + "/" + own)) },
		"the source has that name": func(p *pair) {
			changes := p.changeReceiver
			treetest.In(p, p.source).File(own, nil)
			treetest.In(p, p.source).File(peer, nil)
			if p.mustRun(false).Kept {
				p.Error("it was kept in place of a file of the source's")
			}
			p.changeReceiver = changes
		},
		"both halves are the sender's": func(p *pair) {
			content, err := os.ReadFile(p.destination + "/" + peer)
			treetest.In(p, p.destination).Must(err)
			treetest.In(p, p.destination).File(own, content)
			p.changeSender = nil // it has no folder to keep it in either
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := changing(t)
			treetest.In(t, p.source).File("file", treetest.Bytes(1, 5000))
			if !p.mustRun(false).Kept {
				t.Fatal("nothing was kept")
			}
			between(p)
			p.TB = t
			p.mustRun(true)
			p.wantRead(5000, 5000)
			treetest.Same(t, p.source, p.destination)
		})
	}
}

// TestUntrusted: a side with a file system whose times do not reflect every write is read in full, and nothing
// is kept.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"nfs", "fuse", "overlay", "tmpfs"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			p := changing(t)
			treetest.In(t, p.source).File("file", treetest.Bytes(1, 5000))
			changes := p.changeSender
			p.changeSender = func(o *SenderOptions) {
				changes(o)
				o.Source.(*tree.Tree).FileSystem = system
			}
			if p.mustRun(false).Kept {
				t.Error("it is kept")
			}
			p.mustRun(true)
			p.wantRead(5000, 5000)
		})
	}
}

// TestWarmProofWhileWritten: a change while a warm pass reads is no error, and is read in the last pass.
func TestWarmProofWhileWritten(t *testing.T) {
	t.Parallel()
	p := changing(t)
	from := treetest.In(t, p.source)
	from.File("file", treetest.Bytes(1, 5000))
	from.File("other", treetest.Bytes(2, 100))
	changes := p.changeSender
	p.changeSender = func(o *SenderOptions) {
		changes(o)
		sync := o.Sync
		o.Sync = func() error { // the copy is complete, and its proof begins
			from.File("file", treetest.Bytes(3, 6000))
			from.File("new", treetest.Bytes(4, 10))
			return sync()
		}
	}
	if !p.mustRun(false).Kept {
		t.Error("it is not kept")
	}
	p.changeSender = changes
	p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
}

// TestImpatientSender: a sender does not give up a receiver that still reads its own side for longer than the
// sender's patience.
func TestImpatientSender(t *testing.T) {
	t.Parallel()
	p := changing(t)
	treetest.In(t, p.source).File("file", treetest.Bytes(1, 5000))
	const patience = 200 * time.Millisecond
	changes := p.changeSender
	p.changeSender = func(o *SenderOptions) {
		changes(o)
		o.Patience = patience
	}
	p.with(func(o *ReceiverOptions) {
		now, begun := o.Now, time.Time{}
		o.Now = func() time.Time { // its own list begins, and takes its time
			if begun.IsZero() {
				begun = time.Now()
			}
			treetest.WaitUntil(t, func() bool { return time.Since(begun) > 5*patience })
			return now()
		}
	})
	if !p.mustRun(false).Kept {
		t.Error("nothing was kept")
	}
}
