// Package queue chooses the next of many Migrations. A Line chooses which Migration that has not begun gets a slot
// at its destination. A Rota chooses which Migration of a namespace is reconciled.
package queue

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Pause is the minimal interval between two reports of a waiting Migration's position. With pace for each waiting
// Migration, it is longer for a long line: the reports must not slow down the active Migrations.
const (
	Pause = 10 * time.Second
	pace  = time.Second
)

// Limits of the active Migrations that start at once. Between admission and baseline, a Migration reads and writes
// more than in a handoff. Without a limit, the first stop of all would be as late as that of the last.
const (
	// startingPart is the divisor for how many of the active Migrations may start at once; fewestStarting is the
	// minimum.
	startingPart   = 10
	fewestStarting = 4
	// startingAtMost is how long a Migration counts as starting: one that waits for an external condition does not
	// hold up the others.
	startingAtMost = 10 * time.Second
)

// Line bounds how many Migrations to one destination are active at once, and how many of these start. Migrations
// that have not begun wait for a slot in the order of their creation. No namespace gets more than its share,
// because Migrations in it neither end nor stall if its users prevent it. A Migration that has begun never waits,
// and still occupies a slot. A Line is not safe for concurrent use.
type Line struct {
	// most is the bound; 0: there is none. share is the maximum for one namespace.
	most, share int
	places      map[types.NamespacedName]*place
	// lanes maps destinations to their lanes.
	lanes map[string]*lane
}

// lane holds the Migrations to one destination.
type lane struct {
	active int
	// of maps namespaces to the number of their active Migrations.
	of map[string]int
	// starting maps the Migrations that were admitted and have not begun to the time of their admission.
	starting map[*place]time.Time
	// waiting is ordered by creation.
	waiting []*place
}

// Ticket identifies a Migration and its destination.
type Ticket struct {
	who         types.NamespacedName
	uid         types.UID
	generation  int64
	created     time.Time
	destination string
}

// place is the entry of an active or waiting Migration.
type place struct {
	Ticket
	active bool
	// called is true once the Migration was notified that it need not wait any more.
	called bool
	// told is when its position was last reported.
	told time.Time
}

// NewLine returns an empty Line; with most 0 it has no bound.
func NewLine(most, share int) *Line {
	return &Line{most: most, share: max(1, share), places: map[types.NamespacedName]*place{}, lanes: map[string]*lane{}}
}

// TicketOf returns the ticket of a Migration to a destination.
func TicketOf(m *api.Migration, destination string) Ticket {
	return Ticket{who: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, uid: m.UID, generation: m.Generation, created: m.CreationTimestamp.Time, destination: destination}
}

// Bounded reports whether any Migration may have to wait.
func (l *Line) Bounded() bool { return l.most > 0 }

// Known returns the destination of a Migration whose generation has not changed since it was added.
func (l *Line) Known(t Ticket) (destination string, active, found bool) {
	p := l.places[t.who]
	if p == nil || p.uid != t.uid || p.generation != t.generation {
		return "", false, false
	}
	return p.destination, p.active, true
}

// Ask requests a slot for a Migration that has not begun. The Migration gets one, or waits for one if stays is
// true. called are the Migrations that need not wait any more: each must be reconciled. They include those for
// which a slot has become free over time.
func (l *Line) Ask(t Ticket, stays bool, now time.Time) (stands Spot, called []types.NamespacedName) {
	p, called := l.admit(t, now)
	at := l.lanes[p.destination]
	if p.active {
		return Spot{}, nil
	}
	if slices.Contains(l.next(at, now), p) {
		at.starting[p] = now
		return Spot{}, append(called, l.activate(p, now)...)
	}
	found := l.spot(at, p, now)
	if !stays {
		return found, append(called, l.Leave(t.who, now)...)
	}
	return found, append(called, l.call(at, now)...)
}

// spot returns the position of a waiting Migration, and the limit for which it waits.
func (l *Line) spot(at *lane, p *place, now time.Time) Spot {
	found := Spot{nth: at.find(p) + 1, waiting: len(at.waiting), active: at.active, most: l.most}
	switch in := p.who.Namespace; {
	case at.active >= l.most:
	case at.of[in] >= l.share:
		found.namespace, found.active, found.most = in, at.of[in], l.share
	default:
		found.starting = true
		all, of := at.start(now)
		most, share := l.together()
		if found.active, found.most = all+len(l.next(at, now)), most; of[in] >= share { // the Migrations that were called are about to start
			found.namespace, found.active, found.most = in, of[in], share
		}
	}
	return found
}

// Begun registers a Migration that has begun: it does not wait, whatever the bound, and no longer counts as
// starting.
func (l *Line) Begun(t Ticket, now time.Time) (called []types.NamespacedName) {
	p, called := l.admit(t, now)
	if !p.active {
		return append(called, l.activate(p, now)...)
	}
	at := l.lanes[p.destination]
	delete(at.starting, p)
	return append(called, l.call(at, now)...)
}

// activate gives a slot to a waiting Migration. A Migration for which the slot was free before may have to wait
// again.
func (l *Line) activate(p *place, now time.Time) (called []types.NamespacedName) {
	at := l.lanes[p.destination]
	i := at.find(p)
	at.waiting = slices.Delete(at.waiting, i, i+1)
	p.active = true
	at.active++
	at.of[p.who.Namespace]++
	return l.call(at, now)
}

// Leave removes a Migration that neither moves nor waits for a slot; it may already be absent.
func (l *Line) Leave(who types.NamespacedName, now time.Time) (called []types.NamespacedName) {
	p := l.places[who]
	if p == nil {
		return nil
	}
	delete(l.places, who)
	at := l.lanes[p.destination]
	if p.active {
		delete(at.starting, p)
		at.active--
		if at.of[who.Namespace]--; at.of[who.Namespace] == 0 {
			delete(at.of, who.Namespace)
		}
	} else {
		i := at.find(p)
		at.waiting = slices.Delete(at.waiting, i, i+1)
	}
	if at.active == 0 && len(at.waiting) == 0 {
		delete(l.lanes, p.destination)
	}
	return l.call(at, now)
}

// Tell returns how much longer the report of a waiting Migration's position is delayed; 0: report it now.
func (l *Line) Tell(who types.NamespacedName, now time.Time) time.Duration {
	p := l.places[who]
	if p == nil {
		return 0
	}
	pause := max(Pause, time.Duration(len(l.lanes[p.destination].waiting))*pace)
	if left := p.told.Add(pause).Sub(now); left > 0 {
		return left
	}
	p.told = now
	return 0
}

// admit adds a Migration to its destination. A new one waits.
func (l *Line) admit(t Ticket, now time.Time) (p *place, called []types.NamespacedName) {
	p = l.places[t.who]
	if p != nil && (p.uid != t.uid || p.destination != t.destination) {
		called, p = l.Leave(t.who, now), nil
	}
	if p != nil {
		p.generation = t.generation
		return p, nil
	}
	p = &place{Ticket: t}
	at := l.lanes[t.destination]
	if at == nil {
		at = &lane{of: map[string]int{}, starting: map[*place]time.Time{}}
		l.lanes[t.destination] = at
	}
	l.places[t.who] = p
	at.waiting = slices.Insert(at.waiting, at.find(p), p)
	return p, called
}

// next returns the waiting Migrations for which a slot is free.
func (l *Line) next(at *lane, now time.Time) []*place {
	if l.most == 0 {
		return at.waiting
	}
	starting, startingOf := at.start(now)
	most, share := l.together()
	var next []*place
	taken := map[string]int{}
	for _, p := range at.waiting {
		if at.active+len(next) >= l.most || starting+len(next) >= most {
			break
		}
		if in := p.who.Namespace; at.of[in]+taken[in] < l.share && startingOf[in]+taken[in] < share {
			taken[in]++
			next = append(next, p)
		}
	}
	return next
}

// together returns how many Migrations may start at once, in total and of one namespace.
func (l *Line) together() (most, share int) {
	most = max(fewestStarting, l.most/startingPart)
	return most, max(1, most*l.share/l.most)
}

// start counts the starting Migrations, in total and by namespace.
func (at *lane) start(now time.Time) (all int, of map[string]int) {
	of = map[string]int{}
	for p, since := range at.starting {
		if now.Sub(since) < startingAtMost {
			all++
			of[p.who.Namespace]++
		}
	}
	return all, of
}

// call returns the waiting Migrations for which a slot is free, each once.
func (l *Line) call(at *lane, now time.Time) (called []types.NamespacedName) {
	next := l.next(at, now)
	for _, p := range at.waiting {
		is := len(next) > 0 && next[0] == p
		if is {
			next = next[1:]
		}
		if is && !p.called {
			called = append(called, p.who)
		}
		p.called = is
	}
	return called
}

// find returns the index of a waiting Migration, or the index at which it would be inserted.
func (at *lane) find(p *place) int {
	i, _ := slices.BinarySearchFunc(at.waiting, p, (*place).order)
	return i
}

// order compares by creation time, then by namespace and name.
func (p *place) order(other *place) int {
	return cmp.Or(p.created.Compare(other.created), cmp.Compare(p.who.Namespace, other.who.Namespace), cmp.Compare(p.who.Name, other.who.Name))
}
