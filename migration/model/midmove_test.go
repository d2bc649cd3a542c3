package model

import (
	"fmt"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestChangedInMidMove: a change that the preflight would have refused also holds the gate during the move. The
// wait ends with its cause.
func TestChangedInMidMove(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}
	for name, tc := range map[string]struct {
		change func(s *plan.Snapshot)
		reason string
		says   string
	}{
		"the source's template":             {func(s *plan.Snapshot) { s.Template = plan.TemplateChange{Fields: "spec.template.spec", Hash: "h"} }, api.ReasonDestinationDiffers, "spec.template.spec"},
		"the source's budget covers others": {func(s *plan.Snapshot) { s.Source.Budgets[0].Covers = "job-1" }, api.ReasonBudgetCoversOthers, "job-1"},
		"the destination's budget does":     {func(s *plan.Snapshot) { s.Destination.Budgets[0].Covers = "job-2" }, api.ReasonBudgetCoversOthers, "job-2"},
		"a slice is replaced at once": {func(s *plan.Snapshot) {
			s.Source.Set.RolledOut, s.Source.Set.Rolls.AllAtOnce = false, true
		}, api.ReasonRolloutInProgress, "Recreate"},
		"scale-downs delete claims": {func(s *plan.Snapshot) { s.Source.Set.DeletesClaims = true }, api.ReasonClaimsDeletedOnScale, "whenScaled: Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 2)
			tc.change(&y.State)
			y.version++
			y.writes(enough)
			hold := y.next().Hold
			if hold == nil || !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) || hold.Remedy == "" {
				t.Fatalf("got %+v, want to be stalled by %s and told %q", hold, tc.reason, tc.says)
			}
			y.State.Template = plan.TemplateChange{}
			for _, side := range []*plan.Side{&y.State.Source, &y.State.Destination} {
				side.Budgets[0].Covers, side.Set.DeletesClaims, side.Set.RolledOut = "", false, true
			}
			y.version++
			y.end()
		})
	}
}

// TestTemplateChangedOnTheWayBack: a changed template does not hold a rollback, which the user may request
// because of that template.
func TestTemplateChangedOnTheWayBack(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 2)
	y.State.Template = plan.TemplateChange{Fields: "spec.template.spec", Hash: "h"}
	y.State.Spec.Mode = api.ModeRollback
	y.version++
	y.until(plan.ScaleDown, 1)
}

// TestBudgetThatCannotBeMade: the source's budget is deleted before the destination has one, or its name is
// taken there. The migration stalls with that reason, but an ordinal that is down is started first.
func TestBudgetThatCannotBeMade(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)}
	for name, tc := range map[string]struct {
		change func(s *plan.Snapshot)
		says   string
	}{
		"gone":            {func(s *plan.Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil }, "does not exist any more"},
		"of another name": {func(s *plan.Snapshot) { s.Source.Budgets[0].Name = "another"; s.Destination.Budgets = nil }, "does not exist any more"},
		"its name is taken": {func(s *plan.Snapshot) {
			s.Destination.Budgets, s.Destination.OtherBudgets = nil, []string{s.Source.Budgets[0].Name}
		}, "has the name of the PodDisruptionBudget to create"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 2)
			tc.change(&y.State)
			s := y.p.through(y.Snapshot())
			s.Record = y.State.Record
			if hold := planner.Plan(s).Hold; hold == nil || !hold.Stalled || hold.Reason != api.ReasonForeignBudget || !strings.Contains(hold.Message, tc.says) {
				t.Errorf("got %+v, want to be stalled and told %q", hold, tc.says)
			}
			y = newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.pass(lands)
			tc.change(&y.State)
			y.version++
			y.until(plan.ScaleUp, 1)
		})
	}
}

// TestBudgetFollowsTheRollOut: between two handoffs, the slice with a rollout has the budget, because its
// controller evicts. A rollout of the destination once waited forever.
func TestBudgetFollowsTheRollOut(t *testing.T) {
	for moved := 1; moved < 3; moved++ {
		t.Run(fmt.Sprintf("%d of 3 moved", moved), func(t *testing.T) { budgetFollows(t, moved) })
	}
}

func budgetFollows(t *testing.T, moved int) {
	t.Helper()
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, moved+1)
	rollOut := func(source, destination bool) {
		y.State.Source.Set.RolledOut, y.State.Destination.Set.RolledOut = !source, !destination
		y.version++
		y.writes(enough)
		if hold := y.next().Hold; hold == nil || hold.Reason != api.ReasonRolloutInProgress {
			t.Fatalf("got %+v, want to wait for the roll-out", hold)
		}
	}
	allows := func(side plan.Side) int32 {
		allowed, err := pdb.Budget(side.Budgets[0].Form, side.Set.Replicas)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	for _, at := range []struct{ source, destination bool }{{true, true}, {false, true}, {true, false}} {
		rollOut(at.source, at.destination)
		have := pdb.Share{Source: allows(y.State.Source), Destination: allows(y.State.Destination)}
		want := pdb.Share{Source: 1}
		if !at.source {
			want = pdb.Share{Destination: 1}
		}
		if have != want {
			t.Errorf("rolling out at the source: %t, at the destination: %t: the budgets allow %+v, want %+v", at.source, at.destination, have, want)
		}
	}
	y.State.Source.Set.RolledOut, y.State.Destination.Set.RolledOut = true, true
	y.version++
	y.end()
}
