package model

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// authored lists the changes of a PodDisruptionBudget that its author may make at any moment, with the reversal
// that the migration may wait for. The migration's view of a change follows from the objects.
var authored = []edit{
	{name: "the author lowers the source's budget to 0", do: authorWrites(plan.SourceSide, 0, true), reasons: []string{api.ReasonBudgetZero}},
	{name: "the author lowers the source's budget to 0, without the mark", do: authorWrites(plan.SourceSide, 0, false), reasons: []string{api.ReasonBudgetZero}},
	{name: "the author lowers the source's budget to 1", do: authorWrites(plan.SourceSide, 1, true)},
	{name: "the author raises the source's budget", do: authorWrites(plan.SourceSide, 9, true)},
	{name: "the author lowers the destination's budget to 0", do: authorWrites(plan.DestinationSide, 0, true), reasons: []string{api.ReasonBudgetZero}},
	{name: "the author raises the destination's budget", do: authorWrites(plan.DestinationSide, 9, true)},
	{name: "the author creates a budget of 1", do: authorCreates(plan.SourceSide, 1)},
	{name: "the author creates a budget of 2", do: authorCreates(plan.SourceSide, 2)},
	{name: "the author replaces the source's budget by one of 1", do: authorReplaces(plan.SourceSide, 1, "web")},
	{name: "the author replaces the source's budget by one of 0", do: authorReplaces(plan.SourceSide, 0, "web"), reasons: []string{api.ReasonBudgetZero}},
	{name: "the author renames the source's budget", do: authorReplaces(plan.SourceSide, 1, "renamed")},
	{name: "the author adds a second budget", do: authorDoubles(plan.SourceSide), reasons: []string{api.ReasonSeveralBudgets}},
}

// maySpeak reports whether the author may write a budget now.
func (m *machine) maySpeak(name plan.SideName) bool {
	return m.State.Record.Baseline != nil && m.State.Record.Completed == "" && (name == plan.SourceSide || !m.State.Spec.SameNamespace) && len(m.State.Side(name).Budgets) <= 1
}

// speaks records the author's last form.
func (m *machine) speaks(form pdb.Form) {
	m.author, m.spoken, m.grace = &form, true, true
}

// puts stores a form that another client has written into a budget, as an API server does. The generation
// counts changes, and the client that changes a field owns it.
func (m *machine) puts(name plan.SideName, form pdb.Form, by string, marked bool) {
	now := m.State.Side(name).Budgets[0]
	if !marked {
		now.Author, now.Fence, now.Wrote = nil, "", ""
	}
	if !now.Form.Equal(form) {
		now.Form, now.WrittenBy, now.Own, now.Observed = form, by, false, false
		now.Generation++
	}
	m.PutBudget(name, &now)
}

// putBack makes a tool write the author's form of a budget again, without the marks of the migration.
func (m *machine) putBack(name plan.SideName, by string) {
	m.puts(name, m.State.Side(name).Budgets[0].AuthorForm(), by, false)
}

// revertBudget is putBack in a snapshot.
func revertBudget(side *plan.Side, by string) {
	b := &side.Budgets[0]
	if form := b.AuthorForm(); !form.Equal(b.Form) {
		b.Form, b.Own, b.Generation = form, false, b.Generation+1
	}
	b.WrittenBy, b.Author, b.Fence, b.Wrote = by, nil, "", ""
}

// authorWrites makes the author give a budget another form. If two budgets have a new form each, the objects do
// not show which one is newer. So the author does not write again before the migration has recorded the
// last form.
func authorWrites(name plan.SideName, n int32, marked bool) func(*model) func(*model) {
	return func(w *model) func(*model) {
		form := pdb.Unavailable(n)
		if !w.maySpeak(name) || !w.heard() || len(w.State.Side(name).Budgets) != 1 || w.State.Side(name).Budgets[0].Form.Equal(form) || w.author == nil || w.author.Equal(form) {
			return nil
		}
		was := *w.author
		w.puts(name, form, "kubectl", marked)
		w.speaks(form)
		return func(w *model) {
			if len(w.State.Side(name).Budgets) == 1 && !w.State.Side(name).Budgets[0].Form.Equal(was) {
				w.handsBack(name, was)
			}
		}
	}
}

// handsBack makes the author write a former form, and hand the budget over. If the migration has not observed a
// change in between, that form is the recorded one, as if a tool had written it.
func (m *machine) handsBack(name plan.SideName, form pdb.Form) {
	m.puts(name, form, "kubectl", false)
	now := m.State.Side(name).Budgets[0]
	now.HandedOver = true
	m.PutBudget(name, &now)
	m.speaks(form)
}

// authorCreates makes the author create the first budget.
func authorCreates(name plan.SideName, n int32) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if !w.maySpeak(name) || w.author != nil || len(w.State.Side(name).Budgets) > 0 {
			return nil
		}
		w.authorMakes(name, n, "web")
		return func(*model) {}
	}
}

func (m *machine) authorMakes(name plan.SideName, n int32, called string) {
	form := pdb.Unavailable(n)
	m.PutBudget(name, &plan.Budget{Name: called, UID: m.NewUID(), Generation: 1, Form: form, WrittenBy: "kubectl"})
	m.speaks(form)
}

// authorReplaces makes the author delete a budget and create another one.
func authorReplaces(name plan.SideName, n int32, called string) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if !w.maySpeak(name) || len(w.State.Side(name).Budgets) != 1 || w.author == nil {
			return nil
		}
		was := *w.author
		w.authorMakes(name, n, called)
		w.remade = true
		return func(w *model) {
			if n == 0 && len(w.State.Side(name).Budgets) == 1 {
				w.handsBack(name, was)
			}
		}
	}
}

// authorDoubles makes the author create a second budget over the same pods.
func authorDoubles(name plan.SideName) func(*model) func(*model) {
	return func(w *model) func(*model) {
		if !w.maySpeak(name) || len(w.State.Side(name).Budgets) != 1 || w.State.Spec.SameNamespace {
			return nil
		}
		side := w.State.Side(name)
		second := plan.Budget{Name: "second", UID: w.NewUID(), ResourceVersion: w.NewVersion(), Generation: 1, Form: pdb.Unavailable(1), WrittenBy: "kubectl", Observed: true}
		side.Budgets = append(slices.Clone(side.Budgets), second)
		return func(w *model) {
			side := w.State.Side(name)
			side.Budgets = slices.DeleteFunc(slices.Clone(side.Budgets), func(b plan.Budget) bool { return b.UID == second.UID })
		}
	}
}

// allowance returns d for the author's last form and the requested number.
func (m *machine) allowance(asked *intstr.IntOrString) int32 {
	base := m.State.Record.Baseline
	d := int32(1)
	if m.author != nil {
		d = mustBudget(*m.author, base.Replicas)
	} else if asked != nil {
		return mustBudget(pdb.Form{MaxUnavailable: asked}, base.Replicas)
	}
	if asked != nil {
		d = min(d, mustBudget(pdb.Form{MaxUnavailable: asked}, base.Replicas))
	}
	return d
}

func mustBudget(form pdb.Form, replicas int32) int32 {
	n, err := pdb.Budget(form, replicas)
	if err != nil {
		panic(err)
	}
	return n
}

// heard reports whether the migration has recorded the author's last form.
func (m *machine) heard() bool {
	base := m.State.Record.Baseline
	if base == nil || m.author == nil {
		return true
	}
	recorded := base.DisruptionBudget
	return recorded != nil && m.author.Equal(pdb.Form{MinAvailable: recorded.MinAvailable, MaxUnavailable: recorded.MaxUnavailable})
}

// twoWords reports whether the budgets of the two sides were both written since and differ: the objects do not
// show which of them is newer.
func (m *machine) twoWords() bool {
	base, source, destination := m.State.Record.Baseline, m.State.Source.Budgets, m.State.Destination.Budgets
	if base == nil || base.DisruptionBudget == nil || len(source) != 1 || len(destination) != 1 || m.State.Spec.SameNamespace {
		return false
	}
	recorded := pdb.Form{MinAvailable: base.DisruptionBudget.MinAvailable, MaxUnavailable: base.DisruptionBudget.MaxUnavailable}
	since := func(b plan.Budget, seen *api.BudgetVersion) bool {
		return !b.Form.Equal(recorded) || b.Fence == "" && seen != nil && seen.UID != b.UID
	}
	return !source[0].Form.Equal(destination[0].Form) && since(source[0], base.SourceBudget) && since(destination[0], base.DestinationBudget)
}

// followed reports whether the migration has recorded the author's form, and complies with it. While an ordinal
// is down, and while both slices have replicas, no budget has a form that another client wrote.
func (m *machine) followed() bool {
	shared := len(m.held) > 0 || m.State.Source.Set.Replicas > 0 && m.State.Destination.Set.Replicas > 0
	for _, name := range plan.SideNames {
		for _, b := range m.State.Side(name).Budgets {
			if !b.Observed || shared && (b.Fence == "" || b.Edited()) {
				return false
			}
		}
	}
	strict := *m
	strict.grace = false
	return m.heard() && m.within() && strict.budgetKept() == ""
}

// within reports whether the forms of both budgets, and the stopped ordinals, comply with the author's last
// form.
func (m *machine) within() bool {
	if m.author == nil || m.State.Record.Baseline == nil {
		return true
	}
	limit := m.allowance(m.State.Spec.MaxUnavailable)
	total := int32(len(m.held) - len(m.idle))
	if len(m.held) == 0 {
		limit = max(limit, m.allowance(nil))
	}
	for _, name := range plan.SideNames {
		at, selected := m.budgetOf(name)
		if at != name {
			continue
		}
		var replicas int32
		for _, side := range selected {
			replicas += m.State.Side(side).Set.Replicas
		}
		for _, b := range m.State.Side(name).Budgets {
			total += mustBudget(b.Form, replicas)
		}
	}
	return total <= limit
}

// heeded checks that nothing is stopped, and no budget is written, before the author's last form is recorded.
func (m *machine) heeded(e plan.Effect, late bool) {
	stops := e.Verb == plan.ScaleDown || e.Verb == plan.SetBudget || e.Verb == plan.RestoreBudget
	if stops && !late && !m.heard() {
		m.breaks("I4: %s, and the author has written %s", e, *m.author)
	}
}

// budgetBack returns how the source's budget differs from the author's last form after a rollback.
func (m *machine) budgetBack() string {
	all := m.State.Source.Budgets
	if len(all) != 1 || all[0].Fence != "" || !all[0].Form.Equal(*m.author) {
		return fmt.Sprintf("the source's budgets are %+v, and the author has written %s", all, *m.author)
	}
	prepared := func(b plan.Budget) bool {
		return slices.ContainsFunc(m.begin.Destination.Budgets, func(was plan.Budget) bool { return was.UID == b.UID })
	}
	if there := slices.DeleteFunc(slices.Clone(m.State.Destination.Budgets), prepared); len(there) > 0 && !m.State.Spec.SameNamespace {
		return fmt.Sprintf("the destination has budgets: %+v", there)
	}
	return ""
}

// words prints the recorded form of the author.
func (p *printer) words(w *model, base *api.Baseline) {
	p.number(int(base.Budget))
	if d := base.DisruptionBudget; d != nil {
		p.text(d.Name)
		p.text(pdb.Form{MinAvailable: d.MinAvailable, MaxUnavailable: d.MaxUnavailable}.String())
	}
	for _, name := range plan.SideNames {
		seen := base.SourceBudget
		if name == plan.DestinationSide {
			seen = base.DestinationBudget
		}
		if seen == nil {
			p.number(0)
			continue
		}
		p.name(string(seen.UID))
		newer := false
		for _, b := range w.State.Side(name).Budgets {
			newer = newer || b.UID == seen.UID && b.Generation > seen.Generation
		}
		p.bools(true, seen.Taken, newer)
	}
	p.bools(w.spoken, w.grace, w.author != nil)
	if w.author != nil {
		p.text(w.author.String())
	}
}

// authorBounds returns the worlds with authors.
func authorBounds() []bound {
	d := pdbtest.MaxUnavailable
	return []bound{
		{"2, no budget, authors", plantest.Scenario{Replicas: 2}, 1, kindsOfFault{authors}, nil},
		{"3, d 2, authors", plantest.Scenario{Replicas: 3, Budget: d(2)}, 1, kindsOfFault{authors}, nil},
		{"1, d 1, authors, evictions", plantest.Scenario{Replicas: 1, Budget: d(1)}, 2, kindsOfFault{authors, evicting}, nil},
		{"1, no budget, authors, modes", plantest.Scenario{Replicas: 1}, 2, kindsOfFault{authors, turns}, nil},
	}
}

// TestModelOfAuthors explores every state of moves whose PodDisruptionBudget its author creates, lowers,
// raises, replaces, renames or doubles at any moment (H2, H3). Each form is recorded before it is overwritten,
// d follows the last one, and the end restores it.
func TestModelOfAuthors(t *testing.T) {
	tiny, small := func() []bound { return authorBounds()[:1] }, func() []bound { return authorBounds()[:2] }
	exploreAll(t, within(tiny, small, authorBounds), ofRebind)
}

// TestH3ToolAtAGate: a tool that restores its version while the move waits at a gate is named, and its write is
// not overwritten.
func TestH3ToolAtAGate(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2)})
	y.until(plan.ScaleUp, 1)
	y.pass(lands)
	y.settle(everyone)
	y.fail(plan.SourceSide, 0)
	y.fail(plan.SourceSide, 1)
	for range 12 {
		y.machine.pass(y.p, y.fair()) // without the step that makes the pods Ready
		y.settle(func(s step) bool { return s.kind == budgets })
	}
	y.putBack(plan.SourceSide, "flux")
	before := y.landed
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonForeignBudget {
		t.Errorf("got %+v", hold)
	}
	if y.landed != before {
		t.Error("it was fought")
	}
}

// TestDeletedWhileAToolWrites: a Migration is deleted while a tool keeps its own version of a budget. At the
// end the volumes have the reclaim policies of their owner (I9).
func TestDeletedWhileAToolWrites(t *testing.T) {
	for _, name := range plan.SideNames {
		y := newPlay(t, threeClaims())
		y.until(plan.ScaleDown, 2)
		y.putBack(name, "flux")
		if hold := y.holdOf(); hold.Reason != api.ReasonForeignBudget {
			t.Fatalf("got %+v", hold)
		}
		y.State.Deleting = true
		y.version++
		y.end()
		if y.State.Volumes[2].Destination.Volume.Policy != corev1.PersistentVolumeReclaimDelete {
			t.Errorf("%s: got %+v", name, y.State.Volumes[2].Destination.Volume)
		}
	}
}

// TestH3TwoWords: while an ordinal is down, the author recreates the source's budget with the recorded form and
// raises the destination's in one pass. The objects do not show which is newer. The ordinal starts, neither
// form is overwritten, and the next stop waits.
func TestH3TwoWords(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	y.pass(lands)
	y.authorMakes(plan.SourceSide, 1, "web")
	y.puts(plan.DestinationSide, pdb.Unavailable(9), "kubectl", true)
	y.speaks(pdb.Unavailable(9))
	for range 12 {
		y.machine.pass(y.p, y.fair())
		y.settle(everyone)
	}
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonForeignBudget {
		t.Errorf("got %+v", hold)
	}
	if all := y.State.Destination.Budgets; !all[0].Form.Equal(pdb.Unavailable(9)) {
		t.Errorf("the author's form is overwritten: %+v", all)
	}
}

// TestDeletedWholeWhileAToolWrites: a Migration is deleted after all ordinals have moved, while a tool keeps
// its own version of one budget. The other budget, which has a form of the migration, is restored to its
// author's form (I9).
func TestDeletedWholeWhileAToolWrites(t *testing.T) {
	y := newPlay(t, threeClaims())
	y.until(plan.ScaleUp, 3)
	y.pass(lands)
	y.settle(everyone)
	y.putBack(plan.DestinationSide, "flux")
	if hold := y.holdOf(); hold.Reason != api.ReasonForeignBudget {
		t.Fatalf("got %+v", hold)
	}
	y.State.Deleting = true
	y.version++
	y.end()
	if b := y.State.Source.Budgets[0]; b.Fence != "" {
		t.Errorf("got %+v", b)
	}
}
