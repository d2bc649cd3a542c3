package relay

import (
	"fmt"
	"sync"
)

// Bound limits the relays that run at once, for all migrations and for those of one namespace. Each relay uses
// memory and two connections through API servers. Relays for ordinals that run use at most half of the places,
// so that there is room for an ordinal that is down. A nil Bound has no limits.
type Bound struct {
	// Most and Namespace are the limits; 0 means none.
	Most, Namespace int

	mu      sync.Mutex
	taken   map[string]places
	total   places
	waiting map[*Set]struct{}
}

// places counts the running relays, and those among them for ordinals that run.
type places struct{ all, ahead int }

// take takes a place for a relay. If a limit is reached, it returns that limit; otherwise it returns an empty
// string.
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

// leave gives a place back, and notifies the sets that wait for one.
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

// forget removes a set from those that wait.
func (b *Bound) forget(s *Set) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, s)
}
