package planner

import (
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// budgetPlanner splits the disruption budget between both sides, and restores it (I4).
type budgetPlanner struct{ *View }

// reserveBudget sets both PodDisruptionBudgets to what they may allow together with inFlight replicas in flight
// (I4). It also limits rollouts that do not consult a PodDisruptionBudget. It returns nil when both are set and
// their controllers have confirmed it.
func (p budgetPlanner) reserveBudget(inFlight int32) *plan.Decision {
	if decision := p.capRollouts(inFlight); decision != nil {
		return decision
	}
	if p.Record.Baseline.DisruptionBudget == nil || p.withdrawn() {
		return nil
	}
	want := p.wanted(inFlight)
	move, allows := pdb.Next(p.applied(plan.SourceSide, inFlight, want.Source), p.applied(plan.DestinationSide, inFlight, want.Destination), want)
	switch move {
	case pdb.SetSource:
		return p.setBudget(plan.SourceSide, allows, inFlight)
	case pdb.SetDestination:
		return p.setBudget(plan.DestinationSide, allows, inFlight)
	case pdb.AwaitConfirmation:
		return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonBudgetUnconfirmed, Message: "waiting until the disruption controller has observed the PodDisruptionBudgets"}}
	case pdb.AwaitRecovery:
		if inFlight > 0 {
			return nil // a handoff needs no budget to grow
		}
		return &plan.Decision{Hold: &plan.Hold{
			Reason:  api.ReasonReplicaUnavailable,
			Message: fmt.Sprintf("waiting until %s is available: until then no PodDisruptionBudget may allow more", plan.Listed(p.allUnavailable(nil))),
		}}
	case pdb.Reached:
	}
	return nil
}

// whileRunning sets both budgets for the ordinals that are down while ordinal k runs and waits. Of several ordinals that
// run, only the next one to stop decides: another one would give back what that one has reserved.
func (p budgetPlanner) whileRunning(k int32) *plan.Decision {
	if _, later := p.stopsBefore(k); later {
		return nil
	}
	return p.reserveBudget(p.inFlight())
}

// wanted returns what both budgets must allow. In one namespace, the source's budget covers both slices, since one
// PodDisruptionBudget selects both. Between two handoffs, a slice with a rollout gets the whole budget, the source
// first: our own kind evicts, and would otherwise wait without end. The split of the end remains: if the budget is
// large enough for both slices, each has a part of it.
func (p budgetPlanner) wanted(inFlight int32) pdb.Share {
	d := p.Record.Baseline.Budget
	_, more := p.next()
	between := inFlight == 0 && (more || d == 1)
	switch {
	case p.Spec.SameNamespace:
		return pdb.Share{Source: max(0, d-inFlight)}
	case inFlight == 0 && (p.splitFor() == api.SplitBudgetSource || p.splitFor() == api.SplitBudgetDestination):
		return SplitShare(p.splitFor(), d, pdb.Share{Source: p.Source.Set.Replicas, Destination: p.Destination.Set.Replicas})
	case between && p.Source.Set.RollsOut():
		return pdb.Share{Source: d}
	case between && p.Destination.Set.RollsOut():
		return pdb.Share{Destination: d}
	}
	return pdb.Split(d, inFlight, pdb.Share{Source: p.Source.Set.Replicas, Destination: p.Destination.Set.Replicas})
}

// SplitShare returns what each PodDisruptionBudget of a split application allows of d, by the side that gets the
// budget.
func SplitShare(to api.SplitBudget, d int32, size pdb.Share) pdb.Share {
	switch to {
	case api.SplitBudgetSource:
		source := min(d, size.Source)
		return pdb.Share{Source: source, Destination: min(d-source, size.Destination)}
	case api.SplitBudgetDestination:
		destination := min(d, size.Destination)
		return pdb.Share{Source: min(d-destination, size.Source), Destination: destination}
	default:
		return pdb.Split(d, 0, size)
	}
}

// splitFor returns the owner of the budget of an application that stays split, or is split while the migration is
// paused.
func (p budgetPlanner) splitFor() api.SplitBudget {
	_, more := p.next()
	if more && !p.resting() || p.Deleting || p.Source.Set.Replicas == 0 || p.Destination.Set.Replicas == 0 {
		return api.SplitBudgetProportional
	}
	return p.Spec.SplitBudget
}

// selected returns how many replicas a side's PodDisruptionBudget covers, and how many of them are unavailable.
// The ordinals in flight do not count as unavailable.
func (p budgetPlanner) selected(name plan.SideName, inFlight int32) (replicas, down int32) {
	var leaveOut *int32
	if h := p.Record.Handoff; h != nil && inFlight > 0 && (inFlight > p.inFlight() || !p.giver.Set.Has(h.Ordinal)) {
		leaveOut = &h.Ordinal
	}
	for _, at := range plan.SideNames {
		if at != name && !p.Spec.SameNamespace {
			continue
		}
		side := *p.Side(at)
		replicas += side.Set.Replicas + p.lingering(at)
		down += int32(len(plan.PodNames(side, p.without(p.down(at)), leaveOut)))
	}
	return replicas, down
}

// without returns the ordinals except those that count as unavailable because they are in flight beside the one in focus.
func (p *View) without(ordinals []int32) []int32 {
	counted := p.counted()
	if len(counted) == 0 {
		return ordinals
	}
	return slices.DeleteFunc(slices.Clone(ordinals), func(k int32) bool {
		return slices.ContainsFunc(counted, func(h api.Handoff) bool { return h.Ordinal == k })
	})
}

// applied returns what a side's PodDisruptionBudget allows now. A side without replicas and without a budget
// allows nothing. The author's own form counts as exact while no ordinal is in flight, if it allows the wanted
// number or must apply unchanged (authorsTurn).
func (p budgetPlanner) applied(name plan.SideName, inFlight, want int32) pdb.Applied {
	if p.Spec.SameNamespace && name == plan.DestinationSide {
		return pdb.Applied{Exact: true, Confirmed: true}
	}
	replicas, down := p.selected(name, inFlight)
	side := p.Side(name)
	if len(side.Budgets) == 0 {
		return pdb.Applied{Down: down, Exact: replicas == 0, Confirmed: true}
	}
	b := side.Budgets[0]
	allows, err := pdb.Budget(b.Form, replicas)
	if err != nil {
		allows = replicas
	}
	if p.Record.Idle() && p.original(b) && (allows == want || p.authorsTurn()) {
		return pdb.Applied{Allows: want, Down: down, Exact: true, Confirmed: b.Observed}
	}
	if n := b.Form.MaxUnavailable; b.Fence != "" && n != nil && n.StrVal == "" {
		// An integer refers to the slice at the time of the write: the slice may have been larger, and may grow
		// again.
		allows = n.IntVal
	}
	exact := b.Fence == p.fence() && !b.Edited() && p.notes(b) && atLeast(b.Form, p.form(name, allows, inFlight))
	// The disruption controller may still count a deleted pod: until it does not, it grants more evictions than
	// the form allows.
	return pdb.Applied{Allows: allows, Down: down, Exact: exact, Confirmed: b.Observed && b.Evictions <= allows}
}

// authorsTurn reports whether the author's form of a budget is correct whatever it allows: nothing is left to
// move, and one PodDisruptionBudget covers the whole application.
func (p budgetPlanner) authorsTurn() bool {
	_, more := p.next()
	whole := p.layout.moved == 0 || p.whole() || p.Spec.SameNamespace
	return (!more || p.Deleting) && whole
}

// form returns the form in which a side's PodDisruptionBudget allows a number of unavailable replicas. It is
// minAvailable for a slice that gives an ordinal, or has given one, and for two slices under one budget. With
// maxUnavailable, the disruption controller expects no replica of a slice whose last pod is temporarily deleted.
func (p budgetPlanner) form(name plan.SideName, allows, inFlight int32) pdb.Form {
	if inFlight > 0 && (name == p.giverName || p.lingering(name) > 0) || p.Spec.SameNamespace {
		replicas, _ := p.selected(name, inFlight)
		return pdb.Available(max(0, replicas-allows))
	}
	return pdb.Unavailable(allows)
}

// atLeast reports whether a form is at least as strict as the wanted one. A slice that has given an ordinal keeps
// its former minAvailable: that is stricter, and the allowed number is never below zero.
func atLeast(have, want pdb.Form) bool {
	if have.MinAvailable != nil && want.MinAvailable != nil {
		return have.MinAvailable.StrVal == "" && have.MinAvailable.IntVal >= want.MinAvailable.IntVal
	}
	return have.Equal(want)
}

// overdrawn returns the reason that the ordinal in flight must not be stopped yet, although the budgets are split.
// More replicas of one slice are down than its share covers, and the other slice's share could still be used up
// (I4).
func (p budgetPlanner) overdrawn() *plan.Hold {
	base := p.Record.Baseline
	if base.DisruptionBudget == nil {
		return nil
	}
	n := p.inFlight() + 1
	want := p.wanted(n)
	if pdb.Loss(p.applied(plan.SourceSide, n, want.Source), p.applied(plan.DestinationSide, n, want.Destination))+n <= base.Budget {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonReplicaUnavailable,
		Message: fmt.Sprintf("waiting until %s is available: together with evictions that are still allowed, another replica down would exceed the budget of %d",
			plan.Listed(p.allUnavailable(&p.Record.Handoff.Ordinal)), base.Budget),
	}
}

// original reports whether a budget is its author's: it has the recorded form, and no migration has taken it over.
func (p budgetPlanner) original(b plan.Budget) bool {
	return b.Fence == "" && b.Form.Equal(p.author())
}

// notes reports whether the author's form noted on a budget is the last one that the author wrote.
func (p budgetPlanner) notes(b plan.Budget) bool {
	return b.Author == nil || b.Author.Equal(p.author())
}

// author returns the form in which the author last wrote the PodDisruptionBudget.
func (p budgetPlanner) author() pdb.Form {
	original := p.Record.Baseline.DisruptionBudget
	return pdb.Form{MinAvailable: original.MinAvailable, MaxUnavailable: original.MaxUnavailable}
}

func (p budgetPlanner) setBudget(name plan.SideName, allows, inFlight int32) *plan.Decision {
	side := p.Side(name)
	if len(side.Budgets) == 0 {
		return p.lostBudget(*side)
	}
	b := side.Budgets[0]
	return effect(plan.Effect{
		Verb: plan.SetBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion,
		Fence: p.fence(), Form: p.form(name, allows, inFlight), Author: p.author(), MaxUnavailable: allows,
	})
}

func (p budgetPlanner) lostBudget(side plan.Side) *plan.Decision {
	original := p.Record.Baseline.DisruptionBudget
	return plan.Stalled(api.ReasonForeignBudget,
		fmt.Sprintf("PodDisruptionBudget %s/%s does not exist any more in cluster %s, or does not select the pods of %s", side.Namespace, original.Name, side.Cluster, side.Set.Name),
		"create it again unchanged: "+p.author().String()+"; a PodDisruptionBudget of another form counts from then on")
}

// restoreBudget writes the author's form on a side, once.
func (p budgetPlanner) restoreBudget(name plan.SideName) *plan.Decision {
	side := p.Side(name)
	if p.Record.Baseline.DisruptionBudget == nil || len(side.Budgets) == 0 || p.original(side.Budgets[0]) {
		return nil
	}
	b := side.Budgets[0]
	return effect(plan.Effect{Verb: plan.RestoreBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, Form: p.author()})
}

// restoreOwn writes the author's form over the migration's own, where one PodDisruptionBudget covers the whole
// application.
func (p budgetPlanner) restoreOwn() *plan.Decision {
	split := p.layout.moved > 0 && !p.whole() && !p.Spec.SameNamespace
	if split || p.Record.Baseline.DisruptionBudget == nil {
		return nil
	}
	for _, name := range p.budgetSides() {
		for _, b := range p.Side(name).Budgets {
			if p.saying(name, b) == plan.OfMigration {
				return effect(plan.Effect{Verb: plan.RestoreBudget, Side: name, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, Form: p.author()})
			}
		}
	}
	return nil
}

// capRollouts limits the rollouts of our own kind (I4), some of which do not consult a PodDisruptionBudget. While
// an ordinal is in flight, they may take no pod down. Between two handoffs, one slice gets the part of the budget
// that the other does not use. It returns nil when the controllers of the waiting slices have confirmed it, and
// when no ordinal is left to move.
func (p budgetPlanner) capRollouts(inFlight int32) *plan.Decision {
	if _, more := p.next(); inFlight == 0 && (p.Deleting || !more) {
		return nil
	}
	rolls := p.rolling(inFlight)
	waits := inFlight > 0 || rolls != ""
	for _, name := range plan.SideNames {
		set := p.Side(name).Set
		if stands := name != rolls && capped(set); stands && (!set.Rolls.Shared || waits && set.Rolls.Share != 0) {
			return p.setCap(name, 0)
		}
	}
	for _, name := range plan.SideNames {
		if set := p.Side(name).Set; waits && name != rolls && capped(set) && !set.Rolls.Heeded {
			return p.capUnobserved(name)
		}
	}
	return p.growCap(rolls)
}

// growCap gives the slice that rolls out the part of the budget that the other does not use. A later unavailable
// pod of the other slice does not reduce it, just as an enlarged PodDisruptionBudget is not reduced.
func (p budgetPlanner) growCap(name plan.SideName) *plan.Decision {
	if name == "" || !capped(p.Side(name).Set) {
		return nil
	}
	most := p.Record.Baseline.Budget
	for _, other := range plan.SideNames {
		if other != name {
			most -= int32(len(p.down(other)))
		}
	}
	most = max(0, most)
	rolls := p.Side(name).Set.Rolls
	if rolls.Shared && rolls.Share >= most && rolls.Share <= p.Record.Baseline.Budget {
		return nil
	}
	return p.setCap(name, most)
}

// capped reports whether a migration limits the rollouts of a set.
func capped(s plan.Set) bool { return s.Presence == plan.Seen && s.Rolls.Own }

// rolling returns the slice whose rollout may continue, the source first; empty: there is none, or it must wait. A
// rollout that replaces all pods at once waits for the end of the migration.
func (p budgetPlanner) rolling(inFlight int32) plan.SideName {
	if inFlight > 0 {
		return ""
	}
	for _, name := range plan.SideNames {
		if set := p.Side(name).Set; set.RollsOut() && (set.Rolls.Asked || !set.Rolls.AllAtOnce) {
			return name
		}
	}
	return ""
}

// liftCaps removes the limits when no ordinal is left to move: the remaining steps may take long, and need no
// limit.
func (p budgetPlanner) liftCaps() *plan.Decision {
	if _, more := p.next(); more || p.Deleting {
		return nil
	}
	for _, name := range plan.SideNames {
		if set := p.Side(name).Set; capped(set) && set.Rolls.Shared {
			return writeSet(set, plan.Effect{Verb: plan.LiftShare, Side: name}, func(s *plan.SetState) { s.Shared, s.Share = false, 0 })
		}
	}
	return nil
}

// setCap writes a limit once the former one is confirmed. Otherwise the confirmation of an earlier limit with the
// same number could be taken for that of the new one.
func (p budgetPlanner) setCap(name plan.SideName, most int32) *plan.Decision {
	set := p.Side(name).Set
	if !set.Rolls.Heeded {
		return p.capUnobserved(name)
	}
	return writeSet(set, plan.Effect{Verb: plan.SetShare, Side: name}, func(s *plan.SetState) { s.Shared, s.Share = true, most })
}

func (p budgetPlanner) capUnobserved(name plan.SideName) *plan.Decision {
	return &plan.Decision{Hold: &plan.Hold{
		Reason:  api.ReasonBudgetUnconfirmed,
		Message: "waiting until the controller of " + p.Side(name).Object() + " has confirmed how many pods its roll-outs may take down",
	}}
}
