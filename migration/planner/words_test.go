package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// written changes the form of a side's budget by its author, with or without the migration's mark.
func written(name plan.SideName, form pdb.Form, marked bool) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		b := &s.Side(name).Budgets[0]
		b.Wrote, b.Form, b.WrittenBy, b.Generation = b.Form.String(), form, "kubectl", b.Generation+1
		if !marked {
			b.Fence, b.Author = "", nil
		}
	}
}

// created creates a budget on a side by its author.
func created(name plan.SideName, called string, form pdb.Form) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		s.Side(name).Budgets = []plan.Budget{{Name: called, UID: "new", ResourceVersion: "1", Generation: 1, Form: form, WrittenBy: "kubectl", Observed: true}}
	}
}

// TestH2H3Heed: the form that the author wrote last is recorded before anything else, whatever it was before, or
// is refused with a remedy.
func TestH2H3Heed(t *testing.T) {
	none, goes := unbudgeted, func(s *plan.Snapshot) {
		s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2}
	}
	covers := func(name plan.SideName) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Side(name).Budgets[0].Covers = "other-0" }
	}
	asks := func(s *plan.Snapshot) { s.Spec.MaxUnavailable = pdbtest.MaxUnavailable(1).MaxUnavailable }
	first := func(s *plan.Snapshot) { s.Record.Baseline.DestinationBudget = nil }
	handedBack := func(s *plan.Snapshot) {
		written(plan.SourceSide, pdb.Unavailable(1), false)(s)
		s.Source.Budgets[0].HandedOver = true
	}
	for name, tc := range map[string]struct {
		changes but
		// budget is the recorded d, form and called the recorded form and name; otherwise the form is refused.
		budget  int32
		form    pdb.Form
		called  string
		refused string
	}{
		"created at the source":                     {changes: but{none, created(plan.SourceSide, "pdb", pdb.Unavailable(2))}, budget: 2, form: pdb.Unavailable(2), called: "pdb"},
		"created, with what must stay":              {changes: but{none, created(plan.SourceSide, "pdb", pdb.Available(3))}, budget: 1, form: pdb.Available(3), called: "pdb"},
		"created at the destination alone":          {changes: but{none, created(plan.DestinationSide, "pdb", pdb.Unavailable(2))}, refused: api.ReasonForeignBudget},
		"created on both sides":                     {changes: but{none, created(plan.SourceSide, "pdb", pdb.Unavailable(2)), created(plan.DestinationSide, "pdb", pdb.Unavailable(2))}, budget: 2, form: pdb.Unavailable(2), called: "pdb"},
		"created on both sides, not the same":       {changes: but{none, created(plan.SourceSide, "pdb", pdb.Unavailable(2)), created(plan.DestinationSide, "pdb", pdb.Unavailable(1))}, refused: api.ReasonForeignBudget},
		"created, over pods of others":              {changes: but{none, created(plan.SourceSide, "pdb", pdb.Unavailable(2)), covers(plan.SourceSide)}, refused: api.ReasonBudgetCoversOthers},
		"lowered to 0, the mark left":               {changes: but{written(plan.SourceSide, pdb.Unavailable(0), true)}, form: pdb.Unavailable(0), called: "web"},
		"lowered to 0, the mark removed":            {changes: but{written(plan.SourceSide, pdb.Unavailable(0), false)}, form: pdb.Unavailable(0), called: "web"},
		"raised":                                    {changes: but{written(plan.SourceSide, pdb.Unavailable(3), true)}, budget: 3, form: pdb.Unavailable(3), called: "web"},
		"raised, and fewer are asked for":           {changes: but{asks, written(plan.SourceSide, pdb.Unavailable(3), true)}, budget: 1, form: pdb.Unavailable(3), called: "web"},
		"raised at the destination":                 {changes: but{written(plan.DestinationSide, pdb.Unavailable(3), true)}, budget: 3, form: pdb.Unavailable(3), called: "web"},
		"raised there, the source's handed back":    {changes: but{handedBack, written(plan.DestinationSide, pdb.Unavailable(3), true)}, budget: 3, form: pdb.Unavailable(3), called: "web"},
		"replaced by force":                         {changes: but{created(plan.SourceSide, "web", pdb.Unavailable(2))}, budget: 2, form: pdb.Unavailable(2), called: "web"},
		"renamed":                                   {changes: but{created(plan.SourceSide, "web2", pdb.Unavailable(1))}, budget: 1, form: pdb.Unavailable(1), called: "web2"},
		"renamed, with another form":                {changes: but{created(plan.SourceSide, "web2", pdb.Unavailable(2))}, budget: 2, form: pdb.Unavailable(2), called: "web2"},
		"the destination's first one is another":    {changes: but{first, created(plan.DestinationSide, "web", pdb.Unavailable(2))}, refused: api.ReasonForeignBudget},
		"created while an ordinal is down":          {changes: but{none, goes, created(plan.SourceSide, "pdb", pdb.Unavailable(2))}, budget: 2, form: pdb.Unavailable(2), called: "pdb"},
		"lowered while an ordinal is down":          {changes: but{goes, written(plan.SourceSide, pdb.Unavailable(0), true)}, form: pdb.Unavailable(0), called: "web"},
		"lowered in a pause":                        {changes: but{inMode(api.ModePause), written(plan.SourceSide, pdb.Unavailable(0), true)}, form: pdb.Unavailable(0), called: "web"},
		"lowered in a rollback":                     {changes: but{inMode(api.ModeRollback), written(plan.SourceSide, pdb.Unavailable(0), true)}, form: pdb.Unavailable(0), called: "web"},
		"lowered as the migration is being deleted": {changes: but{func(s *plan.Snapshot) { s.Deleting = true }, written(plan.SourceSide, pdb.Unavailable(0), true)}, form: pdb.Unavailable(0), called: "web"},
	} {
		p := midway(tc.changes...)
		got := p.foreign()
		if tc.refused != "" {
			if got == nil || got.Hold == nil || !got.Hold.Stalled || got.Hold.Reason != tc.refused || got.Hold.Remedy == "" {
				t.Errorf("%s: got %s, want to be refused by %s", name, inShort(got), tc.refused)
			}
			continue
		}
		if got == nil || got.Record == nil || got.Record.Baseline == nil {
			t.Errorf("%s: got %s", name, inShort(got))
			continue
		}
		p.Record = *got.Record
		if base := p.Record.Baseline; base.Budget != tc.budget || base.DisruptionBudget.Name != tc.called || !p.author().Equal(tc.form) {
			t.Errorf("%s: recorded %d and %+v", name, base.Budget, base.DisruptionBudget)
		}
		if again := p.foreign(); again != nil {
			t.Errorf("%s: it is not over: %s", name, inShort(again))
		}
	}
}

// TestH3RefusedWhileDown: an ordinal that is down is started before an unclear budget stalls the migration.
func TestH3RefusedWhileDown(t *testing.T) {
	p := midway(func(s *plan.Snapshot) {
		s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2}
		s.Source.Budgets[0].Covers = "other-0"
	}, written(plan.SourceSide, pdb.Unavailable(0), false))
	if got := p.foreign(); got != nil {
		t.Errorf("got %s", inShort(got))
	}
}

// TestH3NoneMayGo: no ordinal is stopped while the author allows none to be unavailable, in either direction.
func TestH3NoneMayGo(t *testing.T) {
	for mode, ordinal := range map[api.Mode]int32{api.ModeRun: 2, api.ModeRollback: 3} {
		p := midway(inMode(mode), func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget.MaxUnavailable = 0, pdbtest.MaxUnavailable(0).MaxUnavailable
		})
		hold := p.gate(ordinal)
		if hold == nil || hold.Reason != api.ReasonBudgetZero || !hold.Stalled || !strings.Contains(hold.Remedy, "kubectl") {
			t.Errorf("%s: got %+v", mode, hold)
		}
	}
}

// TestH3Curb: while an ordinal is down the budgets are lowered as the author requests, and never raised.
func TestH3Curb(t *testing.T) {
	down := func(budget int32) but {
		return but{func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget.MaxUnavailable = budget, pdbtest.MaxUnavailable(budget).MaxUnavailable
			s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2}
			s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = pdb.Available(1), pdb.Unavailable(0)
		}}
	}
	for budget, want := range map[int32]string{0: "SetBudget source web", 1: "SetBudget source web", 2: "", 3: ""} {
		if got := inShort(midway(down(budget)...).curb()); got != want {
			t.Errorf("d = %d: %q, want %q", budget, got, want)
		}
	}
}

// TestH3CurbOfAPodToCome: the pod of the stopped ordinal counts as one that stays while it exists, or while its
// controller has not observed the stop and may recreate it.
func TestH3CurbOfAPodToCome(t *testing.T) {
	lowered := func(s *plan.Snapshot) {
		s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget.MaxUnavailable = 1, pdbtest.MaxUnavailable(1).MaxUnavailable
		s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2}
		s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = pdb.Available(1), pdb.Unavailable(0)
	}
	there := func(s *plan.Snapshot) { s.Source.SetPod(runs(2)) }
	gone := func(s *plan.Snapshot) { s.Source.RemovePod(2) }
	unseen := func(s *plan.Snapshot) { s.Source.Set.Observed = false }
	for name, tc := range map[string]struct {
		changes but
		stay    int32
	}{
		"it is gone":                     {but{lowered, gone}, 2},
		"it is there":                    {but{lowered, there}, 3},
		"its controller is behind":       {but{lowered, gone, unseen}, 3},
		"it is there, and that one also": {but{lowered, there, unseen}, 3},
	} {
		got := midway(tc.changes...).curb()
		if got == nil || got.Effect == nil || !got.Effect.Form.Equal(pdb.Available(tc.stay)) {
			t.Errorf("%s: got %s, want that %d stay", name, inShort(got), tc.stay)
		}
	}
}
