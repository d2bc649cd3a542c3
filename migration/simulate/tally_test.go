package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestTally: for any events in a world, its tally has the unavailable ordinals, and its controllers do the same as
// those of a world without a tally.
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

// TestTallyOfAnotherMinReady: a slice with a larger or smaller minReadySeconds has all its pods checked again,
// although none has changed.
func TestTallyOfAnotherMinReady(t *testing.T) {
	w := NewWorld(plantest.Scenario{Replicas: 3, Start: 1}.Build())
	w.tally = newTally(w)
	set := &w.State.Source.Set
	for _, tc := range []struct {
		minReady time.Duration
		want     []int32
	}{{0, nil}, {time.Hour * 24 * 365 * 100, []int32{1, 2, 3}}, {0, nil}} {
		set.MinReady = tc.minReady
		if got := w.unavailable(plan.SourceSide); !slices.Equal(got, tc.want) {
			t.Errorf("minReadySeconds of %s: %v are not available, want %v", tc.minReady, got, tc.want)
		}
	}
}

// TestDowns: the known unavailable ordinals are returned for both slices, unless an eviction was granted and is
// not observed yet. Such a pod counts as down, and no tally includes it.
func TestDowns(t *testing.T) {
	for name, tc := range map[string]struct {
		disrupted map[plan.SideName][]string
		want      map[plan.SideName][]int32
	}{
		"nothing was granted":    {nil, map[plan.SideName][]int32{plan.SourceSide: {1}, plan.DestinationSide: nil}},
		"one at the source":      {map[plan.SideName][]string{plan.SourceSide: {"web-2"}}, nil},
		"one at the destination": {map[plan.SideName][]string{plan.DestinationSide: {"web-2"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Scenario{Replicas: 3}.Build()
			s.Source.Pods[1].Ready = false
			s.Destination.Set.Presence = plan.Seen
			for _, side := range plan.SideNames {
				s.Side(side).Budgets = []plan.Budget{{Name: "web", Disrupted: tc.disrupted[side]}}
			}
			w := NewWorld(s)
			w.tally = newTally(w)
			if diff := cmp.Diff(tc.want, w.downs(), cmpopts.EquateEmpty()); diff != "" || tc.want == nil != (w.downs() == nil) {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// someEvent returns a random event in a world, which reports whether it happened.
func someEvent(t *rapid.T) func(*World) bool {
	name := rapid.SampledFrom(plan.SideNames).Draw(t, "side")
	ordinal, n := rapid.Int32Range(0, 6).Draw(t, "ordinal"), rapid.Int32Range(0, 4).Draw(t, "n")
	return rapid.SampledFrom([]func(*World) bool{
		func(w *World) bool { return w.ControlSet(name) },
		func(w *World) bool { return w.DeleteFirst(name) },
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
