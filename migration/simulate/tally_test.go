package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/migration/internal/plantest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestTally: whatever happens in a world, its tally knows the ordinals that are not available, and its
// controllers do the same as those of a world that keeps none.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := plantest.Scenario{Replicas: 4, Start: 1, Ordered: rapid.Bool().Draw(t, "ordered")}.Build()
		s.Destination.Set.Presence = plan.Seen
		counting, looking := NewWorld(s), NewWorld(s)
		counting.tally = newTally(counting)
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			act := someEvent(t)
			if did, want := act(counting), act(looking); did != want {
				t.Fatalf("it did something: %t, want %t", did, want)
			}
			if diff := cmp.Diff(looking.State, counting.State); diff != "" {
				t.Fatalf("-without +with a tally\n%s", diff)
			}
			for _, name := range plan.SideNames {
				if got, want := counting.unavailable(name), looked(looking, name); !slices.Equal(got, want) {
					t.Fatalf("%s: %v are not available, want %v", name, got, want)
				}
			}
			if got, want := available(counting), available(looking); got != want {
				t.Fatalf("%d are available, want %d", got, want)
			}
		}
	})
}

// someEvent is something that may happen in a world; it tells whether it did.
func someEvent(t *rapid.T) func(*World) bool {
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "side")
	ordinal, n := rapid.Int32Range(0, 6).Draw(t, "ordinal"), rapid.Int32Range(0, 4).Draw(t, "n")
	return rapid.SampledFrom([]func(*World) bool{
		func(w *World) bool { return w.ControlSet(name) },
		func(w *World) bool { return w.Learn(name) },
		func(w *World) bool { return w.Ready(name, ordinal) },
		func(w *World) bool { return w.Gone(name, ordinal) },
		func(w *World) bool {
			set := &w.State.Side(name).Set
			set.Start, set.Replicas, set.Observed = ordinal, n, false
			return true
		},
		func(w *World) bool {
			w.State.Side(name).Set.MinReady = time.Duration(n) * time.Second
			return true
		},
		func(w *World) bool {
			w.State.Now = w.State.Now.Add(time.Duration(n) * time.Second)
			return true
		},
	}).Draw(t, "event")
}

func looked(w *World, name plan.SideName) []int32 {
	var down []int32
	side := w.State.Side(name)
	for ordinal := side.Set.Start; ordinal < side.Set.End(); ordinal++ {
		if pod, found := side.Pod(ordinal); !found || !pod.Available(w.State.Now, side.Set.MinReady) {
			down = append(down, ordinal)
		}
	}
	return down
}
