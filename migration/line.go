package migration

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// linePause is how long a Migration in line does not say again where it stands.
const linePause = 10 * time.Second

// line bounds how many Migrations to one destination are active at once. Those that have not begun
// wait for a place in the order of their creation. One that has begun never waits, and takes a place
// all the same. It is not safe for concurrent use.
type line struct {
	// most is the bound; 0: there is none.
	most   int
	places map[types.NamespacedName]*place
	// lanes are by destination.
	lanes map[string]*lane
}

// lane is what leads to one destination.
type lane struct {
	active int
	// waiting are in the order of their creation.
	waiting []*place
}

// ticket is who wants to move, and where to.
type ticket struct {
	who         types.NamespacedName
	uid         types.UID
	generation  int64
	created     time.Time
	destination string
}

// place is that of a Migration which is active or waits.
type place struct {
	ticket
	active bool
	// called is true once it was told that it need not wait any more.
	called bool
	// told is when it last said where it stands.
	told time.Time
}

// calls are those who need not wait any more: each is to be looked at again.
type calls []types.NamespacedName

func newLine(most int) *line {
	return &line{most: most, places: map[types.NamespacedName]*place{}, lanes: map[string]*lane{}}
}

// known is where a Migration leads that has not changed since it came.
func (l *line) known(t ticket) (destination string, active, found bool) {
	p := l.places[t.who]
	if p == nil || p.uid != t.uid || p.generation != t.generation {
		return "", false, false
	}
	return p.destination, p.active, true
}

// ask is for one that has not begun: it gets a place, or waits for one if it stays.
func (l *line) ask(t ticket, stays bool) (spot, calls) {
	p, called := l.admit(t)
	at := l.lanes[p.destination]
	if p.active {
		return spot{}, nil
	}
	i := at.find(p)
	if i < l.free(at) {
		l.activate(p)
		return spot{}, called
	}
	found := spot{nth: i + 1, waiting: len(at.waiting), active: at.active, most: l.most}
	if !stays {
		l.leave(t.who)
	}
	return found, called
}

// begun is for one that has: it does not wait, whatever the bound.
func (l *line) begun(t ticket) calls {
	p, called := l.admit(t)
	if !p.active {
		l.activate(p)
	}
	return called
}

// activate gives a place to one that waits. Whom it was free for before may have to wait again.
func (l *line) activate(p *place) {
	at := l.lanes[p.destination]
	i := at.find(p)
	at.waiting = slices.Delete(at.waiting, i, i+1)
	p.active = true
	at.active++
	l.call(at)
}

// leave is for one that neither moves nor waits for a place; it may be gone already.
func (l *line) leave(who types.NamespacedName) calls {
	p := l.places[who]
	if p == nil {
		return nil
	}
	delete(l.places, who)
	at := l.lanes[p.destination]
	if p.active {
		at.active--
	} else {
		i := at.find(p)
		at.waiting = slices.Delete(at.waiting, i, i+1)
	}
	if at.active == 0 && len(at.waiting) == 0 {
		delete(l.lanes, p.destination)
	}
	return l.call(at)
}

// tell is how much longer somebody in line does not say again where it stands; 0: it does so now.
func (l *line) tell(who types.NamespacedName, now time.Time) time.Duration {
	p := l.places[who]
	if p == nil {
		return 0
	}
	if left := p.told.Add(linePause).Sub(now); left > 0 {
		return left
	}
	p.told = now
	return 0
}

// admit makes a Migration known at its destination. One that is new there waits.
func (l *line) admit(t ticket) (*place, calls) {
	var called calls
	p := l.places[t.who]
	if p != nil && (p.uid != t.uid || p.destination != t.destination) {
		called, p = l.leave(t.who), nil
	}
	if p != nil {
		p.generation = t.generation
		return p, nil
	}
	p = &place{ticket: t}
	at := l.lanes[t.destination]
	if at == nil {
		at = &lane{}
		l.lanes[t.destination] = at
	}
	l.places[t.who] = p
	at.waiting = slices.Insert(at.waiting, at.find(p), p)
	return p, called
}

// free is how many places nobody has; below 0: so many have begun beyond the bound.
func (l *line) free(at *lane) int {
	if l.most == 0 {
		return len(at.waiting)
	}
	return l.most - at.active
}

// call is for the first in line whom a place is free for, each once.
func (l *line) call(at *lane) (called calls) {
	free := l.free(at)
	for i, p := range at.waiting {
		if i < free && !p.called {
			called = append(called, p.who)
		}
		p.called = i < free
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
