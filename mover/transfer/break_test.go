package transfer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
)

// modest creates a tree that needs each kind of request.
func modest(t testing.TB, root string) {
	to := treetest.In(t, root)
	to.File("large", treetest.Bytes(1, 300<<10))
	for i := range 30 {
		to.File(fmt.Sprintf("d%d/f%d", i%3, i), treetest.Bytes(uint64(i), 700))
	}
	to.Sparse("holes", 600<<10, map[int64][]byte{256 << 10: treetest.Bytes(9, 5000)})
	to.Age("", 1_000_000, 5)
}

// TestBreaks: a pass over a link whose first connections break after some number of bytes completes, for any
// number.
func TestBreaks(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	modest(t, p.source)
	step := 19_997
	if testing.Short() {
		step = 49999
	}
	for bytes := 1; bytes < 450<<10; bytes += step {
		t.Run(strconv.Itoa(bytes), func(t *testing.T) {
			t.Parallel()
			p := &pair{TB: t, source: p.source, destination: t.TempDir(), pipes: newPipes()}
			var left atomic.Int64
			left.Store(8)
			p.pipes.wrap = func(c net.Conn) net.Conn {
				if left.Add(-1) < 0 {
					return c
				}
				budget := new(atomic.Int64)
				budget.Store(int64(bytes))
				return cut{c, budget}
			}
			p.mustRun(true)
			treetest.Same(t, p.source, p.destination)
		})
	}
}

// TestAllBreak: a pass completes even if every connection breaks long before a piece of a large file is
// complete, and it sends little twice. The part of a piece that has arrived counts, whether the file was
// missing or is another one.
func TestAllBreak(t *testing.T) {
	t.Parallel()
	const size, each = piece + piece/2, 700 << 10
	for name, there := range map[string][]byte{"a new file": nil, "over another one": treetest.Bytes(8, size)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.pipes = newPipes()
			p.pipes.wrap = func(c net.Conn) net.Conn {
				budget := new(atomic.Int64)
				budget.Store(each)
				return cut{c, budget}
			}
			p.changeReceiver = func(o *ReceiverOptions) { o.Patience = 5 * time.Second }
			source := treetest.In(t, p.source)
			source.File("large", treetest.Bytes(7, size))
			source.Age("large", 1_000_000, 5) // files that were written in one tick of the clock would look alike
			if there != nil {
				treetest.In(t, p.destination).File("large", there)
			}
			p.mustRun(true)
			treetest.Same(t, p.source, p.destination)
			if twice := p.receiver.Counts.Received.Load() - size; twice > size/2 {
				t.Errorf("%d bytes of %d were received twice", twice, size)
			}
		})
	}
}

// TestKilled: if a receiver ends after any number of bytes, the next one continues from its files.
func TestKilled(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	modest(t, source)
	for bytes := 100; bytes < 300<<10; bytes += 37_777 {
		t.Run(strconv.Itoa(bytes), func(t *testing.T) {
			t.Parallel()
			p := &pair{TB: t, source: source, destination: t.TempDir(), pipes: newPipes()}
			ctx, kill := context.WithCancelCause(t.Context())
			dead := errors.New("killed")
			p.ctx = ctx
			budget := new(atomic.Int64)
			budget.Store(int64(bytes))
			p.pipes.wrap = func(c net.Conn) net.Conn { return killing{c, budget, func() { kill(dead) }} }
			if _, err := p.run(true); !errors.Is(err, context.Canceled) {
				t.Fatalf("it was not killed: %v", err)
			}
			p.ctx, p.pipes = nil, newPipes()
			p.mustRun(true)
			treetest.Same(t, p.source, p.destination)
		})
	}
}

// killing ends the whole receiver after some bytes.
type killing struct {
	net.Conn
	left *atomic.Int64
	kill func()
}

func (k killing) Read(p []byte) (int, error) {
	n, err := k.Conn.Read(p)
	if k.left.Add(int64(-n)) <= 0 {
		k.kill()
	}
	return n, err
}

// TestNotFromZero: if part of a large file has arrived, only the rest is sent.
func TestNotFromZero(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.pipes = newPipes()
	content := treetest.Bytes(1, 6<<20)
	treetest.In(t, p.source).File("large", content)
	treetest.In(t, p.destination).File("large", content[:4<<20])
	p.mustRun(true)
	if got := p.receiver.Counts.Received.Load(); got != 2<<20 {
		t.Errorf("%d bytes were received, and %d were missing", got, 2<<20)
	}
	treetest.Same(t, p.source, p.destination)
}

// TestDelta: if a file was changed in place, only the blocks that differ are sent.
func TestDelta(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.pipes = newPipes()
	content := treetest.Bytes(1, 5<<20+100)
	treetest.In(t, p.destination).File("large", content)
	treetest.In(t, p.destination).Age("large", 1000, 1) // both could be written within one tick of the kernel's clock
	changed := append([]byte{}, content...)
	for _, at := range []int{0, 16<<10 - 1, 2 << 20, 5<<20 + 99} {
		changed[at]++
	}
	treetest.In(t, p.source).File("large", changed)
	p.mustRun(true)
	const want = 2*16<<10 + 100
	if got := p.receiver.Counts.Received.Load(); got != want {
		t.Errorf("%d bytes were received, and the blocks that differ have %d", got, want)
	}
	treetest.Same(t, p.source, p.destination)
}
