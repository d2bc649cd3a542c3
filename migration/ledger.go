package migration

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/berths"
)

// ledger is what the handoffs use that are under way, and who waits until some is free. It is not safe for
// concurrent use. A nil one bounds nothing.
type ledger struct {
	most    berths.Limits
	berths  map[types.NamespacedName]berths.Berth
	waiting map[types.NamespacedName]bool
}

func newLedger(most berths.Limits) *ledger {
	if most == (berths.Limits{}) {
		return nil
	}
	return &ledger{most: most, berths: map[types.NamespacedName]berths.Berth{}, waiting: map[types.NamespacedName]bool{}}
}

// load is what others than one migration use; nil: nothing is bounded.
func (l *ledger) load(who types.NamespacedName) *berths.Load {
	if l == nil {
		return nil
	}
	load := &berths.Load{Limits: l.most}
	for migration, berth := range l.berths {
		if migration != who {
			load.Others = append(load.Others, berth)
		}
	}
	return load
}

// take notes a handoff that is to begin. It is false where that would be one too many.
func (l *ledger) take(b berths.Berth) bool {
	if l == nil {
		return true
	}
	if !l.load(b.Migration).Fits(b) {
		return false
	}
	l.berths[b.Migration] = b
	return true
}

// note is for a handoff that is under way, however many others are.
func (l *ledger) note(b berths.Berth) {
	if l != nil {
		l.berths[b.Migration] = b
	}
}

// wait is for who waits until some handoff has ended.
func (l *ledger) wait(who types.NamespacedName) {
	if l != nil {
		l.waiting[who] = true
	}
}

// leave is for who has no handoff under way. Whoever waits is to be looked at again.
func (l *ledger) leave(who types.NamespacedName) (called []types.NamespacedName) {
	if l == nil {
		return nil
	}
	if _, had := l.berths[who]; !had {
		return nil
	}
	delete(l.berths, who)
	called = slices.Collect(maps.Keys(l.waiting))
	clear(l.waiting)
	return called
}
