package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// ofRange is a slice of so many ordinals from the first one on.
func ofRange(start, replicas int32) Set {
	return Set{Presence: Seen, Name: "web", Start: start, Replicas: replicas, Observed: true, RolledOut: true}
}

// TestLayoutOf: where a migration stands follows from the two ranges, and they are believed only when
// they are the two ends of the application, with at most one ordinal missing between them (I1, I6).
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
		s := Snapshot{
			Spec: Spec{Order: tc.order}, Record: Record{Baseline: &api.Baseline{Start: 2, Replicas: 4}},
			Source: Side{Set: ofRange(tc.source.start, tc.source.replicas)}, Destination: Side{Set: ofRange(tc.destination.start, tc.destination.replicas)},
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

// TestHowManyMove: the ordinals that the destination owned before come on top of those that are asked
// to move, which are never more than the source had. A destination that is lost ends with none.
func TestHowManyMove(t *testing.T) {
	for name, tc := range map[string]struct{ count, before, target int32 }{
		"all":                             {0, 0, 4},
		"one":                             {1, 0, 1},
		"all, and one was there":          {0, 1, 4},
		"two, and one was there":          {2, 1, 3},
		"more than there are, and one is": {9, 1, 4},
	} {
		s := Snapshot{Spec: Spec{Count: tc.count}, Record: Record{Baseline: &api.Baseline{Replicas: 4, DestinationReplicas: tc.before}}}
		if got := layoutOf(s); got.target != tc.target || got.initial != tc.before {
			t.Errorf("%s: of %d there, %d in the end, want %d", name, got.initial, got.target, tc.target)
		}
	}
	s := Snapshot{
		Source:      Side{Set: ofRange(0, 2)},
		Destination: Side{Lost: true},
		Record:      Record{Baseline: &api.Baseline{Replicas: 4, DestinationReplicas: 1}},
	}
	if got := layoutOf(s); got.moved != 2 || got.initial != 0 || got.broken != "" {
		t.Errorf("two are lost: %+v", got)
	}
}

// TestEndsOfTheSlices: the destination grows from the application's end on, in either direction.
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

// TestGiveAndTake: a slice gives an ordinal at either end, and takes one next to either end. A slice
// that gives its last one keeps its place; an empty one begins where the ordinal is.
func TestGiveAndTake(t *testing.T) {
	type slice struct{ start, replicas int32 }
	for name, tc := range map[string]struct {
		change  func(Set, int32) (int32, int32)
		set     Set
		ordinal int32
		want    slice
	}{
		"gives its first one":        {without, ofRange(2, 3), 2, slice{3, 2}},
		"gives its last one":         {without, ofRange(2, 3), 4, slice{2, 2}},
		"gives the lower of two":     {without, ofRange(2, 2), 2, slice{3, 1}},
		"gives its only one":         {without, ofRange(2, 1), 2, slice{2, 0}},
		"takes the one below":        {with, ofRange(3, 2), 2, slice{2, 3}},
		"takes the one above":        {with, ofRange(3, 2), 5, slice{3, 3}},
		"takes the one above one":    {with, ofRange(3, 1), 4, slice{3, 2}},
		"takes its first":            {with, ofRange(0, 0), 4, slice{4, 1}},
		"takes its first, set lower": {with, ofRange(6, 0), 4, slice{4, 1}},
	} {
		start, replicas := tc.change(tc.set, tc.ordinal)
		if got := (slice{start, replicas}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestNextOrdinal: an ordinal is left to move until the destination owns as many as it shall, and on
// the way back until it owns as many as before.
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
		p := &View{Snapshot: Snapshot{Spec: Spec{Mode: tc.mode}}, layout: layout{lo: 0, hi: 6, initial: 1, target: 3, moved: tc.moved}}
		if next, more := p.next(); next != tc.next || more != tc.more {
			t.Errorf("%s: %d, %t, want %d, %t", name, next, more, tc.next, tc.more)
		}
	}
}

// TestForeign: what somebody else has changed stalls everything (I9). Budgets may wait while an ordinal
// is down; a Migration that is being deleted lets go instead.
func TestForeign(t *testing.T) {
	scale := func(s *Snapshot) { s.Source.Set.Replicas = 1 }
	edit := func(s *Snapshot) { s.Source.Budgets[0].EditedBy = "kubectl" }
	stop := func(s *Snapshot) { s.Source.Set.Replicas, s.Record.Handoff = 2, &api.Handoff{Ordinal: 2} }
	leave := func(s *Snapshot) { s.Deleting = true }
	for name, tc := range map[string]struct {
		changes []func(*Snapshot)
		want    string
	}{
		"nothing":                       {nil, ""},
		"a scale":                       {[]func(*Snapshot){scale}, api.ReasonForeignScale},
		"a budget":                      {[]func(*Snapshot){edit}, api.ReasonForeignBudget},
		"both":                          {[]func(*Snapshot){scale, edit}, api.ReasonForeignScale},
		"an ordinal is down":            {[]func(*Snapshot){stop}, ""},
		"and a budget was changed":      {[]func(*Snapshot){stop, edit}, ""},
		"it is being deleted":           {[]func(*Snapshot){leave}, ""},
		"deleted, and there is a scale": {[]func(*Snapshot){leave, scale}, "recorded: " + api.ReasonReleased},
		"skipped ordinals":              {[]func(*Snapshot){func(s *Snapshot) { s.Source.Set.Reserves = true }}, api.ReasonForeignScale},
	} {
		if got := inShort(midway(tc.changes...).foreign()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestForeignSets: neither StatefulSet may vanish or be scaled by others while ordinals move (I1, I9).
func TestForeignSets(t *testing.T) {
	back := func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }
	gap := func(handoff *api.Handoff) func(*Snapshot) {
		return func(s *Snapshot) { s.Source.Set.Replicas, s.Record.Handoff = 2, handoff }
	}
	for name, tc := range map[string]struct {
		changes []func(*Snapshot)
		want    string
	}{
		"nothing":                        {nil, ""},
		"the source is to be deleted":    {[]func(*Snapshot){func(s *Snapshot) { s.Spec.DeleteSource = true }}, ""},
		"the source is being deleted":    {[]func(*Snapshot){func(s *Snapshot) { s.Source.Set.Terminating = true }}, api.ReasonSourceBeingDeleted},
		"as it was asked for":            {[]func(*Snapshot){func(s *Snapshot) { s.Source.Set.Terminating, s.Spec.DeleteSource = true, true }}, ""},
		"the destination is being":       {[]func(*Snapshot){func(s *Snapshot) { s.Destination.Set.Terminating = true }}, api.ReasonDestinationDeleted},
		"on the way back it may be":      {[]func(*Snapshot){back, func(s *Snapshot) { s.Destination.Set.Terminating = true }}, ""},
		"back, and nothing":              {[]func(*Snapshot){back}, ""},
		"an ordinal is on its way":       {[]func(*Snapshot){gap(&api.Handoff{Ordinal: 2})}, ""},
		"another one is on its way":      {[]func(*Snapshot){gap(&api.Handoff{Ordinal: 1})}, api.ReasonForeignScale},
		"one is down and not on its way": {[]func(*Snapshot){gap(nil)}, api.ReasonForeignScale},
		"the ranges are not two ends":    {[]func(*Snapshot){func(s *Snapshot) { s.Destination.Set.Start = 0 }}, api.ReasonForeignScale},
		"it was started without its volume": {[]func(*Snapshot){gap(&api.Handoff{Ordinal: 2}), func(s *Snapshot) {
			s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 2
			s.Volumes[2].Destination.Claim.Found = true
		}}, api.ReasonForeignScale},
	} {
		if got := inShort(midway(tc.changes...).foreignSets()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestForeignBudgets: a PodDisruptionBudget that others change, or add, while it is shared out is no
// bound any more (I4).
func TestForeignBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(source, destination *Side)
		want   string
	}{
		"nothing":                      {func(*Side, *Side) {}, ""},
		"there are none":               {func(from, to *Side) { from.Budgets, to.Budgets = nil, nil }, ""},
		"the source's was edited":      {func(from, _ *Side) { from.Budgets[0].EditedBy = "kubectl" }, api.ReasonForeignBudget},
		"the destination's was edited": {func(_, to *Side) { to.Budgets[0].EditedBy = "kubectl" }, api.ReasonForeignBudget},
		"its author's was put back":    {func(_, to *Side) { to.Budgets[0].RevertedBy = "argo" }, api.ReasonForeignBudget},
		"a second one at the source":   {func(from, _ *Side) { from.Budgets = append(from.Budgets, Budget{Name: "b"}) }, api.ReasonSeveralBudgets},
		"a second at the destination":  {func(_, to *Side) { to.Budgets = append(to.Budgets, Budget{Name: "b"}) }, api.ReasonSeveralBudgets},
	} {
		got := inShort(midway(func(s *Snapshot) { tc.change(&s.Source, &s.Destination) }).foreignBudgets())
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestAvailableOfASlice: a pod counts when the slice owns its ordinal and it has been Ready long enough.
func TestAvailableOfASlice(t *testing.T) {
	pod := func(ordinal int32, since time.Duration) Pod {
		return Pod{Ordinal: ordinal, Ready: true, Owned: true, ReadySince: epoch.Add(-since)}
	}
	side := Side{Set: ofRange(2, 3), Pods: []Pod{pod(1, time.Hour), pod(2, time.Hour), pod(3, time.Second), pod(4, time.Hour)}}
	side.Set.MinReady = 10 * time.Second
	if got := Available(epoch, side); got != 2 {
		t.Errorf("%d of 2 to 4 are available, want 2 and 4", got)
	}
}

// TestAllowedOfASlice: what a PodDisruptionBudget allows is told once the migration has written it, and as
// long as there is one that can be read. In one namespace it is about both slices.
func TestAllowedOfASlice(t *testing.T) {
	half, one := *pdbtest.MaxUnavailablePercent(50), *pdbtest.MaxUnavailable(1)
	written := func(form pdb.Form) []Budget { return []Budget{{Form: form, Fence: "m.1"}} }
	for name, tc := range map[string]struct {
		budgets []Budget
		shared  bool
		want    int32
	}{
		"none":                      {nil, false, -1},
		"its author's":              {[]Budget{{Form: one}}, false, -1},
		"this migration's":          {written(one), false, 1},
		"half of the slice":         {written(half), false, 1},
		"half of both":              {written(half), true, 3},
		"two of them":               {append(written(one), written(one)...), false, -1},
		"one that cannot be read":   {written(pdb.Form{MaxUnavailable: pdbtest.Unparsable()}), false, -1},
		"one that allows all of it": {written(*pdbtest.MinAvailable(0)), true, 6},
	} {
		s := Snapshot{Spec: Spec{SameNamespace: tc.shared}, Source: Side{Set: ofRange(0, 4)}, Destination: Side{Set: ofRange(4, 2), Budgets: tc.budgets}}
		want := &tc.want
		if tc.want < 0 {
			want = nil
		}
		if diff := cmp.Diff(want, Allowed(s, s.Destination)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestAllowed is what the status and the dry run tell of a slice's budget.
func TestAllowed(t *testing.T) {
	s := Snapshot{Source: Side{Set: Set{Replicas: 3}}}
	two := s
	two.Spec.SameNamespace = true
	two.Destination.Set.Replicas = 2
	for name, tc := range map[string]struct {
		s    Snapshot
		b    *Budget
		want *int32
	}{
		"none":              {s, nil, nil},
		"its author's":      {s, &Budget{Form: pdb.Unavailable(1)}, nil},
		"a number":          {s, &Budget{Form: pdb.Unavailable(1), Fence: "x.1"}, new(int32(1))},
		"what must stay":    {s, &Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(2))},
		"of both slices":    {two, &Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(4))},
		"of a smaller one":  {s, &Budget{Form: pdb.Available(4), Fence: "x.1"}, new(int32(0))},
		"that is malformed": {s, &Budget{Form: pdb.Form{MaxUnavailable: pdbtest.Unparsable()}, Fence: "x.1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			side := tc.s.Source
			side.Budgets = nil
			if tc.b != nil {
				side.Budgets = []Budget{*tc.b}
			}
			if diff := cmp.Diff(tc.want, Allowed(tc.s, side)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
