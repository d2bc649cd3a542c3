package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestNoneMayGoNames: the hold of a budget that lets no replica be unavailable names the object that its author has to
// change: the source's, or the destination's once no replica is left at the source, by its present name if there is one.
func TestNoneMayGoNames(t *testing.T) {
	budget := func(replicas int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget = 0, &api.DisruptionBudget{Name: "recorded", MaxUnavailable: pdbtest.MaxUnavailable(0).MaxUnavailable}
			s.Source.Set.Replicas = replicas
		}
	}
	called := func(side func(*plan.Snapshot) *plan.Side, names ...string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			for _, name := range names {
				side(s).Budgets = append(side(s).Budgets, plan.Budget{Name: name})
			}
		}
	}
	source, destination := func(s *plan.Snapshot) *plan.Side { return &s.Source }, func(s *plan.Snapshot) *plan.Side { return &s.Destination }
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		// want is the cluster and the budget.
		want, patch string
	}{
		"some may go":                     {[]func(*plan.Snapshot){budget(2), func(s *plan.Snapshot) { s.Record.Baseline.Budget = 1 }}, "", ""},
		"no budget":                       {[]func(*plan.Snapshot){budget(2), func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget = nil }}, "", ""},
		"as it was recorded":              {[]func(*plan.Snapshot){budget(2)}, "shop/recorded in cluster east", "pdb -n shop recorded"},
		"as it is called now":             {[]func(*plan.Snapshot){budget(2), called(source, "present")}, "shop/present in cluster east", "pdb -n shop present"},
		"two are there":                   {[]func(*plan.Snapshot){budget(2), called(source, "one", "two")}, "shop/recorded in cluster east", "pdb -n shop recorded"},
		"one replica is left":             {[]func(*plan.Snapshot){budget(1), called(destination, "there")}, "shop/recorded in cluster east", "pdb -n shop recorded"},
		"all have moved":                  {[]func(*plan.Snapshot){budget(0), called(source, "here"), called(destination, "there")}, "shop/there in cluster west", "pdb -n shop there"},
		"all have moved in one namespace": {[]func(*plan.Snapshot){budget(0), called(source, "here"), func(s *plan.Snapshot) { s.Spec.SameNamespace = true }}, "shop/here in cluster east", "pdb -n shop here"},
	} {
		hold := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.changes {
				change(s)
			}
		}).gates.noneMayGo()
		switch {
		case tc.want == "" && hold != nil:
			t.Errorf("%s: %+v", name, hold)
		case tc.want != "" && (hold == nil || hold.Reason != api.ReasonBudgetZero || !hold.Stalled || !strings.Contains(hold.Message, tc.want+" allows 0 of 4 replicas") || !strings.Contains(hold.Remedy, tc.patch+" ")):
			t.Errorf("%s: %+v, want %q", name, hold, tc.want)
		}
	}
}
