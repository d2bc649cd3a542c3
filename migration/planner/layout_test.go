package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestLayoutOf: the position of a migration follows from the two ranges. They are accepted only if they are the
// two ends of the application, with at most one ordinal missing between them (I1, I6).
func TestLayoutOf(t *testing.T) {
	type slice struct{ start, replicas int32 }
	const none = int32(-1)
	for name, tc := range map[string]struct {
		order               api.Order
		source, destination slice
		moved, gap          int32
		broken              string
	}{
		"before the first one":            {api.HighestFirst, slice{2, 4}, slice{}, 0, none, ""},
		"the first is on its way":         {api.HighestFirst, slice{2, 3}, slice{}, 0, 5, ""},
		"the first has moved":             {api.HighestFirst, slice{2, 3}, slice{5, 1}, 1, none, ""},
		"the third is on its way":         {api.HighestFirst, slice{2, 1}, slice{4, 2}, 2, 3, ""},
		"all have moved":                  {api.HighestFirst, slice{}, slice{2, 4}, 4, none, ""},
		"one is on both sides":            {api.HighestFirst, slice{2, 4}, slice{5, 1}, 1, none, "the slices own 4 and 1 ordinals of 4"},
		"two are on neither":              {api.HighestFirst, slice{2, 2}, slice{}, 0, none, "the slices own 2 and 0 ordinals of 4"},
		"the destination is elsewhere":    {api.HighestFirst, slice{2, 3}, slice{2, 1}, 1, none, "the destination owns [2,3) instead of [5,6)"},
		"the source is elsewhere":         {api.HighestFirst, slice{3, 3}, slice{}, 0, none, "the source owns [3,6) instead of [2,5)"},
		"the last one is elsewhere":       {api.HighestFirst, slice{4, 1}, slice{3, 3}, 3, none, "the source owns [4,5) instead of [2,3)"},
		"no such numbers":                 {api.HighestFirst, slice{2, -1}, slice{}, 0, none, "neither may be negative"},
		"upwards, before the first one":   {api.LowestFirst, slice{2, 4}, slice{}, 0, none, ""},
		"upwards, the first on its way":   {api.LowestFirst, slice{3, 3}, slice{}, 0, 2, ""},
		"upwards, the first has moved":    {api.LowestFirst, slice{3, 3}, slice{2, 1}, 1, none, ""},
		"upwards, the third on its way":   {api.LowestFirst, slice{5, 1}, slice{2, 2}, 2, 4, ""},
		"upwards, the last on its way":    {api.LowestFirst, slice{}, slice{2, 3}, 3, 5, ""},
		"upwards, the source elsewhere":   {api.LowestFirst, slice{2, 3}, slice{}, 0, none, "the source owns [2,5) instead of [3,6)"},
		"upwards, the other is misplaced": {api.LowestFirst, slice{3, 3}, slice{5, 1}, 1, none, "the destination owns [5,6) instead of [2,3)"},
	} {
		s := plan.Snapshot{
			Spec: plan.Spec{Order: tc.order}, Record: plan.Record{Baseline: &api.Baseline{Start: 2, Replicas: 4}},
			Source: plan.Side{Set: plantest.OfRange(tc.source.start, tc.source.replicas)}, Destination: plan.Side{Set: plantest.OfRange(tc.destination.start, tc.destination.replicas)},
		}
		got := layoutOf(s)
		gap := none
		if got.gap != nil {
			gap = *got.gap
		}
		if got.lo != 2 || got.hi != 6 || got.moved != tc.moved || gap != tc.gap || got.lowest != (tc.order == api.LowestFirst) {
			t.Errorf("%s: %+v with the gap %d", name, got, gap)
		}
		if tc.broken == "" && got.broken != "" || !strings.Contains(got.broken, tc.broken) {
			t.Errorf("%s: broken %q, want %q", name, got.broken, tc.broken)
		}
	}
}

// TestHowManyMove: the ordinals that the destination owned before are added to those that move, which are never
// more than the source had. A lost destination ends with none.
func TestHowManyMove(t *testing.T) {
	for name, tc := range map[string]struct{ count, before, target int32 }{
		"all":                             {0, 0, 4},
		"one":                             {1, 0, 1},
		"all, and one was there":          {0, 1, 4},
		"two, and one was there":          {2, 1, 3},
		"more than there are, and one is": {9, 1, 4},
	} {
		s := plan.Snapshot{Spec: plan.Spec{Count: tc.count}, Record: plan.Record{Baseline: &api.Baseline{Replicas: 4, DestinationReplicas: tc.before}}}
		if got := layoutOf(s); got.target != tc.target || got.initial != tc.before {
			t.Errorf("%s: of %d there, %d in the end, want %d", name, got.initial, got.target, tc.target)
		}
	}
	s := plan.Snapshot{
		Source:      plan.Side{Set: plantest.OfRange(0, 2)},
		Destination: plan.Side{Lost: true},
		Record:      plan.Record{Baseline: &api.Baseline{Replicas: 4, DestinationReplicas: 1}},
	}
	if got := layoutOf(s); got.moved != 2 || got.initial != 0 || got.broken != "" {
		t.Errorf("two are lost: %+v", got)
	}
}

// TestEndsOfTheSlices: the destination grows from one end of the application, in either order.
func TestEndsOfTheSlices(t *testing.T) {
	type ends struct{ destination, source, forward, back, empty int32 }
	for name, tc := range map[string]struct {
		lowest bool
		want   ends
	}{
		"from the upper end on": {false, ends{destination: 4, source: 2, forward: 3, back: 4, empty: 6}},
		"from the lower end on": {true, ends{destination: 2, source: 5, forward: 4, back: 3, empty: 2}},
	} {
		l := layout{lo: 2, hi: 6, moved: 2, lowest: tc.lowest}
		got := ends{l.destinationStart(), l.sourceStart(1), l.nextForward(), l.nextBack(), l.emptyStart()}
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestGiveAndTake: a slice gives an ordinal at either end, and takes one next to either end. A slice that gives
// its last one keeps its start; an empty one begins at the ordinal.
func TestGiveAndTake(t *testing.T) {
	type slice struct{ start, replicas int32 }
	for name, tc := range map[string]struct {
		change  func(plan.Set, int32) (int32, int32)
		set     plan.Set
		ordinal int32
		want    slice
	}{
		"gives its first one":        {without, plantest.OfRange(2, 3), 2, slice{3, 2}},
		"gives its last one":         {without, plantest.OfRange(2, 3), 4, slice{2, 2}},
		"gives the lower of two":     {without, plantest.OfRange(2, 2), 2, slice{3, 1}},
		"gives its only one":         {without, plantest.OfRange(2, 1), 2, slice{2, 0}},
		"takes the one below":        {with, plantest.OfRange(3, 2), 2, slice{2, 3}},
		"takes the one above":        {with, plantest.OfRange(3, 2), 5, slice{3, 3}},
		"takes the one above one":    {with, plantest.OfRange(3, 1), 4, slice{3, 2}},
		"takes its first":            {with, plantest.OfRange(0, 0), 4, slice{4, 1}},
		"takes its first, set lower": {with, plantest.OfRange(6, 0), 4, slice{4, 1}},
	} {
		start, replicas := tc.change(tc.set, tc.ordinal)
		if got := (slice{start, replicas}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestNextOrdinal: an ordinal is left to move until the destination owns its target number, and in a rollback
// until it owns its former number.
func TestNextOrdinal(t *testing.T) {
	for name, tc := range map[string]struct {
		mode  api.Mode
		moved int32
		next  int32
		more  bool
	}{
		"one has moved":           {api.ModeRun, 1, 4, true},
		"all that shall":          {api.ModeRun, 3, 2, false},
		"back, two have moved":    {api.ModeRollback, 2, 4, true},
		"back, one, as there was": {api.ModeRollback, 1, 5, false},
	} {
		p := &View{Snapshot: plan.Snapshot{Spec: plan.Spec{Mode: tc.mode}}, layout: layout{lo: 0, hi: 6, initial: 1, target: 3, moved: tc.moved}}
		if next, more := p.next(); next != tc.next || more != tc.more {
			t.Errorf("%s: %d, %t, want %d, %t", name, next, more, tc.next, tc.more)
		}
	}
}

// TestForeign: a change by another writer stalls everything (I9). Changed budgets do not while an ordinal is down.
// A Migration that is being deleted completes instead.
func TestForeign(t *testing.T) {
	scale := func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }
	edit := func(s *plan.Snapshot) { putBack(&s.Source, &s.Record.Baseline.SourceBudget, "kubectl") }
	stop := func(s *plan.Snapshot) { s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2} }
	leave := func(s *plan.Snapshot) { s.Deleting = true }
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		want    string
	}{
		"nothing":                       {nil, ""},
		"a scale":                       {[]func(*plan.Snapshot){scale}, api.ReasonForeignScale},
		"a budget":                      {[]func(*plan.Snapshot){edit}, api.ReasonForeignBudget},
		"both":                          {[]func(*plan.Snapshot){scale, edit}, api.ReasonForeignScale},
		"an ordinal is down":            {[]func(*plan.Snapshot){stop}, ""},
		"and a budget was changed":      {[]func(*plan.Snapshot){stop, edit}, ""},
		"it is being deleted":           {[]func(*plan.Snapshot){leave}, ""},
		"deleted, and there is a scale": {[]func(*plan.Snapshot){leave, scale}, "recorded: " + api.ReasonReleased},
		"skipped ordinals":              {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Source.Set.Reserves = true }}, api.ReasonForeignScale},
	} {
		if got := inShort(midway(tc.changes...).foreign()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestForeignSets: neither StatefulSet may be deleted or scaled by others while ordinals move (I1, I9).
func TestForeignSets(t *testing.T) {
	back := func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }
	goes := func(s *plan.Snapshot) { s.Source.Set.Terminating, s.Spec.DeleteSource = true, true }
	all := func(s *plan.Snapshot) {
		s.Source.Set.Replicas = 0
		s.Destination.Set.Start, s.Destination.Set.Replicas = s.Record.Baseline.Start, s.Record.Baseline.Replicas
	}
	gap := func(handoff *api.Handoff) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Source.Set.Replicas, s.Record.Handoff = 2, handoff }
	}
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		want    string
	}{
		"nothing":                        {nil, ""},
		"the source is to be deleted":    {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Spec.DeleteSource = true }}, ""},
		"the source is being deleted":    {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Source.Set.Terminating = true }}, api.ReasonSourceBeingDeleted},
		"before all has moved":           {[]func(*plan.Snapshot){goes}, api.ReasonSourceBeingDeleted},
		"as it was asked for":            {[]func(*plan.Snapshot){goes, all}, ""},
		"when all is to go back":         {[]func(*plan.Snapshot){goes, all, back}, api.ReasonSourceBeingDeleted},
		"though it was to stay":          {[]func(*plan.Snapshot){goes, all, func(s *plan.Snapshot) { s.Spec.DeleteSource = false }}, api.ReasonSourceBeingDeleted},
		"the destination is being":       {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }}, api.ReasonDestinationDeleted},
		"on the way back it may be":      {[]func(*plan.Snapshot){back, func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }}, ""},
		"back, and nothing":              {[]func(*plan.Snapshot){back}, ""},
		"an ordinal is on its way":       {[]func(*plan.Snapshot){gap(&api.Handoff{Ordinal: 2})}, ""},
		"another one is on its way":      {[]func(*plan.Snapshot){gap(&api.Handoff{Ordinal: 1})}, api.ReasonForeignScale},
		"one is down and not on its way": {[]func(*plan.Snapshot){gap(nil)}, api.ReasonForeignScale},
		"the ranges are not two ends":    {[]func(*plan.Snapshot){func(s *plan.Snapshot) { s.Destination.Set.Start = 0 }}, api.ReasonForeignScale},
		"it was started without its volume": {[]func(*plan.Snapshot){gap(&api.Handoff{Ordinal: 2}), func(s *plan.Snapshot) {
			s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 2
			s.Volumes[2].Destination.Claim.Found = true
		}}, api.ReasonForeignScale},
	} {
		if got := inShort(midway(tc.changes...).foreignSets()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// putBack makes a tool restore the author's form of a budget that the migration has taken over.
func putBack(side *plan.Side, seen **api.BudgetVersion, by string) {
	b := &side.Budgets[0]
	*seen = &api.BudgetVersion{UID: b.UID, Generation: b.Generation, Taken: true}
	b.Form, b.Author, b.Fence, b.WrittenBy, b.Generation = b.AuthorForm(), nil, "", by, b.Generation+2
}

// TestForeignBudgets: a PodDisruptionBudget that others restore, or add, while it is split is no longer a bound
// (I4).
func TestForeignBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *plan.Snapshot)
		want   string
	}{
		"nothing":                     {func(*plan.Snapshot) {}, ""},
		"there are none":              {func(s *plan.Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil }, ""},
		"the source's was put back":   {func(s *plan.Snapshot) { putBack(&s.Source, &s.Record.Baseline.SourceBudget, "argo") }, api.ReasonForeignBudget},
		"the destination's":           {func(s *plan.Snapshot) { putBack(&s.Destination, &s.Record.Baseline.DestinationBudget, "argo") }, api.ReasonForeignBudget},
		"a second one at the source":  {func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "b"}) }, api.ReasonSeveralBudgets},
		"a second at the destination": {func(s *plan.Snapshot) { s.Destination.Budgets = append(s.Destination.Budgets, plan.Budget{Name: "b"}) }, api.ReasonSeveralBudgets},
	} {
		p := midway(tc.change)
		if got := inShort(wordPlanner{p.View, p.budgetPlanner}.heed()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
