package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestNewWorld: the model begins with controllers that have observed its state, and no eviction is requested in
// it.
func TestNewWorld(t *testing.T) {
	s := plantest.Scenario{Replicas: 3, Start: 2, Budget: pdbtest.MaxUnavailable(1), Slices: true}.Build()
	s.Source.Budgets[0].Evictions = 2
	s.Source.Set.Rolls = plan.Rolls{Own: true, Shared: true, Share: 1}
	w := NewWorld(s)
	one := Cap{Set: true, Most: 1}
	if got, want := w.Controllers[plan.SourceSide], (Controller{Start: 2, Replicas: 3, Cap: one, CapObserved: one}); got != want {
		t.Errorf("the source acts on %+v", got)
	}
	if got := w.Controllers[plan.DestinationSide]; got != (Controller{}) {
		t.Errorf("the destination acts on %+v", got)
	}
	if !w.State.Source.Set.Rolls.Heeded || w.State.Destination.Set.Rolls.Heeded {
		t.Errorf("heeded at the source: %t, at the destination: %t", w.State.Source.Set.Rolls.Heeded, w.State.Destination.Set.Rolls.Heeded)
	}
	if got := w.State.Source.Budgets[0].Evictions; got != 0 {
		t.Errorf("%d evictions", got)
	}
	if s.Source.Set.Rolls.Heeded || s.Source.Budgets[0].Evictions != 2 {
		t.Errorf("what it was given has changed: %+v", s.Source)
	}
}

// TestSnapshotIsItsOwn: later changes of the model do not change an earlier snapshot.
func TestSnapshotIsItsOwn(t *testing.T) {
	w := NewWorld(plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{NameOrdinals: true}}.Build())
	seen, before := w.Snapshot(), w.Snapshot()
	w.State.Source.Pods[0].Ready, w.State.Source.Budgets[0].Name, w.State.Source.Names[0].Ordinal, w.State.Volumes[0].Template = false, "x", 9, "x"
	w.State.Destination.Names[0].Ordinal = 9
	if diff := cmp.Diff(before, seen); diff != "" {
		t.Errorf("-before +now\n%s", diff)
	}
	version, uid := w.NewVersion(), w.NewUID()
	if version == w.NewVersion() || uid == w.NewUID() {
		t.Error("two objects or versions are the same")
	}
}
