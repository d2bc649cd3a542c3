package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// withBudgets is halfway, with a PodDisruptionBudget on each side: its author allows two of the four replicas to
// be unavailable, and each side's share of that is one.
func withBudgets(changes ...func(*plan.Snapshot)) *planners {
	return halfway(func(s *plan.Snapshot) {
		s.Record.Baseline.DisruptionBudget = &api.DisruptionBudget{Name: "web", MaxUnavailable: pdbtest.MaxUnavailable(2).MaxUnavailable}
		s.Source.Budgets, s.Destination.Budgets = []plan.Budget{marked(pdb.Unavailable(1))}, []plan.Budget{marked(pdb.Unavailable(1))}
		for _, change := range changes {
			change(s)
		}
	})
}

// marked returns a budget that this migration wrote in the current epoch, and that its controller has observed.
func marked(form pdb.Form) plan.Budget {
	return plan.Budget{Name: "web", UID: "b", ResourceVersion: "7", Form: form, Fence: "m.2", Observed: true}
}

// allowed gives both sides' budgets a form.
func allowed(source, destination pdb.Form) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = source, destination }
}

// flying sets the ordinal in flight.
func flying(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: ordinal, Attempts: 1} }
}

// down makes the pods of ordinals unavailable.
func down(ordinals ...int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { goDown(s, ordinals...) }
}

// splitTo requests a split of the budget.
func splitTo(to api.SplitBudget) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Spec.SplitBudget = to }
}

// budgetIs sets d.
func budgetIs(d int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Record.Baseline.Budget = d }
}

func pausing(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }

func deleting(s *plan.Snapshot) { s.Deleting = true }

func oneSpace(s *plan.Snapshot) { s.Spec.SameNamespace, s.Spec.SameCluster = true, true }

// TestShare: a budget that allows too much is written first, then its confirmation is awaited, and then the other
// one grows. It grows only when the unavailable replicas leave room for it (I4). A handoff needs no budget to
// grow.
func TestShare(t *testing.T) {
	none, one, two := pdb.Unavailable(0), pdb.Unavailable(1), pdb.Unavailable(2)
	for name, tc := range map[string]struct {
		inFlight int32
		changes  but
		want     string
	}{
		"as it is wanted":                          {0, nil, ""},
		"there is no budget":                       {0, but{func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget, s.Source.Budgets = nil, nil }}, ""},
		"roll-outs ask no budget":                  {0, but{bothOwn, changesRolls(plan.SourceSide, unshared)}, "SetShare source web s1: 0"},
		"the source's allows too much":             {0, but{allowed(two, one)}, "SetBudget source web b7: 1"},
		"the destination's allows too much":        {0, but{allowed(one, two)}, "SetBudget destination web b7: 1"},
		"the source's may grow":                    {0, but{allowed(none, one)}, "SetBudget source web b7: 1"},
		"one of them has not been confirmed":       {0, but{func(s *plan.Snapshot) { s.Destination.Budgets[0].Observed = false }}, api.ReasonBudgetUnconfirmed},
		"two are down":                             {0, but{allowed(none, one), down(2, 3)}, api.ReasonReplicaUnavailable},
		"two are down in flight":                   {1, but{allowed(pdb.Available(2), none), flying(1), down(2, 3)}, ""},
		"in flight the giver names what must stay": {1, but{allowed(one, none), flying(1)}, "SetBudget source web b7: 1"},
		"in flight":                                {1, but{allowed(pdb.Available(1), none), flying(1)}, ""},
		"one of the budgets is gone":               {0, but{func(s *plan.Snapshot) { s.Source.Budgets = nil }}, api.ReasonForeignBudget + " east"},
	} {
		got := withBudgets(tc.changes...).reserveBudget(tc.inFlight)
		if amounts(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, amounts(got), tc.want)
		}
		if tc.want == api.ReasonReplicaUnavailable && !strings.Contains(got.Hold.Message, "waiting until web-2, web-3 is available") {
			t.Errorf("%s: %q", name, got.Hold.Message)
		}
	}
}

// TestWanted: both budgets together allow d, less the ordinal in flight (I4). Between two handoffs a rollout gets
// all of it, the source's first. When nothing moves, the side that the spec names gets it.
func TestWanted(t *testing.T) {
	const source, destination = api.SplitBudgetSource, api.SplitBudgetDestination
	both := func(s *plan.Snapshot) { rollsOutAt(plan.SourceSide)(s); rollsOutAt(plan.DestinationSide)(s) }
	for name, tc := range map[string]struct {
		inFlight int32
		changes  but
		want     pdb.Share
	}{
		"at rest":                                       {0, nil, pdb.Share{Source: 1, Destination: 1}},
		"in flight":                                     {1, nil, pdb.Share{Source: 1}},
		"with d = 1":                                    {0, but{budgetIs(1)}, pdb.Share{Source: 1}},
		"with d = 1, in flight":                         {1, but{budgetIs(1)}, pdb.Share{}},
		"in one namespace":                              {0, but{oneSpace}, pdb.Share{Source: 2}},
		"in one namespace, in flight":                   {1, but{oneSpace}, pdb.Share{Source: 1}},
		"in one namespace, d = 1, in flight":            {1, but{oneSpace, budgetIs(1)}, pdb.Share{}},
		"never less than none":                          {1, but{oneSpace, budgetIs(0)}, pdb.Share{}},
		"the source rolls out":                          {0, but{rollsOutAt(plan.SourceSide)}, pdb.Share{Source: 2}},
		"the source rolls out, in flight":               {1, but{rollsOutAt(plan.SourceSide)}, pdb.Share{Source: 1}},
		"the destination rolls out":                     {0, but{rollsOutAt(plan.DestinationSide)}, pdb.Share{Destination: 2}},
		"the destination rolls out, in flight":          {1, but{rollsOutAt(plan.DestinationSide)}, pdb.Share{Source: 1}},
		"both roll out":                                 {0, but{both}, pdb.Share{Source: 2}},
		"split, for the source":                         {0, but{nothingLeft, splitTo(source)}, pdb.Share{Source: 2}},
		"split, for the destination":                    {0, but{nothingLeft, splitTo(destination)}, pdb.Share{Destination: 2}},
		"split, for the destination, whoever rolls out": {0, but{nothingLeft, splitTo(destination), both}, pdb.Share{Destination: 2}},
		"split, in proportion":                          {0, but{nothingLeft, splitTo(api.SplitBudgetProportional)}, pdb.Share{Source: 1, Destination: 1}},
		"split, the last one in flight":                 {1, but{nothingLeft, splitTo(source)}, pdb.Share{Source: 1}},
		"some are left to move":                         {0, but{splitTo(source)}, pdb.Share{Source: 1, Destination: 1}},
	} {
		if got := withBudgets(tc.changes...).wanted(tc.inFlight); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestSplitShare: the side that gets the budget gets up to its number of replicas of d, and the other side gets
// the rest (I4).
func TestSplitShare(t *testing.T) {
	const source, destination = api.SplitBudgetSource, api.SplitBudgetDestination
	for name, tc := range map[string]struct {
		to                api.SplitBudget
		d                 int32
		inSource, inOther int32
		want              pdb.Share
	}{
		"the source all":                       {source, 2, 3, 1, pdb.Share{Source: 2}},
		"the source, which is small":           {source, 3, 2, 3, pdb.Share{Source: 2, Destination: 1}},
		"the source, more than there are":      {source, 9, 2, 3, pdb.Share{Source: 2, Destination: 3}},
		"the destination all":                  {destination, 2, 1, 3, pdb.Share{Destination: 2}},
		"the destination, which is small":      {destination, 3, 3, 2, pdb.Share{Source: 1, Destination: 2}},
		"the destination, more than there are": {destination, 9, 3, 2, pdb.Share{Source: 3, Destination: 2}},
		"in proportion":                        {api.SplitBudgetProportional, 2, 2, 2, pdb.Share{Source: 1, Destination: 1}},
		"in proportion, d = 1":                 {api.SplitBudgetProportional, 1, 1, 3, pdb.Share{Destination: 1}},
		"not asked for":                        {"", 4, 2, 2, pdb.Share{Source: 2, Destination: 2}},
	} {
		if got := SplitShare(tc.to, tc.d, pdb.Share{Source: tc.inSource, Destination: tc.inOther}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestSplitFor: the requested split counts while the migration pauses or nothing is left to move, and only if both
// sides have replicas.
func TestSplitFor(t *testing.T) {
	const asked, proportional = api.SplitBudgetSource, api.SplitBudgetProportional
	for name, tc := range map[string]struct {
		changes but
		want    api.SplitBudget
	}{
		"ordinals move":               {nil, proportional},
		"it pauses":                   {but{pausing}, asked},
		"nothing is left":             {but{nothingLeft}, asked},
		"it goes":                     {but{nothingLeft, deleting}, proportional},
		"it goes in mid-move":         {but{pausing, deleting}, proportional},
		"the source has none":         {but{pausing, func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }}, proportional},
		"the source has one":          {but{pausing, func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }}, asked},
		"the destination has none":    {but{pausing, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }}, proportional},
		"the destination has one":     {but{pausing, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 1 }}, asked},
		"nothing is left, and paused": {but{nothingLeft, pausing}, asked},
	} {
		if got := withBudgets(append(tc.changes, splitTo(asked))...).splitFor(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRollsOut: a slice with pods rolls out until they have its update revision and no deletion of a pod is
// requested.
func TestRollsOut(t *testing.T) {
	for _, replicas := range []int32{0, 1, 3} {
		for _, done := range []bool{false, true} {
			for _, asked := range []bool{false, true} {
				set := plan.Set{Replicas: replicas, RolledOut: done, Rolls: plan.Rolls{Asked: asked}}
				if got := set.RollsOut(); got != (replicas != 0 && (asked || !done)) {
					t.Errorf("%d replicas, rolled out %t, asked %t: %t", replicas, done, asked, got)
				}
			}
		}
	}
}

// TestOverdrawn: the ordinal in flight is not stopped while the unavailable replicas beyond its side's share, and
// the allowance of the other side, reach d already (I4). The ordinal itself does not count.
func TestOverdrawn(t *testing.T) {
	none := pdb.Unavailable(0)
	flies := but{flying(1), allowed(pdb.Available(1), none)}
	tight := but{budgetIs(1), flying(1), allowed(pdb.Available(2), none)}
	back := but{budgetIs(1), rollback, flying(2), allowed(none, pdb.Available(2))}
	for name, tc := range map[string]struct {
		changes but
		want    string
	}{
		"all are available":          {flies, ""},
		"one is down there":          {append(flies, down(3)), "web-3"},
		"one is down within a share": {append(flies, down(0)), ""},
		"it is down itself":          {append(flies, down(1)), ""},
		"with d = 1":                 {tight, ""},
		"with d = 1, it is down":     {append(tight, down(1)), ""},
		"with d = 1, one is down":    {append(tight, down(0, 1)), "web-0"},
		"back, d = 1":                {back, ""},
		"back, d = 1, it is down":    {append(back, down(2)), ""},
		"there is no budget": {but{flying(1), down(0, 2, 3), func(s *plan.Snapshot) {
			s.Record.Baseline.DisruptionBudget, s.Source.Budgets, s.Destination.Budgets = nil, nil, nil
		}}, ""},
	} {
		got := withBudgets(tc.changes...).overdrawn()
		if (got == nil) != (tc.want == "") {
			t.Errorf("%s: got %+v", name, got)
		}
		if got != nil && (got.Reason != api.ReasonReplicaUnavailable || !strings.Contains(got.Message, "waiting until "+tc.want+" is available")) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestSetBudget: the written budget has the migration's fence, its allowance and its author's form. A deleted
// budget must be recreated by its author.
func TestSetBudget(t *testing.T) {
	author := *pdbtest.MaxUnavailable(2)
	want := &plan.Decision{Effect: &plan.Effect{
		Verb: plan.SetBudget, Side: plan.DestinationSide, Name: "web", UID: "b", ResourceVersion: "7",
		Fence: "m.2", Form: pdb.Unavailable(1), Author: author, MaxUnavailable: 1,
	}}
	if diff := cmp.Diff(want, withBudgets().setBudget(plan.DestinationSide, 1, 0)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got := withBudgets(func(s *plan.Snapshot) { s.Destination.Budgets = nil }).setBudget(plan.DestinationSide, 1, 0)
	if amounts(got) != api.ReasonForeignBudget+" west" || !got.Hold.Stalled || got.Hold.Remedy != "create it again unchanged: maxUnavailable 2; a PodDisruptionBudget of another form counts from then on" {
		t.Errorf("it is gone: got %+v", got.Hold)
	}
}
