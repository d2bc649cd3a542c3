package engine

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/berths"
)

// ledger holds the resources that the current handoffs use, and the Migrations that wait for some of them. It
// is not safe for concurrent use. A nil ledger has no limits.
type ledger struct {
	most    berths.Limits
	berths  map[types.NamespacedName][]berths.Berth
	waiting map[types.NamespacedName]bool
}

func newLedger(most berths.Limits) *ledger {
	if most == (berths.Limits{}) {
		return nil
	}
	return &ledger{most: most, berths: map[types.NamespacedName][]berths.Berth{}, waiting: map[types.NamespacedName]bool{}}
}

// load returns the use by all other migrations; nil means no limits.
func (l *ledger) load(who types.NamespacedName) *berths.Load {
	if l == nil {
		return nil
	}
	load := &berths.Load{Limits: l.most, Others: make([]berths.Berth, 0, len(l.berths))}
	for migration, berth := range l.berths {
		if migration != who {
			load.Others = append(load.Others, berth...)
		}
	}
	return load
}

// take records a handoff that is about to begin, and the other ones of its migration. It returns false if a limit is
// reached.
func (l *ledger) take(b berths.Berth, beside ...berths.Berth) bool {
	if l == nil {
		return true
	}
	load := l.load(b.Migration)
	load.Others = append(load.Others, beside...)
	if !load.Fits(b) {
		return false
	}
	l.berths[b.Migration] = append(slices.Clone(beside), b)
	return true
}

// note records the handoffs of one migration that are already running, regardless of limits.
func (l *ledger) note(all ...berths.Berth) {
	if l != nil && len(all) > 0 {
		l.berths[all[0].Migration] = all
	}
}

// wait records that a Migration waits for a handoff to end.
func (l *ledger) wait(who types.NamespacedName) {
	if l != nil {
		l.waiting[who] = true
	}
}

// leave removes the handoff of a Migration, and returns the waiting Migrations to check again.
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
