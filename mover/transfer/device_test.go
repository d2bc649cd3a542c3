package transfer

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/block"
)

// TestDevice: a block device arrives equal on one that may be larger. The second time only changes are sent. On
// a smaller device nothing is written.
func TestDevice(t *testing.T) {
	const size = 9<<20 + 1536
	from, source := treetest.Loop(t, size)
	to, destination := treetest.Loop(t, size+4<<20)
	small, _ := treetest.Loop(t, 1<<20)
	content := treetest.Bytes(1, size)
	write := func() {
		t.Helper()
		if err := os.WriteFile(source, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	pass := func(path string) error {
		t.Helper()
		p := newPair(t)
		p.pipes = newPipes()
		sends, receives := openDevice(t, from, false), openDevice(t, path, true)
		p.changeSender = func(o *SenderOptions) { o.Source, o.Sync, o.Device = sends, sends.Sync, true }
		p.changeReceiver = func(o *ReceiverOptions) { o.Tree, o.Device = nil, receives }
		_, err := p.run(true)
		err = errors.Join(err, sends.Close(), receives.Close())
		if err != nil {
			return err
		}
		stored, err := os.ReadFile(destination)
		if err != nil || !bytes.Equal(stored[:size], content) {
			t.Errorf("the destination is not equal (%v)", err)
		}
		if got := p.receiver.Counts.Received.Load(); content[5<<20] == 'x' && got != 16<<10 {
			t.Errorf("%d bytes were sent for one that changed", got)
		}
		return nil
	}
	if err := pass(to); err != nil {
		t.Fatal(err)
	}
	content[5<<20] = 'x'
	write()
	if err := pass(to); err != nil {
		t.Fatal(err)
	}
	if err := pass(small); err == nil || !strings.Contains(err.Error(), "make the claim at least as large") {
		t.Errorf("got %v", err)
	}
}

func openDevice(t *testing.T, path string, write bool) *block.Device {
	t.Helper()
	device, err := block.Open(path, write)
	if err != nil {
		t.Fatal(err)
	}
	return device
}
