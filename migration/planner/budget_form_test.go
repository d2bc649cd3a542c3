package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// changesBudget changes the budget of a side.
func changesBudget(name plan.SideName, change func(*plan.Budget)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { change(&s.Side(name).Budgets[0]) }
}

// asAuthored gives a budget its author's form.
func asAuthored(b *plan.Budget) { b.Form, b.Fence = *pdbtest.MaxUnavailable(2), "" }

// movedAll and movedNone make the destination own all ordinals, or none.
func movedAll(s *plan.Snapshot) {
	s.Source.Set.Replicas, s.Source.Pods = 0, nil
	s.Destination.Set.Start, s.Destination.Set.Replicas, s.Destination.Pods = 0, 4, []plan.Pod{runs(0), runs(1), runs(2), runs(3)}
}

func movedNone(s *plan.Snapshot) {
	s.Source.Set.Replicas, s.Source.Pods = 4, []plan.Pod{runs(0), runs(1), runs(2), runs(3)}
	s.Destination.Set.Start, s.Destination.Set.Replicas, s.Destination.Pods = 4, 0, nil
}

// TestSelected: a budget covers its side's replicas, and in one namespace those of both sides. The ordinal in
// flight does not count as unavailable.
func TestSelected(t *testing.T) {
	for name, tc := range map[string]struct {
		side           plan.SideName
		inFlight       int32
		changes        but
		replicas, down int32
	}{
		"the source's":                {plan.SourceSide, 0, nil, 2, 1},
		"the destination's":           {plan.DestinationSide, 0, but{down(2)}, 2, 2},
		"of three":                    {plan.SourceSide, 0, but{func(s *plan.Snapshot) { s.Source.Set.Replicas = 3 }}, 3, 2},
		"in flight":                   {plan.SourceSide, 1, but{flying(1)}, 2, 0},
		"in flight, another is down":  {plan.SourceSide, 1, but{flying(0)}, 2, 1},
		"it is in flight, and counts": {plan.SourceSide, 0, but{flying(1)}, 2, 1},
		"none is recorded":            {plan.SourceSide, 1, nil, 2, 1},
		"in one namespace":            {plan.SourceSide, 0, but{oneSpace}, 4, 2},
		"in one namespace, in flight": {plan.SourceSide, 1, but{oneSpace, flying(1)}, 4, 1},
	} {
		p := withBudgets(append(but{down(1, 3)}, tc.changes...)...)
		if replicas, unavailable := p.selected(tc.side, tc.inFlight); replicas != tc.replicas || unavailable != tc.down {
			t.Errorf("%s: %d of %d are down, want %d of %d", name, unavailable, replicas, tc.down, tc.replicas)
		}
	}
}

// TestAppliedAtTheSource: a budget's form determines its allowance, once its controller has confirmed it. It is
// exact when this epoch wrote it in the wanted form (I4).
func TestAppliedAtTheSource(t *testing.T) {
	with := func(change func(*plan.Budget)) but {
		return but{changesBudget(plan.SourceSide, change)}
	}
	form := func(f pdb.Form) but { return with(func(b *plan.Budget) { b.Form = f }) }
	gone := func(s *plan.Snapshot) { s.Source.Budgets = nil }
	right := pdb.Applied{Allows: 1, Exact: true, Confirmed: true}
	for name, tc := range map[string]struct {
		inFlight int32
		changes  but
		want     pdb.Applied
	}{
		"it is right":                         {0, nil, right},
		"one is down":                         {0, but{down(0)}, pdb.Applied{Allows: 1, Down: 1, Exact: true, Confirmed: true}},
		"of an older epoch":                   {0, with(func(b *plan.Budget) { b.Fence = "m.1" }), pdb.Applied{Allows: 1, Confirmed: true}},
		"nobody wrote it, and it is right":    {0, with(func(b *plan.Budget) { b.Fence = "" }), pdb.Applied{Allows: 1, Confirmed: true}},
		"in another form":                     {0, form(pdb.Available(1)), pdb.Applied{Allows: 1, Confirmed: true}},
		"the giver, in flight":                {1, append(form(pdb.Available(1)), flying(1)), right},
		"the giver, in flight, in no number":  {1, append(form(*pdbtest.MinAvailablePercent(50)), flying(1)), pdb.Applied{Allows: 1, Confirmed: true}},
		"the giver, in flight, not its form":  {1, but{flying(1)}, pdb.Applied{Allows: 1, Confirmed: true}},
		"more than the slice has now":         {0, form(pdb.Unavailable(3)), pdb.Applied{Allows: 3, Exact: true, Confirmed: true}},
		"more than that, not written":         {0, with(func(b *plan.Budget) { b.Form, b.Fence = pdb.Unavailable(3), "" }), pdb.Applied{Allows: 2, Confirmed: true}},
		"a percentage":                        {0, form(*pdbtest.MaxUnavailablePercent(50)), pdb.Applied{Allows: 1, Confirmed: true}},
		"no number allows all":                {0, form(pdb.Form{MaxUnavailable: pdbtest.Unparsable()}), pdb.Applied{Allows: 2, Confirmed: true}},
		"it has not been seen":                {0, with(func(b *plan.Budget) { b.Observed = false }), pdb.Applied{Allows: 1, Exact: true}},
		"as many evictions as it allows":      {0, with(func(b *plan.Budget) { b.Evictions = 1 }), right},
		"more evictions than it allows":       {0, with(func(b *plan.Budget) { b.Evictions = 2 }), pdb.Applied{Allows: 1, Exact: true}},
		"its author's":                        {0, with(asAuthored), pdb.Applied{Allows: 2, Confirmed: true}},
		"it is gone":                          {0, but{gone, down(0)}, pdb.Applied{Down: 1, Confirmed: true}},
		"it is gone, and one replica is left": {0, but{func(s *plan.Snapshot) { gone(s); s.Source.Set.Replicas = 1 }}, pdb.Applied{Confirmed: true}},
		"it is gone, and there is no replica": {0, but{gone, movedAll}, pdb.Applied{Exact: true, Confirmed: true}},
		"in one namespace":                    {0, append(form(pdb.Available(3)), oneSpace), right},
	} {
		if got := withBudgets(tc.changes...).applied(plan.SourceSide, tc.inFlight, 1); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestAppliedByItsAuthor: the author's own form remains while no ordinal is in flight and it allows the wanted
// number, or must apply unchanged.
func TestAppliedByItsAuthor(t *testing.T) {
	authored := func(changes ...func(*plan.Snapshot)) but {
		return append(but{changesBudget(plan.SourceSide, asAuthored), changesBudget(plan.DestinationSide, asAuthored)}, changes...)
	}
	for name, tc := range map[string]struct {
		changes but
		want    int32
		exact   bool
	}{
		"it allows what is wanted":       {authored(), 2, true},
		"it allows more":                 {authored(), 1, false},
		"it allows more, at the end":     {authored(movedAll), 1, true},
		"it allows that, in flight":      {authored(flying(1)), 2, false},
		"another form that allows it":    {authored(changesBudget(plan.DestinationSide, func(b *plan.Budget) { b.Form = pdb.Unavailable(1) })), 1, false},
		"its form, and a migration's":    {authored(changesBudget(plan.DestinationSide, func(b *plan.Budget) { b.Fence = "m.1" })), 2, false},
		"more evictions than it allows":  {authored(changesBudget(plan.DestinationSide, func(b *plan.Budget) { b.Evictions = 9 })), 2, true},
		"one is down, and does not grow": {authored(down(3)), 2, true},
	} {
		got := withBudgets(tc.changes...).applied(plan.DestinationSide, 0, tc.want)
		if got.Exact != tc.exact || tc.exact && (got.Allows != tc.want || !got.Confirmed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	unseen := authored(changesBudget(plan.DestinationSide, func(b *plan.Budget) { b.Observed = false }), down(3))
	if got := withBudgets(unseen...).applied(plan.DestinationSide, 0, 2); got != (pdb.Applied{Allows: 2, Down: 1, Exact: true}) {
		t.Errorf("its controller has not seen it: %+v", got)
	}
	if got := withBudgets(oneSpace, down(3)).applied(plan.DestinationSide, 0, 0); got != (pdb.Applied{Exact: true, Confirmed: true}) {
		t.Errorf("in one namespace the source's stands for both: %+v", got)
	}
}

// TestAuthorsTurn: the author's form is correct when nothing is left to move and one budget covers the whole
// application.
func TestAuthorsTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		changes but
		want    bool
	}{
		"in mid-move":                     {nil, false},
		"it goes in mid-move":             {but{deleting}, false},
		"it has not begun":                {but{movedNone}, false},
		"it goes before it begins":        {but{movedNone, deleting}, true},
		"rolled back":                     {but{movedNone, rollback}, true},
		"all is moved":                    {but{movedAll}, true},
		"it stays split":                  {but{nothingLeft}, false},
		"it stays split in one namespace": {but{nothingLeft, oneSpace}, true},
		"in mid-move in one namespace":    {but{oneSpace}, false},
		"it goes, in one namespace":       {but{oneSpace, deleting}, true},
	} {
		if got := withBudgets(tc.changes...).authorsTurn(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestForm: a budget uses minAvailable for the slice that gives an ordinal, and for two slices under one budget;
// otherwise it uses maxUnavailable (I4).
func TestForm(t *testing.T) {
	for name, tc := range map[string]struct {
		side             plan.SideName
		allows, inFlight int32
		changes          but
		want             pdb.Form
	}{
		"at rest":                      {plan.SourceSide, 1, 0, nil, pdb.Unavailable(1)},
		"the giver, in flight":         {plan.SourceSide, 1, 1, nil, pdb.Available(1)},
		"the taker, in flight":         {plan.DestinationSide, 1, 1, nil, pdb.Unavailable(1)},
		"the taker on the way back":    {plan.SourceSide, 1, 1, but{rollback}, pdb.Unavailable(1)},
		"the giver on the way back":    {plan.DestinationSide, 0, 1, but{rollback}, pdb.Available(2)},
		"more than there are":          {plan.SourceSide, 9, 1, nil, pdb.Available(0)},
		"in one namespace":             {plan.SourceSide, 1, 0, but{oneSpace}, pdb.Available(3)},
		"in one namespace, in flight":  {plan.SourceSide, 2, 1, but{oneSpace}, pdb.Available(2)},
		"the taker of one namespace's": {plan.DestinationSide, 2, 1, but{oneSpace}, pdb.Available(2)},
	} {
		if diff := cmp.Diff(tc.want, withBudgets(tc.changes...).form(tc.side, tc.allows, tc.inFlight)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestAtLeast: a larger minAvailable than the wanted one is stricter, and is kept. Otherwise the form must be
// equal (I4).
func TestAtLeast(t *testing.T) {
	for name, tc := range map[string]struct {
		have, want pdb.Form
		enough     bool
	}{
		"the same must stay":    {pdb.Available(2), pdb.Available(2), true},
		"more must stay":        {pdb.Available(3), pdb.Available(2), true},
		"less must stay":        {pdb.Available(1), pdb.Available(2), false},
		"a part must stay":      {*pdbtest.MinAvailablePercent(50), pdb.Available(0), false},
		"the same may go":       {pdb.Unavailable(2), pdb.Unavailable(2), true},
		"less may go":           {pdb.Unavailable(1), pdb.Unavailable(2), false},
		"what stays, not goes":  {pdb.Available(2), pdb.Unavailable(2), false},
		"what goes, not stays":  {pdb.Unavailable(2), pdb.Available(2), false},
		"nothing is said of it": {pdb.Form{}, pdb.Available(0), false},
	} {
		if got := atLeast(tc.have, tc.want); got != tc.enough {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestH3RecordMarks: the budgets with the mark are recorded once, for each side separately. A tool that removes
// the mark after that is detected, also while a copy is filled.
func TestH3RecordMarks(t *testing.T) {
	unmarked := func(b *plan.Budget) { b.Fence = "" }
	of := func(uid types.UID, taken bool) *api.BudgetVersion {
		return &api.BudgetVersion{UID: uid, Generation: 5, Taken: taken}
	}
	records := func(source, destination *api.BudgetVersion) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Baseline.SourceBudget, s.Record.Baseline.DestinationBudget = source, destination
			s.Source.Budgets[0].Generation, s.Destination.Budgets[0].Generation = 5, 5
		}
	}
	for name, tc := range map[string]struct {
		changes but
		want    [2]*api.BudgetVersion
	}{
		"both bear it":                  {but{records(nil, nil)}, [2]*api.BudgetVersion{of("b", true), of("b", true)}},
		"the source's does not":         {but{records(of("b", false), nil), changesBudget(plan.SourceSide, unmarked)}, [2]*api.BudgetVersion{of("b", false), of("b", true)}},
		"the destination's not":         {but{records(nil, nil), changesBudget(plan.DestinationSide, unmarked)}, [2]*api.BudgetVersion{of("b", true), nil}},
		"it is another one by now":      {but{records(of("a", true), of("b", true))}, [2]*api.BudgetVersion{of("b", true), of("b", true)}},
		"it is recorded":                {but{records(of("b", true), of("b", true))}, [2]*api.BudgetVersion{}},
		"it was edited":                 {but{records(of("b", true), of("b", true)), changesBudget(plan.SourceSide, func(b *plan.Budget) { b.Wrote = "maxUnavailable 9" })}, [2]*api.BudgetVersion{}},
		"the author has no budgets":     {but{records(nil, nil), func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget = nil }}, [2]*api.BudgetVersion{}},
		"one budget is about both sets": {but{records(nil, nil), func(s *plan.Snapshot) { s.Spec.SameNamespace = true }}, [2]*api.BudgetVersion{of("b", true), nil}},
	} {
		p := withBudgets(tc.changes...)
		got := p.recordMarks()
		if tc.want == [2]*api.BudgetVersion{} {
			if got != nil {
				t.Errorf("%s: got %+v", name, got)
			}
			continue
		}
		want, base := p.Record, *p.Record.Baseline
		base.SourceBudget, base.DestinationBudget = tc.want[0], tc.want[1]
		want.Baseline = &base
		if diff := cmp.Diff(&plan.Decision{Record: &want}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestGiveBack: a budget whose form differs from its author's is restored, once. The permission for others to edit
// it is recorded first (I9).
func TestGiveBack(t *testing.T) {
	isTaken := func(s *plan.Snapshot) { s.Record.Baseline.SourceBudget = &api.BudgetVersion{UID: "b", Taken: true} }
	restores := func(form pdb.Form) *plan.Decision {
		return effect(plan.Effect{Verb: plan.RestoreBudget, Side: plan.SourceSide, Name: "web", UID: "b", ResourceVersion: "7", Form: form})
	}
	saysWhatStays := func(s *plan.Snapshot) {
		*s.Record.Baseline.DisruptionBudget = api.DisruptionBudget{MinAvailable: pdbtest.MinAvailable(2).MinAvailable}
	}
	noted, author := withBudgets(func(s *plan.Snapshot) { s.Record.Baseline.SourceBudget = &api.BudgetVersion{UID: "b"} }).Record, *pdbtest.MaxUnavailable(2)
	for name, tc := range map[string]struct {
		changes but
		want    *plan.Decision
	}{
		"it was never all taken":         {nil, restores(author)},
		"it was taken":                   {but{isTaken}, &plan.Decision{Record: &noted}},
		"it bears the mark alone":        {but{changesBudget(plan.SourceSide, func(b *plan.Budget) { b.Form = *pdbtest.MaxUnavailable(2) })}, restores(author)},
		"it is without the mark alone":   {but{changesBudget(plan.SourceSide, func(b *plan.Budget) { b.Fence = "" })}, restores(author)},
		"it is its author's":             {but{isTaken, changesBudget(plan.SourceSide, asAuthored)}, nil},
		"it is gone":                     {but{isTaken, func(s *plan.Snapshot) { s.Source.Budgets = nil }}, nil},
		"its author is not known":        {but{isTaken, func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget = nil }}, nil},
		"its author says what must stay": {but{saysWhatStays}, restores(*pdbtest.MinAvailable(2))},
	} {
		if diff := cmp.Diff(tc.want, withBudgets(tc.changes...).giveBack(plan.SourceSide)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
