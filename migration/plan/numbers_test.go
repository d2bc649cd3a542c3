package plan

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestRangeIsBounded: a range of ordinals is one as long as nothing in it is negative, it is no longer than
// an application may be, and its end is a number, too.
func TestRangeIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		start, replicas int32
		want            bool
	}{
		"an application":          {3, 5, true},
		"an empty one":            {0, 0, true},
		"from a negative ordinal": {-1, 5, false},
		"of a negative number":    {3, -1, false},
		"the longest":             {0, MaxOrdinals, true},
		"one longer":              {0, MaxOrdinals + 1, false},
		"up to the last ordinal":  {math.MaxInt32 - 5, 5, true},
		"one beyond it":           {math.MaxInt32 - 4, 5, false},
		"both are too much":       {math.MaxInt32, math.MaxInt32, false},
		"both are negative":       {math.MinInt32, math.MinInt32, false},
	} {
		if got := bounded(tc.start, tc.replicas); got != tc.want {
			t.Errorf("%s: bounded %t", name, got)
		}
	}
}

// TestUnboundedIsFound: what nothing may be counted up to is found, and on which object it was written:
// either slice, the record, both slices together, or the claims of all ordinals.
func TestUnboundedIsFound(t *testing.T) {
	const source, destination, record = "StatefulSet shop/web in cluster east", "StatefulSet shop/web in cluster west", "Migration shop/move"
	base := func(change func(*api.Baseline)) func(*Snapshot) {
		return func(s *Snapshot) { change(s.Record.Baseline) }
	}
	claims := func(replicas int32, templates ...string) func(*Snapshot) {
		return func(s *Snapshot) { s.Record.Baseline.Replicas, s.Source.Set.Templates = replicas, templates }
	}
	fresh := func(s *Snapshot) { s.Record.Baseline, s.Source.Set.Templates = nil, nil }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		object string
	}{
		"an application":             {nil, ""},
		"one that has not begun":     {fresh, ""},
		"the source's slice":         {func(s *Snapshot) { s.Source.Set.Replicas = -1 }, source},
		"the destination's slice":    {func(s *Snapshot) { s.Destination.Set.Start = -1 }, destination},
		"the record":                 {base(func(b *api.Baseline) { b.Replicas = MaxOrdinals + 1 }), record},
		"of a negative number there": {base(func(b *api.Baseline) { b.DestinationReplicas = -1 }), record},
		"of one there":               {base(func(b *api.Baseline) { b.DestinationReplicas = 1 }), ""},
		"of all there":               {base(func(b *api.Baseline) { b.DestinationReplicas = 4 }), ""},
		"of more than all there":     {base(func(b *api.Baseline) { b.DestinationReplicas = 5 }), record},
		"both together": {inTurn(fresh, func(s *Snapshot) {
			s.Source.Set.Start, s.Source.Set.Replicas, s.Destination.Set.Replicas = 1, 2, MaxOrdinals
		}), source},
		"both, as many as there may be":  {inTurn(fresh, func(s *Snapshot) { s.Destination.Set.Replicas = MaxOrdinals - 2 }), ""},
		"as many claims as there may be": {claims(MaxClaims/3, "a", "b", "c"), ""},
		"one replica more":               {claims(MaxClaims/3+1, "a", "b", "c"), source},
		"one claim more":                 {claims(MaxClaims+1, "a"), source},
	} {
		p := parted(nil)
		if tc.change != nil {
			tc.change(&p.Snapshot)
		}
		got := p.Unbounded()
		switch {
		case tc.object == "" && got != nil:
			t.Errorf("%s: %+v", name, got)
		case tc.object != "" && (got == nil || got.Reason != api.ReasonOrdinalsUnbounded || got.Object != tc.object):
			t.Errorf("%s: %+v, want it of %s", name, got, tc.object)
		}
	}
}

// TestCountable: nothing goes on while the numbers are such that nothing may be counted up to them. A
// Migration that is being deleted lets go of what it has begun.
func TestCountable(t *testing.T) {
	tooMany := func(s *Snapshot) { s.Source.Set.Replicas = MaxOrdinals + 1 }
	deleting := func(s *Snapshot) { s.Deleting = true }
	fresh := func(s *Snapshot) { s.Record = Record{} }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"an application":               {nil, ""},
		"an application, and deleted":  {deleting, ""},
		"too many":                     {tooMany, api.ReasonOrdinalsUnbounded},
		"too many, not begun":          {inTurn(tooMany, fresh), api.ReasonOrdinalsUnbounded},
		"too many, not begun, deleted": {inTurn(tooMany, fresh, deleting), api.ReasonOrdinalsUnbounded},
	} {
		got := parted(tc.change).countable()
		if does(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, does(got), tc.want)
		}
		if got != nil && (!got.Hold.Stalled || len(got.Findings) != 1 || got.Findings[0].Reason != tc.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	p := parted(inTurn(tooMany, deleting))
	want := p.Record
	want.Completed = api.ReasonReleased
	if diff := cmp.Diff(&Decision{Record: &want}, p.countable()); diff != "" {
		t.Errorf("too many, and it is deleted: -want +got\n%s", diff)
	}
}
