package planner

import (
	"fmt"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// budgetPlanner splits the disruption budget over both sides, and gives it back (I4).
type budgetPlanner struct{ *View }

// reserveBudget brings both PodDisruptionBudgets to what they may allow together while so
// many replicas are in flight (I4), and roll-outs that ask none of them to what they may
// take down. It returns nil when they say so and their controllers have confirmed it.
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

// wanted is what both budgets shall allow. In one namespace the source's stands for
// both: one PodDisruptionBudget selects both slices. Between two handoffs all of it goes
// where a roll-out needs it, the source first: our own kind evicts, and would wait for ever. What
// the end leaves stays so: where there is enough for both slices, both have a part of it.
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

// SplitShare is what both PodDisruptionBudgets of a split application allow of d, by who is to
// have it.
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

// splitFor is who is to have the budget of an application that stays split, or is split while
// the migration pauses.
func (p budgetPlanner) splitFor() api.SplitBudget {
	_, more := p.next()
	if more && !p.resting() || p.Deleting || p.Source.Set.Replicas == 0 || p.Destination.Set.Replicas == 0 {
		return api.SplitBudgetProportional
	}
	return p.Spec.SplitBudget
}

// selected is how many replicas a side's PodDisruptionBudget is about, and how many
// of them are unavailable. While an ordinal is in flight it does not count.
func (p budgetPlanner) selected(name plan.SideName, inFlight int32) (replicas, down int32) {
	var leaveOut *int32
	if inFlight > 0 && p.Record.Handoff != nil {
		leaveOut = &p.Record.Handoff.Ordinal
	}
	for _, at := range plan.SideNames {
		if at == name || p.Spec.SameNamespace {
			side := *p.Side(at)
			replicas += side.Set.Replicas
			down += int32(len(plan.PodNames(side, p.down(at), leaveOut)))
		}
	}
	return replicas, down
}

// applied is what a side's PodDisruptionBudget says now. A side without replicas and
// without a budget allows nothing. The author's own form is left alone while no
// ordinal is on its way and it allows what is wanted, or it is its turn.
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
	if p.Record.Handoff == nil && p.original(b) && (allows == want || p.authorsTurn()) {
		return pdb.Applied{Allows: want, Down: down, Exact: true, Confirmed: b.Observed}
	}
	if n := b.Form.MaxUnavailable; b.Fence != "" && n != nil && n.StrVal == "" {
		// An integer speaks of the slice as it was when it was written: the slice
		// may have been larger, and may be again.
		allows = n.IntVal
	}
	exact := b.Fence == p.fence() && !b.Edited() && p.notes(b) && atLeast(b.Form, p.form(name, allows, inFlight))
	// A pod that is gone may not have been counted out yet: until then more evictions
	// are granted than the form allows.
	return pdb.Applied{Allows: allows, Down: down, Exact: exact, Confirmed: b.Observed && b.Evictions <= allows}
}

// authorsTurn says whether the author's form of a budget is right whatever it allows: nothing is
// left to move, and the one PodDisruptionBudget is about the whole application.
func (p budgetPlanner) authorsTurn() bool {
	_, more := p.next()
	whole := p.layout.moved == 0 || p.whole() || p.Spec.SameNamespace
	return (!more || p.Deleting) && whole
}

// form is how a side's PodDisruptionBudget says that it allows so many. It names what
// must stay for the slice that gives an ordinal, and for two slices under one budget:
// of those the disruption controller expects nothing of a slice whose last pod is
// gone for a moment.
func (p budgetPlanner) form(name plan.SideName, allows, inFlight int32) pdb.Form {
	if inFlight > 0 && name == p.giverName || p.Spec.SameNamespace {
		replicas, _ := p.selected(name, inFlight)
		return pdb.Available(max(0, replicas-allows))
	}
	return pdb.Unavailable(allows)
}

// atLeast says whether a form is the one that is wanted. A slice that has given an
// ordinal keeps the number that had to stay before: it is stricter, and allows no
// less than nothing.
func atLeast(have, want pdb.Form) bool {
	if have.MinAvailable != nil && want.MinAvailable != nil {
		return have.MinAvailable.StrVal == "" && have.MinAvailable.IntVal >= want.MinAvailable.IntVal
	}
	return have.Equal(want)
}

// overdrawn says why the ordinal in flight must not be stopped yet, although the
// budgets are shared out: replicas of one slice are down that its share does not
// cover, and the other's share could still be used up (I4).
func (p budgetPlanner) overdrawn() *plan.Hold {
	base := p.Record.Baseline
	if base.DisruptionBudget == nil {
		return nil
	}
	want := p.wanted(1)
	if pdb.Loss(p.applied(plan.SourceSide, 1, want.Source), p.applied(plan.DestinationSide, 1, want.Destination))+1 <= base.Budget {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonReplicaUnavailable,
		Message: fmt.Sprintf("waiting until %s is available: together with evictions that are still allowed, another replica down would exceed the budget of %d",
			plan.Listed(p.allUnavailable(&p.Record.Handoff.Ordinal)), base.Budget),
	}
}

// original says whether a budget is its author's: it has the form that was recorded
// and no migration has taken it over.
func (p budgetPlanner) original(b plan.Budget) bool {
	return b.Fence == "" && b.Form.Equal(p.author())
}

// notes reports whether what the migration has noted on a budget is the form that its author wrote last.
func (p budgetPlanner) notes(b plan.Budget) bool {
	return b.Author == nil || b.Author.Equal(p.author())
}

// author is the form in which the PodDisruptionBudget was written last.
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
		"create it again as it was: "+p.author().String()+"; a PodDisruptionBudget of another form counts from then on")
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

// restoreOwn writes the author's form over each form of the migration, where one PodDisruptionBudget is about the whole application.
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

// capRollouts bounds the roll-outs of our own kind (I4): some ask no PodDisruptionBudget. While an
// ordinal is in flight they take nothing down; between two handoffs one slice has all of the
// budget that the other leaves. It returns nil when the controllers of those that are to
// wait have confirmed it, and when no ordinal is left to move.
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

// growCap gives the slice that rolls out what the other leaves of the budget. What is
// down there later takes nothing back, as a PodDisruptionBudget that has grown stays.
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

// capped says whether a migration bounds the roll-outs of a set.
func capped(s plan.Set) bool { return s.Presence == plan.Seen && s.Rolls.Own }

// rolling is the slice whose roll-out is to go on, the source first; empty: there is none,
// or it is to wait. One that takes all pods at once waits for the end.
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

// liftCaps takes the caps away when no ordinal is left to move: what comes until the end
// may take long, and bounds no roll-out.
func (p budgetPlanner) liftCaps() *plan.Decision {
	if _, more := p.next(); more || p.Deleting {
		return nil
	}
	for _, name := range plan.SideNames {
		if set := p.Side(name).Set; capped(set) && set.Rolls.Shared {
			return writeSet(set, plan.Effect{Verb: plan.LiftShare, Side: name})
		}
	}
	return nil
}

// setCap writes a cap once the former one is confirmed: so a confirmation is never one of
// the same number that was written earlier.
func (p budgetPlanner) setCap(name plan.SideName, most int32) *plan.Decision {
	set := p.Side(name).Set
	if !set.Rolls.Heeded {
		return p.capUnobserved(name)
	}
	return writeSet(set, plan.Effect{Verb: plan.SetShare, Side: name, MaxUnavailable: most})
}

func (p budgetPlanner) capUnobserved(name plan.SideName) *plan.Decision {
	return &plan.Decision{Hold: &plan.Hold{
		Reason:  api.ReasonBudgetUnconfirmed,
		Message: "waiting until the controller of " + p.Side(name).Object() + " has confirmed how many pods its roll-outs may take down",
	}}
}
