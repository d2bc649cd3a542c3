package plan

import (
	"slices"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// slicesOf are two slices that were seen, by the starts and the replicas of the source and the destination.
func slicesOf(source, replicas, destination, others int32) Snapshot {
	return Snapshot{
		Source:      Side{Set: Set{Presence: Seen, UID: "s", Start: source, Replicas: replicas}},
		Destination: Side{Set: Set{Presence: Seen, UID: "d", Start: destination, Replicas: others}},
	}
}

// TestSplit: two slices are one application when both own ordinals, and side by side.
func TestSplit(t *testing.T) {
	unseen := func(s Snapshot, name SideName) Snapshot {
		if name == SourceSide {
			s.Source.Set.Presence = Absent
		} else {
			s.Destination.Set.Presence = Absent
		}
		return s
	}
	for name, tc := range map[string]struct {
		s    Snapshot
		want bool
	}{
		"the destination above":            {slicesOf(1, 2, 3, 2), true},
		"the destination below":            {slicesOf(3, 2, 1, 2), true},
		"one ordinal each":                 {slicesOf(1, 1, 2, 1), true},
		"one is between them":              {slicesOf(1, 2, 4, 2), false},
		"both own one":                     {slicesOf(1, 2, 2, 2), false},
		"both own all":                     {slicesOf(1, 2, 1, 2), false},
		"the source has none":              {slicesOf(3, 0, 3, 2), false},
		"the destination has none":         {slicesOf(1, 2, 3, 0), false},
		"the source was not seen":          {unseen(slicesOf(1, 2, 3, 2), SourceSide), false},
		"the destination was not seen":     {unseen(slicesOf(1, 2, 3, 2), DestinationSide), false},
		"neither has one, and both are 0s": {slicesOf(0, 0, 0, 0), false},
	} {
		if got := tc.s.Split(); got != tc.want {
			t.Errorf("%s: split %t", name, got)
		}
	}
}

// TestExtent: the application is what was recorded; before that it is the source's slice, and with it the
// destination's when they are side by side.
func TestExtent(t *testing.T) {
	recorded := slicesOf(1, 2, 3, 2)
	recorded.Record.Baseline = &api.Baseline{Start: 7, Replicas: 9}
	for name, tc := range map[string]struct {
		s               Snapshot
		start, replicas int32
	}{
		"recorded":              {recorded, 7, 9},
		"the destination above": {slicesOf(1, 2, 3, 3), 1, 5},
		"the destination below": {slicesOf(3, 2, 0, 3), 0, 5},
		"the source's alone":    {slicesOf(3, 2, 0, 1), 3, 2},
	} {
		if start, replicas := tc.s.Extent(); start != tc.start || replicas != tc.replicas {
			t.Errorf("%s: %s, want %s", name, Span(start, replicas), Span(tc.start, tc.replicas))
		}
	}
}

// TestSplitIsRefused: a destination that owns ordinals already is one part of the application, in health and
// on its disks, or it is refused: what runs there may be the only one of its ordinal (I1, I3).
func TestSplitIsRefused(t *testing.T) {
	set := func(change func(*Set)) func(*Snapshot) { return func(s *Snapshot) { change(&s.Destination.Set) } }
	astray := func(s *Snapshot) { s.Volumes[3].Destination.Claim.Volume = "pv-empty" }
	const destination, claim = " StatefulSet shop/web in cluster west", " claim shop/data-web-4 of ordinal 4"
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   []string
	}{
		"one part of it":            {nil, nil},
		"one ordinal of it":         {func(s *Snapshot) { divide(s, 4) }, nil},
		"it was not seen":           {inTurn(astray, set(func(d *Set) { d.Presence = Absent })), nil},
		"it has no ordinal":         {inTurn(astray, set(func(d *Set) { d.Replicas = 0 })), nil},
		"it is the source":          {inTurn(astray, set(func(d *Set) { d.UID = "s" })), nil},
		"not side by side":          {set(func(d *Set) { d.Start = 7 }), []string{api.ReasonDestinationNotEmpty + destination}},
		"one, and not side by side": {set(func(d *Set) { d.Start, d.Replicas = 7, 1 }), []string{api.ReasonDestinationNotEmpty + destination}},
		"from the other end":        {func(s *Snapshot) { s.Spec.Order = api.LowestFirst }, []string{api.ReasonSplitNotAdjacent + destination}},
		"in a roll-out":             {set(func(d *Set) { d.RolledOut = false }), []string{api.ReasonRolloutInProgress + destination}},
		"not on a disk":             {astray, []string{volumes.ReasonAnotherDisk + claim}},
		"in a roll-out, not on one": {
			inTurn(astray, set(func(d *Set) { d.RolledOut = false })), []string{api.ReasonRolloutInProgress + destination, volumes.ReasonAnotherDisk + claim},
		},
		"in one cluster, one volume": {func(s *Snapshot) { s.Spec.SameCluster = true; s.Volumes[2].Source.Volume.Handle = "" }, nil},
	} {
		var got []string
		for _, finding := range splitFindings(parted(tc.change).Snapshot) {
			got = append(got, finding.Reason+" "+finding.Object)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestOrderFindings: the ordinals go on from the end at which the destination has begun, and it is told
// which is next.
func TestOrderFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		s     Snapshot
		order api.Order
		next  string
	}{
		"the destination above, from above": {slicesOf(1, 4, 5, 2), api.HighestFirst, ""},
		"the destination above, from below": {slicesOf(1, 4, 5, 2), api.LowestFirst, "the next one that it can take is 4,"},
		"the destination below, from below": {slicesOf(3, 4, 1, 2), api.LowestFirst, ""},
		"the destination below, from above": {slicesOf(3, 4, 1, 2), api.HighestFirst, "the next one that it can take is 3,"},
	} {
		tc.s.Spec.Order = tc.order
		got := orderFindings(tc.s)
		switch {
		case tc.next == "":
			if len(got) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
		case len(got) != 1 || got[0].Reason != api.ReasonSplitNotAdjacent || !strings.Contains(got[0].Message, tc.next):
			t.Errorf("%s: %+v, want to be told %q", name, got, tc.next)
		}
	}
}

// staysSplit is a migration of half the ordinals that has been completed, and of which the source is to have
// the budget; both sides allow one replica to be unavailable.
func staysSplit(s *Snapshot) {
	s.Record.Completed, s.Spec.SplitBudget = api.ReasonMoved, api.SplitBudgetSource
}

// sourceHasAll lets the source's budget allow all, and the destination's nothing.
func sourceHasAll(s *Snapshot) {
	s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = pdb.Unavailable(2), pdb.Unavailable(0)
}

// TestHandOver: the budget of an application that stays split is brought to the side that it is asked for,
// what has to shrink first (I4); by who holds the fence, and as long as both budgets are its own.
// Who does not is to get it first.
func TestHandOver(t *testing.T) {
	const fences = "something else"
	disengaged := func(s *Snapshot) { s.Engaged = false }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"the other side shrinks":       {nil, "SetBudget destination web db@3"},
		"then it grows":                {func(s *Snapshot) { s.Destination.Budgets[0].Form = pdb.Unavailable(0) }, "SetBudget source web sb@3"},
		"it has all":                   {sourceHasAll, ""},
		"it has all, no fence held":    {inTurn(sourceHasAll, disengaged), ""},
		"as it is, and to roll back":   {inTurn(disengaged, func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }), ""},
		"it has all, and to roll back": {inTurn(sourceHasAll, func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }), ""},
		"in proportion":                {inTurn(sourceHasAll, func(s *Snapshot) { s.Spec.SplitBudget = api.SplitBudgetProportional }), "SetBudget source web sb@3"},
		"it is deleted": {inTurn(sourceHasAll, func(s *Snapshot) {
			s.Spec.SplitBudget, s.Deleting = api.SplitBudgetProportional, true
		}), ""},
		"it is not completed": {func(s *Snapshot) { s.Record.Completed = "" }, ""},
		"it was let go":       {func(s *Snapshot) { s.Record.Completed = api.ReasonReleased }, ""},
		"somebody has scaled": {func(s *Snapshot) { s.Source.Set.Replicas = 3 }, ""},
		"all has moved":       {func(s *Snapshot) { allMoved(s); s.Source.Budgets = sharedOut("sb", 1) }, ""},
		"none has moved":      {func(s *Snapshot) { divide(s, 5); s.Destination.Budgets = sharedOut("db", 1) }, ""},
		"one has moved":       {func(s *Snapshot) { s.Spec.Count = 1; divide(s, 4) }, "SetBudget destination web db@3"},
		"a budget is another": {func(s *Snapshot) { s.Source.Budgets[0].Fence = "another.1" }, ""},
		"no fence is held":    {disengaged, fences},
		"another process has": {func(s *Snapshot) { s.Record.Fence.Holder = "b" }, fences},
	} {
		d := parted(inTurn(staysSplit, tc.change)).handOver()
		if got := does(d); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if tc.want == fences && d != nil && (d.Record == nil || d.Record.Fence.Epoch != 3 || d.Record.Fence.Holder != "a") {
			t.Errorf("%s: fenced by %+v", name, d)
		}
	}
}

// TestHoldsBudgets: both budgets are this migration's as long as each side has one, under its fence, that
// nobody has edited, and no other migration has begun on either StatefulSet.
func TestHoldsBudgets(t *testing.T) {
	budget := func(change func(*Budget)) func(*Snapshot) {
		return func(s *Snapshot) { change(&s.Destination.Budgets[0]) }
	}
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"both":                             {nil, true},
		"the StatefulSets are let go":      {func(s *Snapshot) { s.Source.Set.Fence, s.Destination.Set.Fence = "", "" }, true},
		"another has begun on one":         {func(s *Snapshot) { s.Destination.Set.Fence = "another.1" }, false},
		"another has begun on the source":  {func(s *Snapshot) { s.Source.Set.Fence = "another.1" }, false},
		"one is gone":                      {func(s *Snapshot) { s.Source.Budgets = nil }, false},
		"there are two":                    {func(s *Snapshot) { s.Source.Budgets = append(s.Source.Budgets, s.Source.Budgets...) }, false},
		"one is its author's":              {budget(func(b *Budget) { b.Fence = "" }), false},
		"one is of another migration":      {budget(func(b *Budget) { b.Fence = "another.1" }), false},
		"one of an older epoch":            {budget(func(b *Budget) { b.Fence = "m.1" }), true},
		"somebody has edited one":          {budget(func(b *Budget) { b.EditedBy = "kubectl" }), false},
		"one budget selects both slices":   {func(s *Snapshot) { s.Spec.SameNamespace = true }, false},
		"another, and it is let go by now": {func(s *Snapshot) { s.Source.Set.Fence, s.Source.Budgets[0].Fence = "", "another.1" }, false},
	} {
		if got := parted(tc.change).holdsBudgets(); got != tc.want {
			t.Errorf("%s: held %t", name, got)
		}
	}
}
