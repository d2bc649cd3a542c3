package planner

import (
	"cmp"
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// wordPlanner follows the author's changes of the PodDisruptionBudget during the move. The form written last
// counts, and is recorded before the migration overwrites it.
type wordPlanner struct {
	*View
	budget budgetPlanner
}

// heed records the author's new form, or stalls if the move cannot follow it. It does not stall while an ordinal
// is down: that ordinal starts first.
func (p wordPlanner) heed() *plan.Decision {
	refused, words := p.refused(), p.words()
	switch {
	case p.stopped() && refused != nil:
		return nil
	case refused != nil:
		return refused
	case len(words) == 0:
		return nil
	}
	if decision := p.unfit(words); decision != nil {
		if p.stopped() {
			return nil
		}
		return decision
	}
	return p.adopt(words)
}

// budgetSides returns the sides that have a PodDisruptionBudget of their own.
func (p *View) budgetSides() []plan.SideName {
	if p.Spec.SameNamespace {
		return []plan.SideName{plan.SourceSide}
	}
	return plan.SideNames
}

// refused stalls if there are several budgets, or if a tool repeatedly writes its own version.
func (p wordPlanner) refused() *plan.Decision {
	for _, name := range plan.SideNames {
		side := p.Side(name)
		if len(side.Budgets) > 1 {
			return stalledBy(SeveralBudgets(*side))
		}
	}
	for _, name := range p.budgetSides() {
		side := p.Side(name)
		for _, budget := range side.Budgets {
			if p.budget.saying(name, budget) == plan.PutBack {
				return plan.Stalled(api.ReasonForeignBudget,
					fmt.Sprintf("%s was changed by %q while the migration owns it", side.BudgetNamed(budget.Name), budget.Writer()),
					"stop that writer, then hand the budget back: "+side.Kubectl().Do("annotate", "pdb", "-n", side.Namespace, budget.Name, "--overwrite", fmt.Sprintf("%s=%s", api.BudgetAnnotationKey, api.BudgetHandedOver)))
			}
		}
	}
	return nil
}

// words returns the sides whose budget has a new form of its author.
func (p wordPlanner) words() []plan.SideName {
	var words []plan.SideName
	for _, name := range p.budgetSides() {
		side := p.Side(name)
		if len(side.Budgets) != 1 {
			continue
		}
		said := p.budget.saying(name, side.Budgets[0])
		if said == plan.Word || said == plan.Recorded && name == plan.SourceSide && p.renamed(side.Budgets[0]) {
			words = append(words, name)
		}
	}
	if len(words) == 1 && !p.Spec.SameNamespace && p.replaced(words[0].Other()) {
		return plan.SideNames // the recorded form, in a new object: the objects do not show which of the two is newer
	}
	return words
}

// replaced reports whether a side has another PodDisruptionBudget than the recorded one, without a mark of the
// migration.
func (p wordPlanner) replaced(name plan.SideName) bool {
	all, seen := p.Side(name).Budgets, *seenBudget(p.Record.Baseline, name)
	return len(all) == 1 && all[0].Fence == "" && seen != nil && seen.UID != all[0].UID
}

// renamed reports whether the source's budget has another name than the recorded one.
func (p wordPlanner) renamed(b plan.Budget) bool {
	recorded := p.Record.Baseline.DisruptionBudget
	return recorded != nil && b.Name != recorded.Name && b.Fence == ""
}

// unfit stalls if a new form cannot be split between both slices.
func (p wordPlanner) unfit(words []plan.SideName) *plan.Decision {
	for _, name := range words {
		side := *p.Side(name)
		if finding := CoversOthers(side); finding != nil {
			return stalledBy(*finding)
		}
		if finding := LeavesOut(side); finding != nil {
			return stalledBy(*finding)
		}
		b := side.Budgets[0]
		if _, err := pdb.Budget(b.Form, p.Record.Baseline.Replicas); err != nil {
			return plan.Stalled(api.ReasonBudgetInvalid, side.BudgetNamed(b.Name)+": "+err.Error(), side.Kubectl().Do("edit", "pdb", "-n", side.Namespace, b.Name))
		}
	}
	return cmp.Or(p.differ(words), p.uncommon(words))
}

// differ stalls if the sides have different new forms, or if the destination's first budget has another form than
// the source's.
func (p wordPlanner) differ(words []plan.SideName) *plan.Decision {
	there := p.Destination.Budgets
	if p.Spec.SameNamespace || len(there) != 1 || words[len(words)-1] != plan.DestinationSide {
		return nil
	}
	other := p.budget.recorded()
	if len(words) > 1 {
		other = &p.Source.Budgets[0].Form
	} else if p.Record.Baseline.DestinationBudget != nil || there[0].Fence != "" || there[0].Ours {
		return nil // the budget has the author's form of a share
	}
	if other == nil || there[0].Form.Equal(*other) {
		return nil
	}
	return plan.Stalled(api.ReasonForeignBudget,
		fmt.Sprintf("%s says %s and the source's says %s: it is unknown which of the two applies", p.Destination.BudgetNamed(there[0].Name), there[0].Form, other),
		"give both the same form")
}

// uncommon stalls if a new PodDisruptionBudget covers only one of the slices, and ordinals are left to move.
func (p wordPlanner) uncommon(words []plan.SideName) *plan.Decision {
	if p.Spec.SameNamespace {
		source, destination := p.Source.Budgets, p.Destination.Budgets
		if len(source) == 1 && len(destination) == 1 && source[0].UID == destination[0].UID || p.Destination.Set.Presence != plan.Seen {
			return nil
		}
		return plan.Stalled(api.ReasonForeignBudget, p.Source.BudgetNamed(source[0].Name)+" does not select the pods of source and destination: their replicas would have no common budget",
			"make its selector match the labels of the pod template on each side")
	}
	if words[0] != plan.DestinationSide || p.Record.Baseline.DisruptionBudget != nil {
		return nil
	}
	b := p.Destination.Budgets[0]
	return plan.Stalled(api.ReasonForeignBudget, p.Destination.BudgetNamed(b.Name)+" selects the pods, and the source has no PodDisruptionBudget to share it with",
		"create the same PodDisruptionBudget at the source")
}

// adopt records the author's form. The form then bounds the move, and is restored at the end.
func (p wordPlanner) adopt(words []plan.SideName) *plan.Decision {
	next, base := p.Record, *p.Record.Baseline
	b := p.Side(words[0]).Budgets[0]
	base.DisruptionBudget = &api.DisruptionBudget{Name: b.Name, MinAvailable: b.Form.MinAvailable, MaxUnavailable: b.Form.MaxUnavailable}
	if words[0] == plan.DestinationSide && p.Record.Baseline.DisruptionBudget != nil {
		base.DisruptionBudget.Name = p.Record.Baseline.DisruptionBudget.Name // the name is that of the source's budget
	}
	base.Budget, _ = pdb.Budget(b.Form, base.Replicas)
	if p.Spec.MaxUnavailable != nil {
		asked, err := pdb.Budget(pdb.Form{MaxUnavailable: p.Spec.MaxUnavailable}, base.Replicas)
		if err == nil {
			base.Budget = min(base.Budget, asked)
		}
	}
	for _, name := range p.budgetSides() {
		side := p.Side(name)
		if len(side.Budgets) == 1 && p.budget.saying(name, side.Budgets[0]) != plan.OfMigration { // older forms do not count again
			*seenBudget(&base, name) = versionOf(side.Budgets[0])
		}
	}
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// versionOf returns the version of a budget.
func versionOf(b plan.Budget) *api.BudgetVersion {
	return &api.BudgetVersion{UID: b.UID, Generation: b.Generation}
}

// seenBudget returns the field that records the version of a side's budget.
func seenBudget(base *api.Baseline, name plan.SideName) **api.BudgetVersion {
	if name == plan.SourceSide {
		return &base.SourceBudget
	}
	return &base.DestinationBudget
}

// saying classifies the form of a side's budget by its author.
func (p budgetPlanner) saying(name plan.SideName, b plan.Budget) plan.Saying {
	return b.Saying(*seenBudget(p.Record.Baseline, name), p.recorded())
}

// recorded returns the author's last form; nil without a budget.
func (p budgetPlanner) recorded() *pdb.Form {
	if p.Record.Baseline.DisruptionBudget == nil {
		return nil
	}
	form := p.author()
	return &form
}

// recordMarks records which budgets have the migration's mark. A writer that later removes the mark and restores
// the recorded form is a tool.
func (p budgetPlanner) recordMarks() *plan.Decision {
	if p.Record.Baseline.DisruptionBudget == nil {
		return nil
	}
	next, base, changed := p.Record, *p.Record.Baseline, false
	for _, name := range p.budgetSides() {
		side, seen := p.Side(name), seenBudget(&base, name)
		if len(side.Budgets) != 1 || p.saying(name, side.Budgets[0]) != plan.OfMigration {
			continue
		}
		b := side.Budgets[0]
		if was := *seen; was != nil && was.UID == b.UID && was.Taken {
			continue
		}
		*seen, changed = &api.BudgetVersion{UID: b.UID, Generation: b.Generation, Taken: true}, true
	}
	if !changed {
		return nil
	}
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// giveBack restores a side's PodDisruptionBudget. Before that it clears the record of both marks, so that any
// later form counts as its author's.
func (p budgetPlanner) giveBack(name plan.SideName) *plan.Decision {
	decision := p.restoreBudget(name)
	if decision == nil {
		return nil
	}
	next, base, taken := p.Record, *p.Record.Baseline, false
	for _, at := range p.budgetSides() {
		seen, side := seenBudget(&base, at), p.Side(at)
		if *seen == nil || !(*seen).Taken || len(side.Budgets) != 1 {
			continue
		}
		*seen, taken = versionOf(side.Budgets[0]), true
	}
	if !taken {
		return decision
	}
	next.Baseline = &base
	return &plan.Decision{Record: &next}
}

// curb lowers the budgets while an ordinal is down, when the author has lowered their sum. It never waits, and
// does not change forms that cannot be recorded yet.
func (p budgetPlanner) curb() *plan.Decision {
	author := wordPlanner{p.View, p}
	if p.Record.Baseline.DisruptionBudget == nil || p.downInFlight() == 0 || author.refused() != nil || len(author.words()) > 0 {
		return nil
	}
	n := p.downInFlight()
	want := p.wanted(n)
	source, destination := p.applied(plan.SourceSide, n, want.Source), p.applied(plan.DestinationSide, n, want.Destination)
	if source.Allows+destination.Allows <= max(0, p.Record.Baseline.Budget-n) {
		return nil
	}
	var decision *plan.Decision
	switch {
	case len(p.Source.Budgets) == 1 && source.Allows > want.Source:
		decision = p.setBudget(plan.SourceSide, want.Source, n)
	case len(p.Destination.Budgets) == 1 && destination.Allows > want.Destination:
		decision = p.setBudget(plan.DestinationSide, want.Destination, n)
	}
	if decision == nil || decision.Effect == nil || decision.Effect.Form.MinAvailable == nil {
		return decision
	}
	k := p.Record.Handoff.Ordinal
	if _, there := p.giver.Pod(k); !p.giver.Set.Has(k) && (there || !p.giver.Set.Observed) { // the pod counts as one that stays, or its controller may recreate it
		decision.Effect.Form = pdb.Available(decision.Effect.Form.MinAvailable.IntVal + 1)
	}
	return decision
}

// withdrawn reports whether the author has deleted the budget of the side that owns the whole application, with no
// ordinal left to move.
func (p budgetPlanner) withdrawn() bool {
	_, more := p.next()
	name, whole := plan.DestinationSide, p.whole()
	if p.direction() == api.Back {
		name, whole = plan.SourceSide, p.layout.moved == 0
	}
	return !more && whole && !p.resting() && !p.Spec.SameNamespace && p.Record.Idle() &&
		*seenBudget(p.Record.Baseline, name) != nil && len(p.Side(name).Budgets) == 0
}
