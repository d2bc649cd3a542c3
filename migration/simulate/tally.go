package simulate

import (
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// tally tracks the unavailable ordinals of the two slices by changes, because a dry run of thousands of ordinals must
// not check all of them in each step. Time only increases in a dry run, so an available pod stays available until
// it is changed.
type tally map[plan.SideName]*sideTally

type sideTally struct {
	// begin and end bound the slice, and minReady is its minReadySeconds, at the time when doubtful was computed.
	begin, end int32
	minReady   time.Duration
	// doubtful lists the ordinals that were not available or have changed since, ascending.
	doubtful []int32
	// rests is true when the controller has nothing to do for the range in restsAt.
	rests   bool
	restsAt Controller
}

func newTally(w *World) tally {
	t := tally{}
	for _, name := range plan.SideNames {
		t[name] = &sideTally{minReady: w.State.Side(name).Set.MinReady}
	}
	return t
}

// touch records that the pod of an ordinal has changed. Only a dry run has a tally.
func (w *World) touch(name plan.SideName, ordinal int32) {
	if w.tally != nil {
		w.tally[name].rests = false
		w.tally[name].doubt(ordinal)
	}
}

func (t *sideTally) doubt(ordinal int32) {
	if at, found := slices.BinarySearch(t.doubtful, ordinal); !found {
		t.doubtful = slices.Insert(t.doubtful, at, ordinal)
	}
}

// unavailable returns the ordinals of a slice that are currently not available, ascending.
func (w *World) unavailable(name plan.SideName) []int32 {
	side, t := w.State.Side(name), w.tally[name]
	t.follow(side.Set)
	t.doubtful = slices.DeleteFunc(t.doubtful, func(ordinal int32) bool {
		pod, found := side.Pod(ordinal)
		return !side.Set.Has(ordinal) || found && pod.Available(w.State.Now, side.Set.MinReady)
	})
	return t.doubtful
}

// follow adds the ordinals that the slice has gained since to doubtful, and all ordinals if minReadySeconds has
// changed.
func (t *sideTally) follow(set plan.Set) {
	if set.MinReady != t.minReady {
		t.begin, t.end, t.minReady = 0, 0, set.MinReady
	}
	for ordinal := set.Start; ordinal < set.End(); ordinal++ {
		if t.begin <= ordinal && ordinal < t.end {
			ordinal = t.end - 1 // the ordinals in between are known
			continue
		}
		t.doubt(ordinal)
	}
	t.begin, t.end = set.Start, set.End()
}

// downs returns the ordinals of both slices that count as down; nil: they must be computed, as after a granted
// eviction.
func (w *World) downs() map[plan.SideName][]int32 {
	downs := map[plan.SideName][]int32{}
	for _, name := range plan.SideNames {
		for _, budget := range w.State.Side(name).Budgets {
			if len(budget.Disrupted) > 0 {
				return nil
			}
		}
		downs[name] = slices.Clone(w.unavailable(name))
	}
	return downs
}

// available returns how many replicas are available on both sides.
func available(w *World) int32 {
	var n int32
	for _, name := range plan.SideNames {
		if w.tally == nil {
			n += plan.Available(w.State.Now, *w.State.Side(name))
		} else {
			n += w.State.Side(name).Set.Replicas - int32(len(w.unavailable(name)))
		}
	}
	return n
}
