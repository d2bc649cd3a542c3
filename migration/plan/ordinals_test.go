package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestSplit: two slices are one application when both own ordinals and their ranges are adjacent.
func TestSplit(t *testing.T) {
	unseen := func(s plan.Snapshot, name plan.SideName) plan.Snapshot {
		if name == plan.SourceSide {
			s.Source.Set.Presence = plan.Absent
		} else {
			s.Destination.Set.Presence = plan.Absent
		}
		return s
	}
	for name, tc := range map[string]struct {
		s    plan.Snapshot
		want bool
	}{
		"the destination above":            {plantest.SlicesOf(1, 2, 3, 2), true},
		"the destination below":            {plantest.SlicesOf(3, 2, 1, 2), true},
		"one ordinal each":                 {plantest.SlicesOf(1, 1, 2, 1), true},
		"one is between them":              {plantest.SlicesOf(1, 2, 4, 2), false},
		"both own one":                     {plantest.SlicesOf(1, 2, 2, 2), false},
		"both own all":                     {plantest.SlicesOf(1, 2, 1, 2), false},
		"the source has none":              {plantest.SlicesOf(3, 0, 3, 2), false},
		"the destination has none":         {plantest.SlicesOf(1, 2, 3, 0), false},
		"the source was not seen":          {unseen(plantest.SlicesOf(1, 2, 3, 2), plan.SourceSide), false},
		"the destination was not seen":     {unseen(plantest.SlicesOf(1, 2, 3, 2), plan.DestinationSide), false},
		"neither has one, and both are 0s": {plantest.SlicesOf(0, 0, 0, 0), false},
	} {
		if got := tc.s.Split(); got != tc.want {
			t.Errorf("%s: split %t", name, got)
		}
	}
}

// TestExtent: the application is the recorded range. Without a record it is the source's slice, joined with the
// destination's if they are adjacent.
func TestExtent(t *testing.T) {
	recorded := plantest.SlicesOf(1, 2, 3, 2)
	recorded.Record.Baseline = &api.Baseline{Start: 7, Replicas: 9}
	for name, tc := range map[string]struct {
		s               plan.Snapshot
		start, replicas int32
	}{
		"recorded":              {recorded, 7, 9},
		"the destination above": {plantest.SlicesOf(1, 2, 3, 3), 1, 5},
		"the destination below": {plantest.SlicesOf(3, 2, 0, 3), 0, 5},
		"the source's alone":    {plantest.SlicesOf(3, 2, 0, 1), 3, 2},
	} {
		if start, replicas := tc.s.Extent(); start != tc.start || replicas != tc.replicas {
			t.Errorf("%s: %s, want %s", name, plan.Span(start, replicas), plan.Span(tc.start, tc.replicas))
		}
	}
}

// TestOrdinalsToMove: only the ordinals at the end of the source at which the move begins are moved.
func TestOrdinalsToMove(t *testing.T) {
	for order, want := range map[api.Order][]int32{api.HighestFirst: {4, 5}, api.LowestFirst: {2, 3}} {
		s := plan.Snapshot{Spec: plan.Spec{Order: order, Count: 2}, Source: plan.Side{Set: plan.Set{Start: 2, Replicas: 4}}}
		var got []int32
		for ordinal := range int32(9) {
			if s.ToMove(ordinal) {
				got = append(got, ordinal)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("two of 2 to 5, %s: -want +got\n%s", order, diff)
		}
	}
}

// TestUnboundedIsFound: numbers that are too large to iterate over are reported with the object that has them:
// either slice, the record, both slices together, or the claims of all ordinals.
func TestUnboundedIsFound(t *testing.T) {
	const source, destination, record = "StatefulSet shop/web in cluster east", "StatefulSet shop/web in cluster west", "Migration shop/move"
	base := func(change func(*api.Baseline)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(s.Record.Baseline) }
	}
	claims := func(replicas int32, templates ...string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Baseline.Replicas, s.Source.Set.Templates = replicas, templates }
	}
	fresh := func(s *plan.Snapshot) { s.Record.Baseline, s.Source.Set.Templates = nil, nil }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		object string
	}{
		"an application":             {nil, ""},
		"one that has not begun":     {fresh, ""},
		"the source's slice":         {func(s *plan.Snapshot) { s.Source.Set.Replicas = -1 }, source},
		"the destination's slice":    {func(s *plan.Snapshot) { s.Destination.Set.Start = -1 }, destination},
		"the record":                 {base(func(b *api.Baseline) { b.Replicas = plan.MaxOrdinals + 1 }), record},
		"of a negative number there": {base(func(b *api.Baseline) { b.DestinationReplicas = -1 }), record},
		"of one there":               {base(func(b *api.Baseline) { b.DestinationReplicas = 1 }), ""},
		"of all there":               {base(func(b *api.Baseline) { b.DestinationReplicas = 4 }), ""},
		"of more than all there":     {base(func(b *api.Baseline) { b.DestinationReplicas = 5 }), record},
		"both together": {plantest.InTurn(fresh, func(s *plan.Snapshot) {
			s.Source.Set.Start, s.Source.Set.Replicas, s.Destination.Set.Replicas = 1, 2, plan.MaxOrdinals
		}), source},
		"both, as many as there may be":  {plantest.InTurn(fresh, func(s *plan.Snapshot) { s.Destination.Set.Replicas = plan.MaxOrdinals - 2 }), ""},
		"as many claims as there may be": {claims(plan.MaxClaims/3, "a", "b", "c"), ""},
		"one replica more":               {claims(plan.MaxClaims/3+1, "a", "b", "c"), source},
		"one claim more":                 {claims(plan.MaxClaims+1, "a"), source},
	} {
		s := plantest.Parted(tc.change)
		got := s.Unbounded()
		switch {
		case tc.object == "" && got != nil:
			t.Errorf("%s: %+v", name, got)
		case tc.object != "" && (got == nil || got.Reason != api.ReasonOrdinalsUnbounded || got.Object != tc.object):
			t.Errorf("%s: %+v, want it of %s", name, got, tc.object)
		}
	}
}
