package clusters

import (
	"context"
	"sync"

	"github.com/sliceshift/sliceshift/internal/clusters/lists"
)

// Allowance limits the memory for the answers of all clusters of one tenant: answers that are being read and used, and the
// contents of views. It is safe for concurrent use. A nil Allowance has no limit.
type Allowance struct {
	mu   sync.Mutex
	left int64
}

// NewAllowance returns an allowance of this many bytes. Sizes are estimated when answers are read.
func NewAllowance(bytes int64) *Allowance { return &Allowance{left: bytes} }

// take reserves n bytes, and reports whether they were available.
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

// give returns reserved bytes.
func (a *Allowance) give(n int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left += n
}

// tab is the amount that one holder has reserved from a room. If of is nil, there is no limit.
type tab struct {
	of room

	mu     sync.Mutex
	taken  int64
	closed bool
}

// take reserves n bytes, and reports whether they were available. It fails after close.
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

// clear returns all bytes.
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

// close returns all bytes and ends the tab. It returns the amount.
func (t *tab) close() (taken int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken, t.closed = t.taken, true
	t.giveBack(taken)
	t.taken = 0
	return taken
}

// holding holds the tabs of one reader, by room.
type holding struct {
	mu     sync.Mutex
	tabs   map[room]*tab
	closed bool
}

type holdingKey struct{}

// Hold charges all answers that are read under the returned context, until release is called. Readers keep the answers in
// memory until then.
func Hold(ctx context.Context) (holding context.Context, release func()) {
	h := newHolding()
	return context.WithValue(ctx, holdingKey{}, h), h.release
}

func newHolding() *holding { return &holding{tabs: map[room]*tab{}} }

// unheld returns a context whose reads are not charged to the holding of ctx.
func unheld(ctx context.Context) context.Context {
	return context.WithValue(ctx, holdingKey{}, (*holding)(nil))
}

// tabIn returns the tab of a room in the context's holding. found is false if the context has no holding. The tab is nil
// after the release of the holding.
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

// settle returns all bytes, like release, and returns the amount of each room.
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

// onNobody returns the Booking of shared lists of a cluster. A list has a holding of its own while it is read, and is
// charged to each waiting reader when it is complete.
func onNobody(cluster string) lists.Booking {
	return func(ctx context.Context) (context.Context, func() lists.Pay) {
		held := newHolding()
		return context.WithValue(ctx, holdingKey{}, held), func() lists.Pay {
			weights := held.settle()
			return func(ctx context.Context) error { return book(ctx, cluster, weights) }
		}
	}
}

// book charges data of a cluster that another reader has read to the holding of the context.
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
