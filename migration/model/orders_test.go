package model

import (
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// A StatefulSet controller creates missing pods before it deletes those outside of its range. With Parallel, Kubernetes
// from 1.38 on does the opposite, and the version of a cluster may change during a move. In all explored worlds a
// controller may therefore take either order at any moment.

// TestY13BothOrders: there are states in which a controller creates while it could delete, and in which it deletes while
// it could create, also on a side that accepts no pods. The invariants hold in each (I1 to I9).
func TestY13BothOrders(t *testing.T) {
	for _, b := range []bound{
		{"3, pods", plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2)}, 1, kindsOfFault{fails, deleted, nodeLost, turns}, nil},
		{"3, slices, pods", plantest.Scenario{Replicas: 3, Slices: true, Ordered: true, Budget: pdbtest.MaxUnavailable(2)}, 1, kindsOfFault{deleted, turns}, nil},
		{"3, pods, and a side shuts", plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2)}, 2, kindsOfFault{closes, deleted}, nil},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			x := newExplorer(b)
			if wrong := x.explore(); wrong != nil {
				t.Fatal(x.story(wrong))
			}
			deleted := 0
			for _, state := range x.came {
				if state.from >= 0 && state.move.deed == acts && x.begin.steps[state.move.a].kind == deletes {
					deleted++
				}
			}
			if deleted == 0 {
				t.Errorf("no state of %d was reached by a controller that deletes before it creates", len(x.came))
			}
		})
	}
}

// TestY13ShutSide: the controller of a side that accepts no pods deletes the ones outside of its range if it deletes before
// it creates, and none otherwise.
func TestY13ShutSide(t *testing.T) {
	s := plantest.Scenario{Replicas: 3}.Build()
	for first, want := range map[bool]int{false: 2, true: 1} {
		m := newMachine(s)
		m.shut = plan.SourceSide
		m.State.Source.RemovePod(0)
		m.State.Source.Set.Replicas, m.State.Source.Set.Observed = 2, false
		m.settleAll(func(s step) bool { return s.kind != readies && (first || s.kind != deletes) }, func() {})
		if got := len(m.State.Source.Pods); got != want {
			t.Errorf("deletes first: %t: %d pods are left, want %d", first, got, want)
		}
	}
}
