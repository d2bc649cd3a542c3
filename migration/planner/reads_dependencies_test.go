package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// copying is a migration of four ordinals that copies dependencies; one ordinal has moved.
func copying() plan.Snapshot {
	side := func(start, replicas int32) plan.Side {
		return plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Fence: "uid.1", Start: start, Replicas: replicas}}
	}
	return plan.Snapshot{
		UID: "uid", Spec: plan.Spec{Order: api.HighestFirst, Dependencies: plan.DependencySpec{Copy: true}}, Source: side(0, 3), Destination: side(3, 1),
		Record: plan.Record{Baseline: &api.Baseline{Replicas: 4}, Fence: &api.Fence{Epoch: 1, Holder: "a", Direction: api.Forward}},
	}
}

// TestDependenciesAreReadAnew: dependencies are read before the first handoff, when the last ordinal has arrived,
// and before a hold is reported that may already be fixed.
func TestDependenciesAreReadAnew(t *testing.T) {
	begins := func(s plan.Snapshot) plan.Decision {
		record := s.Record
		record.Handoff = &api.Handoff{Ordinal: 2}
		return plan.Decision{Record: &record}
	}
	ends := func(s plan.Snapshot) plan.Decision {
		record := s.Record
		record.Completed = api.ReasonMoved
		return plan.Decision{Record: &record}
	}
	hold := func(reason string) func(plan.Snapshot) plan.Decision {
		return decided(plan.Decision{Hold: &plan.Hold{Reason: reason, Stalled: true}})
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		decide func(plan.Snapshot) plan.Decision
		want   bool
	}{
		"the first begins":        {func(s *plan.Snapshot) { s.Destination.Set.Replicas, s.Source.Set.Replicas = 0, 4 }, begins, true},
		"the second begins":       {nil, begins, false},
		"it ends":                 {nil, ends, true},
		"it ends, nothing copied": {func(s *plan.Snapshot) { s.Spec.Dependencies.Copy = false }, ends, false},
		"it ends on its way back": {func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }, ends, false},
		"it differs":              {nil, hold(api.ReasonDependencyDiffers), true},
		"one is missing":          {nil, hold(api.ReasonDependencyMissing), true},
		"one is, nothing copied":  {func(s *plan.Snapshot) { s.Spec.Dependencies.Copy = false }, hold(api.ReasonDependencyMissing), false},
		"a copy is written":       {nil, decided(plan.Decision{Effect: &plan.Effect{Verb: plan.UpdateCopy, Side: plan.DestinationSide}}), false},
		"a pod is waited for":     {nil, hold(api.ReasonPodNotReady), false},
	} {
		s := copying()
		if tc.change != nil {
			tc.change(&s)
		}
		decision := tc.decide(s)
		for kind, reads := range map[string]Reads{"all": For(s, decision), "lean": Lean(s, decision)} {
			if reads.Dependencies != tc.want {
				t.Errorf("%s, %s: %t", name, kind, reads.Dependencies)
			}
		}
	}
	if (Reads{Live: true, Wide: true}).Covers(Reads{Live: true, Dependencies: true}) || !(Reads{Live: true, Dependencies: true}).Covers(Reads{Live: true, Dependencies: true}) {
		t.Error("what was not read is taken for read")
	}
}
