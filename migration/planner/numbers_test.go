package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestCountable: nothing continues while the numbers are too large to iterate over. A Migration that is being
// deleted completes.
func TestCountable(t *testing.T) {
	tooMany := func(s *plan.Snapshot) { s.Source.Set.Replicas = plan.MaxOrdinals + 1 }
	deleting := func(s *plan.Snapshot) { s.Deleting = true }
	fresh := func(s *plan.Snapshot) { s.Record = plan.Record{} }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"an application":               {nil, ""},
		"an application, and deleted":  {deleting, ""},
		"too many":                     {tooMany, api.ReasonOrdinalsUnbounded},
		"too many, not begun":          {plantest.InTurn(tooMany, fresh), api.ReasonOrdinalsUnbounded},
		"too many, not begun, deleted": {plantest.InTurn(tooMany, fresh, deleting), api.ReasonOrdinalsUnbounded},
	} {
		got := parted(tc.change).countable()
		if does(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, does(got), tc.want)
		}
		if got != nil && (!got.Hold.Stalled || len(got.Findings) != 1 || got.Findings[0].Reason != tc.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	p := parted(plantest.InTurn(tooMany, deleting))
	want := p.Record
	want.Completed = api.ReasonReleased
	if diff := cmp.Diff(&plan.Decision{Record: &want}, p.countable()); diff != "" {
		t.Errorf("too many, and it is deleted: -want +got\n%s", diff)
	}
}
