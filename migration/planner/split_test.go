package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
)

// staysSplit is a completed migration of half the ordinals, whose source gets the budget; both sides allow one
// replica to be unavailable.
func staysSplit(s *plan.Snapshot) {
	s.Record.Completed, s.Spec.SplitBudget = api.ReasonMoved, api.SplitBudgetSource
}

// sourceHasAll gives the whole budget to the source, and none to the destination.
func sourceHasAll(s *plan.Snapshot) {
	s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = pdb.Unavailable(2), pdb.Unavailable(0)
}

// TestHandOver: the budget of an application that stays split is given to the requested side; the budget that must
// shrink is written first (I4). Only a process that holds the fence writes it, while both budgets are its own.
// Otherwise the process acquires the fence first.
func TestHandOver(t *testing.T) {
	const fences = "something else"
	disengaged := func(s *plan.Snapshot) { s.Engaged = false }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the other side shrinks":       {nil, "SetBudget destination web db@3"},
		"then it grows":                {func(s *plan.Snapshot) { s.Destination.Budgets[0].Form = pdb.Unavailable(0) }, "SetBudget source web sb@3"},
		"it has all":                   {sourceHasAll, ""},
		"it has all, no fence held":    {plantest.InTurn(sourceHasAll, disengaged), ""},
		"as it is, and to roll back":   {plantest.InTurn(disengaged, func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }), ""},
		"it has all, and to roll back": {plantest.InTurn(sourceHasAll, func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }), ""},
		"in proportion":                {plantest.InTurn(sourceHasAll, func(s *plan.Snapshot) { s.Spec.SplitBudget = api.SplitBudgetProportional }), "SetBudget source web sb@3"},
		"it is deleted": {plantest.InTurn(sourceHasAll, func(s *plan.Snapshot) {
			s.Spec.SplitBudget, s.Deleting = api.SplitBudgetProportional, true
		}), ""},
		"it is not completed": {func(s *plan.Snapshot) { s.Record.Completed = "" }, ""},
		"it was let go":       {func(s *plan.Snapshot) { s.Record.Completed = api.ReasonReleased }, ""},
		"somebody has scaled": {func(s *plan.Snapshot) { s.Source.Set.Replicas = 3 }, ""},
		"all has moved":       {func(s *plan.Snapshot) { plantest.AllMoved(s); s.Source.Budgets = plantest.SharedOut("sb", 1) }, ""},
		"none has moved":      {func(s *plan.Snapshot) { plantest.Divide(s, 5); s.Destination.Budgets = plantest.SharedOut("db", 1) }, ""},
		"one has moved":       {func(s *plan.Snapshot) { s.Spec.Count = 1; plantest.Divide(s, 4) }, "SetBudget destination web db@3"},
		"a budget is another": {func(s *plan.Snapshot) { s.Source.Budgets[0].Fence = "another.1" }, ""},
		"no fence is held":    {disengaged, fences},
		"another process has": {func(s *plan.Snapshot) { s.Record.Fence.Holder = "b" }, fences},
	} {
		d := parted(plantest.InTurn(staysSplit, tc.change)).handOver()
		if got := does(d); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if tc.want == fences && d != nil && (d.Record == nil || d.Record.Fence.Epoch != 3 || d.Record.Fence.Holder != "a") {
			t.Errorf("%s: fenced by %+v", name, d)
		}
	}
}

// TestHoldsBudgets: both budgets belong to this migration if each side has one, under its fence and unedited, and
// no other migration has begun on either StatefulSet.
func TestHoldsBudgets(t *testing.T) {
	budget := func(change func(*plan.Budget)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(&s.Destination.Budgets[0]) }
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"both":                             {nil, true},
		"the StatefulSets are let go":      {func(s *plan.Snapshot) { s.Source.Set.Fence, s.Destination.Set.Fence = "", "" }, true},
		"another has begun on one":         {func(s *plan.Snapshot) { s.Destination.Set.Fence = "another.1" }, false},
		"another has begun on the source":  {func(s *plan.Snapshot) { s.Source.Set.Fence = "another.1" }, false},
		"one is gone":                      {func(s *plan.Snapshot) { s.Source.Budgets = nil }, false},
		"there are two":                    {func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, s.Source.Budgets...) }, false},
		"one is its author's":              {budget(func(b *plan.Budget) { b.Fence = "" }), false},
		"one is of another migration":      {budget(func(b *plan.Budget) { b.Fence = "another.1" }), false},
		"one of an older epoch":            {budget(func(b *plan.Budget) { b.Fence = "m.1" }), true},
		"somebody has edited one":          {budget(func(b *plan.Budget) { b.Wrote = "maxUnavailable 9" }), false},
		"one budget selects both slices":   {func(s *plan.Snapshot) { s.Spec.SameNamespace = true }, false},
		"another, and it is let go by now": {func(s *plan.Snapshot) { s.Source.Set.Fence, s.Source.Budgets[0].Fence = "", "another.1" }, false},
	} {
		if got := parted(tc.change).holdsBudgets(); got != tc.want {
			t.Errorf("%s: held %t", name, got)
		}
	}
}
