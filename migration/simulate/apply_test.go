package simulate

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// worldWrite is an effect on the model of the two clusters, and its expected change.
type worldWrite struct {
	effect plan.Effect
	// before changes the test's world beforehand; nil: not at all.
	before func(*plan.Snapshot)
	// change is the expected change; nil: the effect is refused, and changes nothing.
	change func(*plan.Snapshot)
}

// check applies the effect to a world and compares all of it.
func (a worldWrite) check(t *testing.T, s plan.Snapshot) {
	t.Helper()
	if a.before != nil {
		a.before(&s)
	}
	w := &World{State: s.Clone(), Controllers: map[plan.SideName]Controller{}}
	err := w.Apply(a.effect)
	want := s.Clone()
	if a.change != nil {
		a.change(&want)
	}
	if refused := a.change == nil; refused != errors.Is(err, ErrConflict) || !refused && err != nil {
		t.Errorf("it ends with %v", err)
	}
	if diff := cmp.Diff(want, w.Snapshot()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// untaken is the world with nothing at the destination.
func untaken() plan.Snapshot {
	s := plantest.Scenario{Replicas: 2, Service: true, Budget: pdbtest.MaxUnavailable(1)}.Build()
	s.Destination.NamespaceFound = false
	return s
}

// TestWorldApplyMakes: a created object exists afterwards, and is the migration's own. An existing object is not
// created again.
func TestWorldApplyMakes(t *testing.T) {
	made := pdb.Unavailable(1)
	budget := plan.Effect{Verb: plan.CreateBudget, Side: plan.DestinationSide, Name: "web", Fence: "m.1", Author: made}
	set := plan.Effect{Verb: plan.CreateSet, Side: plan.DestinationSide, Name: "web", After: plan.SetState{Start: 2, Fence: "m.1"}}
	created := plan.Set{
		Presence: plan.Seen, Name: "web", UID: "u1", ResourceVersion: "v2", Start: 2, Fence: "m.1", RolledOut: true, Ours: true,
		Ordered: true, MinReady: time.Second, Templates: []string{"data"},
	}
	like := func(s *plan.Snapshot) {
		s.Source.Set.Ordered, s.Source.Set.MinReady, s.Source.Set.Templates = true, time.Second, []string{"data"}
	}
	for name, tc := range map[string]worldWrite{
		"a namespace": {effect: plan.Effect{Verb: plan.CreateNamespace, Side: plan.DestinationSide}, change: func(s *plan.Snapshot) { s.Destination.NamespaceFound = true }},
		"a Service":   {effect: plan.Effect{Verb: plan.CreateService, Side: plan.DestinationSide}, change: func(s *plan.Snapshot) { s.Destination.Service.Found = true }},
		"an export":   {effect: plan.Effect{Verb: plan.CreateExport, Side: plan.SourceSide}, change: func(s *plan.Snapshot) { s.Source.Export = plan.Export{Found: true, Ours: true} }},
		"an export goes": {
			effect: plan.Effect{Verb: plan.DeleteExport, Side: plan.SourceSide}, before: func(s *plan.Snapshot) { s.Source.Export.Found = true },
			change: func(s *plan.Snapshot) { s.Source.Export = plan.Export{} },
		},
		"a set, like the source's": {effect: set, before: like, change: func(s *plan.Snapshot) { s.Destination.Set = created }},
		"a set of our own kind": {
			effect: set, before: func(s *plan.Snapshot) {
				like(s)
				s.Destination.Set.Resource, s.Source.Set.Rolls.AllAtOnce = plan.SliceResource, true
			},
			change: func(s *plan.Snapshot) {
				s.Destination.Set = created
				s.Destination.Set.Resource, s.Destination.Set.Rolls = plan.SliceResource, plan.Rolls{Own: true, AllAtOnce: true, Heeded: true}
			},
		},
		"a set that is there": {effect: set, before: func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Seen }},
		"a budget": {effect: budget, change: func(s *plan.Snapshot) {
			s.Destination.Budgets = []plan.Budget{{Name: "web", UID: "u1", ResourceVersion: "v2", Form: pdb.Unavailable(0), Own: true, Generation: 1, Author: &made, Fence: "m.1", Wrote: "maxUnavailable 0", Ours: true}}
		}},
		"a budget that is there": {effect: budget, before: func(s *plan.Snapshot) { s.Destination.Budgets = []plan.Budget{{Name: "web"}} }},
		"nothing that is known":  {effect: plan.Effect{Verb: "Other"}, change: func(*plan.Snapshot) {}},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, untaken()) })
	}
}

// TestWorldApplyMakesASetAnew: the controller of a created set has observed its new range, and none of a former
// set's share.
func TestWorldApplyMakesASetAnew(t *testing.T) {
	w := NewWorld(untaken())
	w.Controllers[plan.DestinationSide] = Controller{Start: 7, Replicas: 9, CapObserved: Cap{Set: true}}
	if err := w.Apply(plan.Effect{Verb: plan.CreateSet, Side: plan.DestinationSide, After: plan.SetState{Start: 2}}); err != nil || w.Controllers[plan.DestinationSide] != (Controller{Start: 2}) {
		t.Errorf("it acts on %+v: %v", w.Controllers[plan.DestinationSide], err)
	}
}

// TestWorldApplySet: a write to a set is refused if the set was replaced or has changed. A new range is not
// observed yet, and clears the other writer.
func TestWorldApplySet(t *testing.T) {
	is := func(verb plan.Verb) plan.Effect {
		after := plan.SetState{Replicas: 3, Fence: "m.1", Shared: true, Share: 1} // as it is
		switch verb {
		case plan.WriteFence:
			after.Fence = "m.2"
		case plan.ReleaseFence:
			after.Fence, after.Shared, after.Share = "", false, 0
		case plan.SetShare:
			after.Share = 3
		case plan.LiftShare:
			after.Shared, after.Share = false, 0
		default:
			after.Start, after.Replicas = 1, 4
		}
		return plan.Effect{Verb: verb, Side: plan.SourceSide, UID: "source-set", ResourceVersion: "1", After: after}
	}
	other, older, neither, there := is(plan.ScaleDown), is(plan.ScaleDown), plan.Effect{Verb: plan.ScaleDown, Side: plan.DestinationSide}, is(plan.ScaleUp)
	other.UID, older.ResourceVersion, there.Side = "another", "0", plan.DestinationSide
	written := func(change func(*plan.Set)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Source.Set.ResourceVersion = "v1"; change(&s.Source.Set) }
	}
	scaled := written(func(s *plan.Set) { s.Start, s.Replicas, s.Observed, s.ScalesBy = 1, 4, false, "" })
	unnumbered := func(s *plan.Snapshot) { s.Numbers = &plan.Finding{}; s.Destination.Set = s.Source.Set }
	for name, tc := range map[string]worldWrite{
		"it is fenced":                {effect: is(plan.WriteFence), change: written(func(s *plan.Set) { s.Fence = "m.2" })},
		"it is released":              {effect: is(plan.ReleaseFence), change: written(func(s *plan.Set) { s.Fence, s.Rolls = "", plan.Rolls{Own: true, Heeded: true} })},
		"it is given a share":         {effect: is(plan.SetShare), change: written(func(s *plan.Set) { s.Rolls = plan.Rolls{Own: true, Shared: true, Share: 3} })},
		"its share is lifted":         {effect: is(plan.LiftShare), change: written(func(s *plan.Set) { s.Rolls = plan.Rolls{Own: true, Heeded: true} })},
		"an ordinal is stopped":       {effect: is(plan.ScaleDown), change: scaled},
		"an ordinal is started":       {effect: is(plan.ScaleUp), change: scaled},
		"the source keeps its number": {effect: is(plan.ScaleUp), before: unnumbered, change: scaled},
		"a destination that forgets where it begins": {effect: there, before: unnumbered, change: func(s *plan.Snapshot) {
			scaled(s)
			s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
			s.Destination.Set.Start = 0
		}},
		"a destination that remembers it": {
			effect: there, before: func(s *plan.Snapshot) { s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set },
			change: func(s *plan.Snapshot) {
				s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
				scaled(s)
				s.Source.Set, s.Destination.Set = s.Destination.Set, s.Source.Set
			},
		},
		"it is deleted": {effect: is(plan.DeleteSet), change: func(s *plan.Snapshot) {
			s.Source.Set = plan.Set{Presence: plan.Absent, Name: "web", Resource: plan.SliceResource}
		}},
		"another one":             {effect: other},
		"it has changed":          {effect: older},
		"it is absent":            {effect: neither},
		"it cannot be seen":       {effect: is(plan.ScaleDown), before: func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Unreachable }},
		"absent, and another one": {effect: other, before: func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent }},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Scenario{Replicas: 3}.Build()
			set := &s.Source.Set
			set.Resource, set.Fence, set.ScalesBy, set.Rolls = plan.SliceResource, "m.1", "kubectl", plan.Rolls{Own: true, Shared: true, Share: 1}
			tc.check(t, s)
		})
	}
}

// TestWorldApplyBudget: a write to a budget is refused if the budget was replaced, has changed, or is not the only
// one. The author's form is noted while the budget has the migration's own form (I4).
func TestWorldApplyBudget(t *testing.T) {
	form, author := pdb.Available(1), pdb.Unavailable(2)
	is := func(verb plan.Verb) plan.Effect {
		return plan.Effect{Verb: verb, Side: plan.SourceSide, UID: "pdb", ResourceVersion: "1", Fence: "m.2", Form: form, Author: author}
	}
	restored := is(plan.RestoreBudget)
	restored.Fence = ""
	other, older, there := is(plan.SetBudget), is(plan.SetBudget), plan.Effect{Verb: plan.SetBudget, Side: plan.DestinationSide, Form: form}
	other.UID, older.ResourceVersion = "another", "0"
	written := func(s *plan.Snapshot) {
		b := &s.Source.Budgets[0]
		b.ResourceVersion, b.Form, b.Fence, b.Observed, b.Author = "v1", form, "m.2", false, nil
		b.Own, b.Generation = true, b.Generation+1
	}
	for name, tc := range map[string]worldWrite{
		"it is set": {effect: is(plan.SetBudget), change: func(s *plan.Snapshot) {
			written(s)
			s.Source.Budgets[0].Author, s.Source.Budgets[0].Wrote = &author, form.String()
		}},
		"it is restored": {effect: restored, change: func(s *plan.Snapshot) { written(s); s.Source.Budgets[0].Fence = "" }},
		"it is deleted":  {effect: is(plan.DeleteBudget), change: func(s *plan.Snapshot) { s.Source.Budgets = nil }},
		"another one":    {effect: other},
		"it has changed": {effect: older},
		"there is none":  {effect: there},
		"there are two":  {effect: is(plan.SetBudget), before: func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, s.Source.Budgets[0]) }},
		"in one namespace it goes from both sides": {
			effect: is(plan.DeleteBudget),
			before: func(s *plan.Snapshot) { s.Spec.SameNamespace = true; s.Destination.Budgets = s.Source.Budgets },
			change: func(s *plan.Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := untaken()
			s.Source.Budgets[0].Author, s.Source.Budgets[0].Fence = &form, "m.1"
			tc.check(t, s)
		})
	}
}

// TestWorldApplySharedBudget: in one namespace a written budget has changed for both sides (I4).
func TestWorldApplySharedBudget(t *testing.T) {
	w := NewWorld(plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{SameNamespace: true}}.Build())
	e := plan.Effect{Verb: plan.RestoreBudget, Side: plan.SourceSide, UID: "pdb", ResourceVersion: "1", Form: pdb.Available(1)}
	if err := w.Apply(e); err != nil {
		t.Fatal(err)
	}
	for _, name := range plan.SideNames {
		if b := w.State.Side(name).Budgets[0]; !b.Form.Equal(e.Form) || b.Fence != "" || b.Observed || b.ResourceVersion == "1" {
			t.Errorf("the %s sees %+v", name, b)
		}
	}
}
