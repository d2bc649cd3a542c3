// Package queue says who of many Migrations is next: a Line, which of those that have not begun gets a place at its destination, and
// a Rota, which of a namespace is worked on.
package queue

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Pause is how long a Migration in line does not say again where it stands; with pace for each
// that waits where that is more: what all of a line say must not cost those who move.
const (
	Pause = 10 * time.Second
	pace  = time.Second
)

// Of those that are active, a few may start at once: between being let in and their baseline they read
// and write more than in a handoff, and the first stop of all would be as late as that of the last.
const (
	// startingPart of those that may be active may start at once; fewestStarting where that is less.
	startingPart   = 10
	fewestStarting = 4
	// startingAtMost is how long one counts as starting: who waits for somebody does not hold up the others.
	startingAtMost = 10 * time.Second
)

// Line bounds how many Migrations to one destination are active at once, and how many of these start.
// Those that have not begun wait for a place in the order of their creation, and no namespace gets more
// than its share: what is in one neither ends nor stalls when somebody there does not want it to. One that
// has begun never waits, and takes a place all the same. It is not safe for concurrent use.
type Line struct {
	// most is the bound; 0: there is none. share is how many of those are of one namespace at most.
	most, share int
	places      map[types.NamespacedName]*place
	// lanes are by destination.
	lanes map[string]*lane
}

// lane is what leads to one destination.
type lane struct {
	active int
	// of is how many of a namespace are active.
	of map[string]int
	// starting are those that were let in and have not begun, with when that was.
	starting map[*place]time.Time
	// waiting are in the order of their creation.
	waiting []*place
}

// Ticket is who wants to move, and where to.
type Ticket struct {
	who         types.NamespacedName
	uid         types.UID
	generation  int64
	created     time.Time
	destination string
}

// place is that of a Migration which is active or waits.
type place struct {
	Ticket
	active bool
	// called is true once it was told that it need not wait any more.
	called bool
	// told is when it last said where it stands.
	told time.Time
}

// NewLine returns one without anybody; most 0 bounds nothing.
func NewLine(most, share int) *Line {
	return &Line{most: most, share: max(1, share), places: map[types.NamespacedName]*place{}, lanes: map[string]*lane{}}
}

// TicketOf is that of a Migration to a destination.
func TicketOf(m *api.Migration, destination string) Ticket {
	return Ticket{who: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, uid: m.UID, generation: m.Generation, created: m.CreationTimestamp.Time, destination: destination}
}

// Bounded says whether anybody may have to wait.
func (l *Line) Bounded() bool { return l.most > 0 }

// Known is where a Migration leads that has not changed since it came.
func (l *Line) Known(t Ticket) (destination string, active, found bool) {
	p := l.places[t.who]
	if p == nil || p.uid != t.uid || p.generation != t.generation {
		return "", false, false
	}
	return p.destination, p.active, true
}

// Ask is for one that has not begun: it gets a place, or waits for one if it stays. Called are those who need not wait any
// more: each is to be looked at again. Who asks has the others called for whom a place has become free with time.
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

// spot is where one that waits stands, and what it waits for.
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
		if found.active, found.most = all+len(l.next(at, now)), most; of[in] >= share { // those that were called are about to start
			found.namespace, found.active, found.most = in, of[in], share
		}
	}
	return found
}

// Begun is for one that has: it does not wait, whatever the bound, and starts no more.
func (l *Line) Begun(t Ticket, now time.Time) (called []types.NamespacedName) {
	p, called := l.admit(t, now)
	if !p.active {
		return append(called, l.activate(p, now)...)
	}
	at := l.lanes[p.destination]
	delete(at.starting, p)
	return append(called, l.call(at, now)...)
}

// activate gives a place to one that waits. Whom it was free for before may have to wait again.
func (l *Line) activate(p *place, now time.Time) (called []types.NamespacedName) {
	at := l.lanes[p.destination]
	i := at.find(p)
	at.waiting = slices.Delete(at.waiting, i, i+1)
	p.active = true
	at.active++
	at.of[p.who.Namespace]++
	return l.call(at, now)
}

// Leave is for one that neither moves nor waits for a place; it may be gone already.
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

// Tell is how much longer somebody in line does not say again where it stands; 0: it does so now.
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

// admit makes a Migration known at its destination. One that is new there waits.
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

// next are those in line whom a place is free for.
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

// together is how many may start at once, of all and of one namespace.
func (l *Line) together() (most, share int) {
	most = max(fewestStarting, l.most/startingPart)
	return most, max(1, most*l.share/l.most)
}

// start counts who starts, of all and by namespace.
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

// call is for those in line whom a place is free for, each once.
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

// find is the index of who waits, or would if it did.
func (at *lane) find(p *place) int {
	i, _ := slices.BinarySearchFunc(at.waiting, p, (*place).order)
	return i
}

// order is that of creation.
func (p *place) order(other *place) int {
	return cmp.Or(p.created.Compare(other.created), cmp.Compare(p.who.Namespace, other.who.Namespace), cmp.Compare(p.who.Name, other.who.Name))
}
