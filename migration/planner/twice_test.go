package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestH9TakeStartBack: for a set without claims, the migration undoes its own last start if another writer has
// started the same ordinal. It does so as soon as that costs no replica (I1, I4, I5). It records that first, and
// reverts no other writer's change (I9).
func TestH9TakeStartBack(t *testing.T) {
	scaled := func(s *plan.Snapshot) { // the source owns 0 to 2, the destination 2 and 3
		s.Source.Set.Replicas, s.Source.Set.ScalesBy = 3, "hpa"
		s.Source.SetPod(runs(2))
	}
	onItsWay := func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 2} }
	recorded := func(s *plan.Snapshot) { s.Record.StartWithdrawn = &api.StartWithdrawn{Ordinal: 2, By: "hpa"} }
	lowest := func(s *plan.Snapshot) {
		s.Spec.Order = api.LowestFirst
		s.Source.Set, s.Destination.Set = halfOf("s", 2), halfOf("d", 0)
		s.Source.Pods, s.Destination.Pods = []plan.Pod{runs(2), runs(3)}, []plan.Pod{runs(0), runs(1)}
		s.Source.Set.Start, s.Source.Set.Replicas, s.Source.Set.ScalesBy = 1, 3, "hpa"
		s.Source.SetPod(runs(1))
	}
	for name, tc := range map[string]struct {
		change but
		want   string
	}{
		"nothing is wrong":                   {nil, ""},
		"it is recorded first":               {but{scaled}, "something else"},
		"then it is taken back":              {but{scaled, recorded}, "ScaleDown destination web d1"},
		"the lowest first":                   {but{lowest, func(s *plan.Snapshot) { s.Record.StartWithdrawn = &api.StartWithdrawn{Ordinal: 1} }}, "ScaleDown destination web d1"},
		"the other pod is not available":     {but{scaled, recorded, func(s *plan.Snapshot) { s.Source.RemovePod(2) }}, api.ReasonForeignScale},
		"nor is it, of the one on its way":   {but{scaled, recorded, onItsWay, func(s *plan.Snapshot) { s.Source.RemovePod(2) }}, "ScaleDown destination web d1"},
		"claims keep them apart":             {but{scaled, recorded, func(s *plan.Snapshot) { s.Source.Set.Templates = []string{"data"} }}, api.ReasonForeignScale},
		"the other writer is not known":      {but{scaled, recorded, func(s *plan.Snapshot) { s.Source.Set.ScalesBy = "" }}, api.ReasonForeignScale},
		"the destination was scaled as well": {but{scaled, recorded, func(s *plan.Snapshot) { s.Destination.Set.ScalesBy = "hpa" }}, api.ReasonForeignScale},
		"it was there before the migration":  {but{scaled, recorded, func(s *plan.Snapshot) { s.Record.Baseline.DestinationReplicas = 2 }}, api.ReasonForeignScale},
		"the migration is being deleted":     {but{scaled, recorded, func(s *plan.Snapshot) { s.Deleting = true }}, api.ReasonForeignScale},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.change {
				change(s)
			}
		})
		if got := does(p.foreignSets()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := halfway(recorded)
	if got := heldBy(p.gate(1)); got != api.ReasonForeignScale+" east" {
		t.Errorf("the next one: %q", got)
	}
	p = halfway(func(s *plan.Snapshot) { recorded(s); s.Spec.Mode = api.ModePause })
	if got := (turnPlanner{p.View}).forget(); got == nil || got.Record.StartWithdrawn != nil {
		t.Errorf("a pause: %+v", got)
	}
}

// TestH9NextHandoffEnds: an ordinal's handoff is recorded, and another writer restarts the previous ordinal at the
// giver. The recorded ordinal is then not at the end of the giver's slice. A stop would stop another ordinal, so
// the handoff ends (I1, I9).
func TestH9NextHandoffEnds(t *testing.T) {
	p := halfway(func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 0} }) // the source owns 0 and 1, and 1 is next
	if got := handoffOf(p.View).way(0, atGiver); got.Record == nil || got.Record.Handoff != nil {
		t.Errorf("got %+v", got)
	}
	p = halfway(func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 1} })
	if got := handoffOf(p.View).way(1, atGiver); got.Record != nil && got.Record.Handoff == nil {
		t.Errorf("the next one ends: %+v", got)
	}
}
