package migration

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/pdb"
)

// worldWrite is an effect on the model of both clusters, and what it changes there.
type worldWrite struct {
	effect Effect
	// before is what is otherwise beforehand than in the world of the test; nil: nothing.
	before func(*Snapshot)
	// change is what the effect changes; nil: it is refused, and changes nothing.
	change func(*Snapshot)
}

// check applies the effect to a world and compares all of it.
func (a worldWrite) check(t *testing.T, s Snapshot) {
	t.Helper()
	if a.before != nil {
		a.before(&s)
	}
	w := &world{state: s.clone(), acted: map[SideName]acted{}}
	err := w.apply(a.effect)
	want := s.clone()
	if a.change != nil {
		a.change(&want)
	}
	if refused := a.change == nil; refused != errors.Is(err, errConflict) || !refused && err != nil {
		t.Errorf("it ends with %v", err)
	}
	if diff := cmp.Diff(want, w.snapshot()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// untaken is the world without anything at the destination.
func untaken() Snapshot {
	s := scenario{replicas: 2, service: true, budget: maxUnavailable(1)}.build()
	s.Destination.NamespaceFound = false
	return s
}

// TestWorldApplyMakes: what is made is there afterwards, and is the migration's own; what is there already
// is not made again.
func TestWorldApplyMakes(t *testing.T) {
	made := pdb.Unavailable(1)
	budget := Effect{Verb: CreateBudget, Side: DestinationSide, Name: "web", Fence: "m.1", Author: made}
	set := Effect{Verb: CreateSet, Side: DestinationSide, Name: "web", Start: 2, Fence: "m.1"}
	created := Set{
		Presence: Seen, Name: "web", UID: "u1", ResourceVersion: "v2", Start: 2, Fence: "m.1", RolledOut: true, Ours: true,
		Ordered: true, MinReady: time.Second, Templates: []string{"data"},
	}
	like := func(s *Snapshot) {
		s.Source.Set.Ordered, s.Source.Set.MinReady, s.Source.Set.Templates = true, time.Second, []string{"data"}
	}
	for name, tc := range map[string]worldWrite{
		"a namespace": {effect: Effect{Verb: CreateNamespace, Side: DestinationSide}, change: func(s *Snapshot) { s.Destination.NamespaceFound = true }},
		"a Service":   {effect: Effect{Verb: CreateService, Side: DestinationSide}, change: func(s *Snapshot) { s.Destination.Service.Found = true }},
		"an export":   {effect: Effect{Verb: CreateExport, Side: SourceSide}, change: func(s *Snapshot) { s.Source.Export = Export{Found: true, Ours: true} }},
		"an export goes": {
			effect: Effect{Verb: DeleteExport, Side: SourceSide}, before: func(s *Snapshot) { s.Source.Export.Found = true },
			change: func(s *Snapshot) { s.Source.Export = Export{} },
		},
		"a set, like the source's": {effect: set, before: like, change: func(s *Snapshot) { s.Destination.Set = created }},
		"a set of our own kind": {
			effect: set, before: func(s *Snapshot) {
				like(s)
				s.Destination.Set.Resource, s.Source.Set.Rolls.AllAtOnce = sliceResource, true
			},
			change: func(s *Snapshot) {
				s.Destination.Set = created
				s.Destination.Set.Resource, s.Destination.Set.Rolls = sliceResource, Rolls{Own: true, AllAtOnce: true, Heeded: true}
			},
		},
		"a set that is there": {effect: set, before: func(s *Snapshot) { s.Destination.Set.Presence = Seen }},
		"a budget": {effect: budget, change: func(s *Snapshot) {
			s.Destination.Budgets = []Budget{{Name: "web", UID: "u1", ResourceVersion: "v2", Form: pdb.Unavailable(0), Author: &made, Fence: "m.1", Ours: true}}
		}},
		"a budget that is there": {effect: budget, before: func(s *Snapshot) { s.Destination.Budgets = []Budget{{Name: "web"}} }},
		"nothing that is known":  {effect: Effect{Verb: "Other"}, change: func(*Snapshot) {}},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, untaken()) })
	}
}

// TestWorldApplyMakesASetAnew: the controller of a set that was made knows its new range, and nothing of
// the share that a former one had.
func TestWorldApplyMakesASetAnew(t *testing.T) {
	w := newWorld(untaken())
	w.acted[DestinationSide] = acted{start: 7, replicas: 9, told: share{of: true}}
	if err := w.apply(Effect{Verb: CreateSet, Side: DestinationSide, Start: 2}); err != nil || w.acted[DestinationSide] != (acted{start: 2}) {
		t.Errorf("it acts on %+v: %v", w.acted[DestinationSide], err)
	}
}

// TestWorldApplySet: a write to a set is refused when the set is another one or has changed; a new range
// has yet to be observed, and tells of nobody else who scales.
func TestWorldApplySet(t *testing.T) {
	is := func(verb Verb) Effect {
		return Effect{Verb: verb, Side: SourceSide, UID: "source-set", ResourceVersion: "1", Fence: "m.2", Start: 1, Replicas: 4, MaxUnavailable: 3}
	}
	other, older, neither, there := is(ScaleDown), is(ScaleDown), Effect{Verb: ScaleDown, Side: DestinationSide, Start: 1}, is(ScaleUp)
	other.UID, older.ResourceVersion, there.Side = "another", "0", DestinationSide
	written := func(change func(*Set)) func(*Snapshot) {
		return func(s *Snapshot) { s.Source.Set.ResourceVersion = "v1"; change(&s.Source.Set) }
	}
	scaled := written(func(s *Set) { s.Start, s.Replicas, s.Observed, s.ScalesBy = 1, 4, false, "" })
	unnumbered := func(s *Snapshot) { s.Numbers = &Finding{}; s.Destination.Set = s.Source.Set }
	for name, tc := range map[string]worldWrite{
		"it is claimed":               {effect: is(WriteFence), change: written(func(s *Set) { s.Fence = "m.2" })},
		"it is released":              {effect: is(ReleaseFence), change: written(func(s *Set) { s.Fence, s.Rolls = "", Rolls{Own: true, Heeded: true} })},
		"it is given a share":         {effect: is(SetShare), change: written(func(s *Set) { s.Rolls = Rolls{Own: true, Shared: true, Share: 3} })},
		"its share is lifted":         {effect: is(LiftShare), change: written(func(s *Set) { s.Rolls = Rolls{Own: true, Heeded: true} })},
		"an ordinal is stopped":       {effect: is(ScaleDown), change: scaled},
		"an ordinal is started":       {effect: is(ScaleUp), change: scaled},
		"the source keeps its number": {effect: is(ScaleUp), before: unnumbered, change: scaled},
		"a destination that forgets where it begins": {effect: there, before: unnumbered, change: func(s *Snapshot) {
			scaled(s)
			s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
			s.Destination.Set.Start = 0
		}},
		"a destination that remembers it": {
			effect: there, before: func(s *Snapshot) { s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set },
			change: func(s *Snapshot) {
				s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
				scaled(s)
				s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
			},
		},
		"it is deleted":           {effect: is(DeleteSet), change: func(s *Snapshot) { s.Source.Set = Set{Presence: Absent, Name: "web", Resource: sliceResource} }},
		"another one":             {effect: other},
		"it has changed":          {effect: older},
		"it is absent":            {effect: neither},
		"it cannot be seen":       {effect: is(ScaleDown), before: func(s *Snapshot) { s.Source.Set.Presence = Unreachable }},
		"absent, and another one": {effect: other, before: func(s *Snapshot) { s.Source.Set.Presence = Absent }},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario{replicas: 3}.build()
			set := &s.Source.Set
			set.Resource, set.Fence, set.ScalesBy, set.Rolls = sliceResource, "m.1", "kubectl", Rolls{Own: true, Shared: true, Share: 1}
			tc.check(t, s)
		})
	}
}

// TestWorldApplyBudget: a write to a budget is refused when the budget is another one, has changed, or is
// not the only one; who wrote it first is noted as long as the migration's own form is on it (I4).
func TestWorldApplyBudget(t *testing.T) {
	form, author := pdb.Available(1), pdb.Unavailable(2)
	is := func(verb Verb) Effect {
		return Effect{Verb: verb, Side: SourceSide, UID: "pdb", ResourceVersion: "1", Fence: "m.2", Form: form, Author: author}
	}
	other, older, there := is(SetBudget), is(SetBudget), Effect{Verb: SetBudget, Side: DestinationSide, Form: form}
	other.UID, older.ResourceVersion = "another", "0"
	written := func(s *Snapshot) {
		b := &s.Source.Budgets[0]
		b.ResourceVersion, b.Form, b.Fence, b.Observed, b.Author = "v1", form, "m.2", false, nil
	}
	for name, tc := range map[string]worldWrite{
		"it is set":      {effect: is(SetBudget), change: func(s *Snapshot) { written(s); s.Source.Budgets[0].Author = &author }},
		"it is restored": {effect: is(RestoreBudget), change: written},
		"it is deleted":  {effect: is(DeleteBudget), change: func(s *Snapshot) { s.Source.Budgets = nil }},
		"another one":    {effect: other},
		"it has changed": {effect: older},
		"there is none":  {effect: there},
		"there are two":  {effect: is(SetBudget), before: func(s *Snapshot) { s.Source.Budgets = append(s.Source.Budgets, s.Source.Budgets[0]) }},
		"in one namespace it goes from both sides": {
			effect: is(DeleteBudget),
			before: func(s *Snapshot) { s.Spec.SameNamespace = true; s.Destination.Budgets = s.Source.Budgets },
			change: func(s *Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := untaken()
			s.Source.Budgets[0].Author, s.Source.Budgets[0].Fence = &form, "m.1"
			tc.check(t, s)
		})
	}
}

// TestWorldApplySharedBudget: in one namespace a budget that is written has changed for both sides (I4).
func TestWorldApplySharedBudget(t *testing.T) {
	w := newWorld(scenario{replicas: 2, budget: maxUnavailable(1), spec: Spec{SameNamespace: true}}.build())
	e := Effect{Verb: RestoreBudget, Side: SourceSide, UID: "pdb", ResourceVersion: "1", Fence: "m.2", Form: pdb.Available(1)}
	if err := w.apply(e); err != nil {
		t.Fatal(err)
	}
	for _, name := range sideNames {
		if b := w.side(name).Budgets[0]; !b.Form.Equal(e.Form) || b.Fence != "m.2" || b.Observed || b.ResourceVersion == "1" {
			t.Errorf("the %s sees %+v", name, b)
		}
	}
}
