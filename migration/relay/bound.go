package relay

import (
	"fmt"
	"sync"
)

// Bound is how many relays of all migrations run at once, and how many of those of one namespace. Each takes memory and
// two ways through API servers. Those for ordinals that run take half of the places at most, so that one that is down finds
// room. A nil Bound bounds nothing.
type Bound struct {
	// Most and Namespace are the bounds; 0: none.
	Most, Namespace int

	mu      sync.Mutex
	taken   map[string]places
	total   places
	waiting map[*Set]struct{}
}

// places are how many relays run, and how many of them are for ordinals that run.
type places struct{ all, ahead int }

// take takes a place for a relay. It returns which bound keeps it from that, or nothing.
func (b *Bound) take(s *Set, ahead bool) string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.taken[s.namespace]
	for _, bound := range []struct {
		most int
		now  places
		says string
	}{
		{b.Namespace, own, fmt.Sprintf("namespace %s may have %d relays (relaysPerNamespace), half of them for ordinals that run", s.namespace, b.Namespace)},
		{b.Most, b.total, fmt.Sprintf("%d relays may run (relays), half of them for ordinals that run", b.Most)},
	} {
		if bound.most > 0 && (bound.now.all >= bound.most || ahead && bound.now.ahead >= (bound.most+1)/2) {
			if b.waiting == nil {
				b.waiting = map[*Set]struct{}{}
			}
			b.waiting[s] = struct{}{}
			return bound.says
		}
	}
	b.add(s.namespace, 1, ahead)
	return ""
}

// leave gives a place back, and calls those who wait for one.
func (b *Bound) leave(s *Set, ahead bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.add(s.namespace, -1, ahead)
	called := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	for each := range called {
		if each.notify != nil {
			each.notify()
		}
	}
}

func (b *Bound) add(namespace string, n int, ahead bool) {
	if b.taken == nil {
		b.taken = map[string]places{}
	}
	own := b.taken[namespace]
	own.all, b.total.all = own.all+n, b.total.all+n
	if ahead {
		own.ahead, b.total.ahead = own.ahead+n, b.total.ahead+n
	}
	if b.taken[namespace] = own; own.all == 0 {
		delete(b.taken, namespace)
	}
}

// forget takes a set off those that wait.
func (b *Bound) forget(s *Set) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, s)
}
