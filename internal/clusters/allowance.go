package clusters

import (
	"context"
	"sync"

	"github.com/sliceshift/sliceshift/internal/clusters/podlist"
)

// Allowance bounds what is held at once of all that the clusters of one tenant have answered:
// what is being read and decided on, and what views keep. It is safe for concurrent use; a nil
// one bounds nothing.
type Allowance struct {
	mu   sync.Mutex
	left int64
}

// NewAllowance is of so many bytes, as they are estimated when they are read.
func NewAllowance(bytes int64) *Allowance { return &Allowance{left: bytes} }

// take says whether there is room for so much more, and takes it.
func (a *Allowance) take(n int64) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.left {
		return false
	}
	a.left -= n
	return true
}

// give returns what was taken.
func (a *Allowance) give(n int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left += n
}

// tab is what one holder has taken of a room; nil: of none that is bounded.
type tab struct {
	of room

	mu     sync.Mutex
	taken  int64
	closed bool
}

// take says whether there is room, until the tab is closed.
func (t *tab) take(n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.of != nil && !t.of.take(n) {
		return false
	}
	t.taken += n
	return true
}

// give returns a part.
func (t *tab) give(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.taken -= n
		t.giveBack(n)
	}
}

// clear returns all.
func (t *tab) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveBack(t.taken)
	t.taken = 0
}

func (t *tab) giveBack(n int64) {
	if t.of != nil {
		t.of.give(n)
	}
}

// close returns all for good, and says how much it was.
func (t *tab) close() (taken int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken, t.closed = t.taken, true
	t.giveBack(taken)
	t.taken = 0
	return taken
}

// holding are the tabs of one who reads and decides, by what they are of.
type holding struct {
	mu     sync.Mutex
	tabs   map[room]*tab
	closed bool
}

type holdingKey struct{}

// Hold books what is read under the context that it returns until release is called: whoever
// reads keeps it so long.
func Hold(ctx context.Context) (holding context.Context, release func()) {
	h := newHolding()
	return context.WithValue(ctx, holdingKey{}, h), h.release
}

func newHolding() *holding { return &holding{tabs: map[room]*tab{}} }

// unheld is a context under which nothing is booked on whoever reads under this one.
func unheld(ctx context.Context) context.Context {
	return context.WithValue(ctx, holdingKey{}, (*holding)(nil))
}

// tabIn is the tab of a room of who reads under a context; nil when nobody does, or not
// any more.
func tabIn(ctx context.Context, of room) (t *tab, found bool) {
	h, _ := ctx.Value(holdingKey{}).(*holding)
	if h == nil {
		return nil, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, true
	}
	if h.tabs[of] == nil {
		h.tabs[of] = &tab{of: of}
	}
	return h.tabs[of], true
}

// settle returns all, as release does, and says how much it was of each room.
func (h *holding) settle() map[room]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	weights := make(map[room]int64, len(h.tabs))
	for of, t := range h.tabs {
		weights[of] = t.close()
	}
	return weights
}

// onNobody books what several wait for, of a cluster, on each of them once it has come.
func onNobody(cluster string) podlist.Booking {
	return func(ctx context.Context) (context.Context, func() podlist.Pay) {
		held := newHolding()
		return context.WithValue(ctx, holdingKey{}, held), func() podlist.Pay {
			weights := held.settle()
			return func(ctx context.Context) error { return book(ctx, cluster, weights) }
		}
	}
}

// book books what somebody else has read of a cluster on whoever reads under a context, as long as that one
// decides on it.
func book(ctx context.Context, cluster string, weights map[room]int64) error {
	for of, weight := range weights {
		if held, _ := tabIn(ctx, of); held != nil && !held.take(weight) {
			return tooMuch(cluster, "for one namespace")
		}
	}
	return nil
}

func (h *holding) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.tabs {
		t.close()
	}
}
