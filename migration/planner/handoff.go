package planner

import (
	"cmp"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// handoffPlanner moves one ordinal from the giver to the taker. Others may be in flight beside it: see inflight.go.
type handoffPlanner struct {
	*View
	gates   gatePlanner
	budget  budgetPlanner
	carried carryPlanner
	hooks   hookPlanner
	ahead   aheadPlanner
	// hold is the gate that holds an ordinal at the giver; nil: none does.
	hold *plan.Hold
}

func handoffOf(v *View) handoffPlanner {
	return handoffPlanner{v, gatePlanner{v}, budgetPlanner{v}, carryPlanner{v}, hookPlanner{v}, aheadPlanner{v}, nil}
}

// place is where an ordinal in flight is.
type place int

const (
	atGiver place = iota
	atNeither
	atTaker
)

// handoff returns the next step of the ordinal in flight, or begins the next handoff.
func (p handoffPlanner) handoff() *plan.Decision {
	switch {
	case p.Record.Idle():
		return p.begin()
	case p.Record.Handoff == nil:
		return p.beside()
	}
	if decision := p.budget.curb(); decision != nil {
		return decision
	}
	k := p.Record.Handoff.Ordinal
	switch {
	case p.giver.Set.Presence == plan.Seen && p.giver.Set.Has(k):
		return p.way(k, atGiver)
	case p.taker.Set.Presence == plan.Seen && p.taker.Set.Has(k):
		return p.way(k, atTaker)
	default:
		return p.way(k, atNeither)
	}
}

// way is the story of one ordinal. Each step is asked again on every pass. It returns the next write, a reason to wait,
// or nil, which means that it holds. A crash between two writes changes nothing (I7). A rollback is the same way with
// the two sides exchanged.
func (p handoffPlanner) way(k int32, at place) *plan.Decision {
	switch at {
	case atGiver:
		p.hold = p.gates.gate(k)
		return first(k,
			p.atItsEnd,            // its slice still ends with it
			p.carried.sameVolumes, // it runs on the volumes with which its handoff began (I3)
			p.mayStop,             // no gate holds; otherwise its handoff ends, or waits (I5, I6)
			p.copyAhead,           // as long as the ordinal runs; may take days
			p.letThrough,          // no gate has closed since
			p.inTurn,              // the ordinals between it and the taker are stopped
			p.ahead.standby,       // the movers of its last pass wait for the stop
			p.runHooks,            // those of the user, before the stop
			p.reserve,             // the budgets of both sides cover it (I4)
			p.secure,              // its volumes are set to Retain (I3)
			p.stop,                // --- down from here
		)
	case atNeither:
		return first(k,
			p.reserveForLost,
			p.turnBack,       // its copy takes longer than its limit: it goes back
			p.recordLeft,     // which pods could still have its volumes (I2)
			p.ahead.withdraw, // no warm pass runs any more
			p.awaitRelease,   // no pod and no attachment, on either side (I1, I2)
			p.moveName,       // its Service and its export
			p.confirm,        // its disks are those with which it was stopped (I3)
			p.fill,           // second volumes are filled and sealed; until here it can go back at no cost
			p.transfer,       // its volumes are parked, created, and pointed at the taker's claims (I2, I3)
			p.adjoins,        // it is next to the taker's slice
			p.start,          // --- up again
		)
	default:
		return first(k,
			lossPlanner{p.View}.offItsDisk, // it still runs on the disk that was handed over (I3)
			p.ahead.withdraw,
			p.comesUp,    // it is available, for minReadySeconds
			p.ahead.drop, // nothing is left beside the volumes on which it runs
			p.arrive,     // its handoff ends, or the next one begins
		)
	}
}

// first returns the first decision of steps for an ordinal.
func first(k int32, steps ...func(int32) *plan.Decision) *plan.Decision {
	for _, step := range steps {
		if decision := step(k); decision != nil {
			return decision
		}
	}
	return nil
}

// atItsEnd ends the handoff if another writer has changed the end of the slice: a stop would stop another ordinal.
func (p handoffPlanner) atItsEnd(k int32) *plan.Decision {
	if next, _ := p.next(); next != k {
		return p.notNow(k, nil)
	}
	return nil
}

// mayStop ends the handoff, or lets it wait, while the ordinal may not be stopped and nothing was copied for it.
func (p handoffPlanner) mayStop(k int32) *plan.Decision {
	hold := p.hold
	if hold != nil && !p.resting() && (hold.Reason == api.ReasonControllerBehind && p.inFlight() > 0 || hold.Reason == api.ReasonNeighborFirst && !p.ahead.begun()) {
		return p.held(api.StepGate, *hold) // a controller has yet to observe the step of a neighbor, or that one stalls
	}
	if p.resting() || hold != nil && !p.ahead.begun() || hold == nil && !p.ahead.asked(k) && p.hooks.beforeStop(k) {
		return p.notNow(k, hold)
	}
	return nil
}

// copyAhead does what the method of a volume does while the ordinal runs. A handoff that only waited has released its
// capacity.
func (p handoffPlanner) copyAhead(k int32) *plan.Decision {
	if hold := p.hold; hold != nil && hold.Reason == api.ReasonTooManyHandoffs && !moversOf(p.Snapshot, k) {
		return nil
	}
	return p.ahead.step(k)
}

// letThrough waits for a gate. The copied data are kept, and updated periodically until the gate opens. No mover
// stands by for that time.
func (p handoffPlanner) letThrough(k int32) *plan.Decision {
	if hold := p.hold; hold != nil {
		return cmp.Or(p.ahead.withdraw(k), p.budget.whileRunning(k), p.budget.recordMarks(), p.held(api.StepCopyAhead, *hold))
	}
	return nil
}

// runHooks runs the hooks before the stop.
func (p handoffPlanner) runHooks(k int32) *plan.Decision {
	if decision := p.hooks.late(k); decision != nil {
		return cmp.Or(p.budget.whileRunning(k), p.budget.recordMarks(), decision)
	}
	return nil
}

// reserve shrinks both budgets by the ordinal, before it stops.
func (p handoffPlanner) reserve(k int32) *plan.Decision {
	if decision := p.budget.reserveBudget(p.inFlight() + 1); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	if hold := p.budget.overdrawn(); hold != nil && !p.gates.takesBackDown(k) {
		return p.held(api.StepReserveBudget, *hold)
	}
	if decision := p.budget.recordMarks(); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	return nil
}

// secure makes the ordinal's volumes survive the loss of their claims.
func (p handoffPlanner) secure(k int32) *plan.Decision {
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepSecureVolumes, *hold)
	}
	if decision := p.eachVolume(held, volumes.Method.Prepare); decision != nil {
		return p.at(api.StepSecureVolumes, decision)
	}
	return nil
}

// stop stops the ordinal at the giver.
func (p handoffPlanner) stop(k int32) *plan.Decision {
	return p.at(api.StepScaleDown, scale(plan.ScaleDown, p.giverName, p.giver.Set, k))
}

// reserveForLost reserves the budget for an ordinal of a lost side. No ordinal was stopped for this start, so
// minAvailable in the budget may still be that of fewer replicas.
func (p handoffPlanner) reserveForLost(int32) *plan.Decision {
	if !p.Destination.Lost || len(p.Source.Budgets) == 0 {
		return nil
	}
	if decision := p.budget.reserveBudget(p.inFlight() + 1); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	return nil
}

// turnBack turns an ordinal back whose copy takes longer than its limit, or lets it go on after all. It is asked before
// anything is waited for.
func (p handoffPlanner) turnBack(k int32) *plan.Decision {
	held, unread := p.volumesOf(k)
	if unread != nil {
		return nil
	}
	if decision := cmp.Or(p.goesOn(held), limitPlanner{p.View}.turnBack(k, held)); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	return nil
}

// goesOn resumes the handoff of an ordinal that was turned back automatically if the write that takes its copy
// over was still in flight and has arrived since. Moving back would now require another copy.
func (p handoffPlanner) goesOn(held []plan.OrdinalVolume) *plan.Decision {
	came := slices.ContainsFunc(held, func(v plan.OrdinalVolume) bool {
		pair := p.pair(v)
		return pair.Copy != nil && pair.Copy.Back && volumes.HandingOf(pair).Taken()
	})
	if !came || !p.takenBack() || p.Spec.Mode != api.ModeRun || p.resting() {
		return nil
	}
	next := p.Record
	next.TurnedBack = nil
	return &plan.Decision{Record: &next}
}

// recordLeft records which pods could still have the ordinal's volumes.
func (p handoffPlanner) recordLeft(k int32) *plan.Decision {
	if held, unread := p.volumesOf(k); unread == nil {
		return p.carried.listLeft(held)
	}
	return nil
}

// awaitRelease waits until nothing holds the ordinal or its volumes.
func (p handoffPlanner) awaitRelease(k int32) *plan.Decision {
	if hold := p.carried.released(k); hold != nil {
		return p.held(api.StepAwaitRelease, *hold)
	}
	return nil
}

// moveName moves the name of the ordinal's pod.
func (p handoffPlanner) moveName(k int32) *plan.Decision {
	if decision := (namePlanner{p.View}).rename(k); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	return nil
}

// confirm checks all volumes of the ordinal before the first one is moved.
func (p handoffPlanner) confirm(k int32) *plan.Decision {
	held, unread := p.volumesOf(k)
	if unread != nil {
		return p.held(api.StepCarryVolumes, *unread)
	}
	for _, v := range held {
		pair := p.pair(v)
		pair.Disk = plan.RecordedVolume(p.Record.Handoff, k, v.Template).Disk
		if problem, _ := v.Way().Check(pair, volumes.AfterStop); problem != nil {
			return p.at(api.StepCarryVolumes, p.carried.volumeDecision(v, volumes.Verdict{Hold: problem}))
		}
	}
	return nil
}

// fill fills all second volumes of the ordinal before any is taken over. So the ordinal is down only as long as the
// longest fill takes, and it can be rolled back until then.
func (p handoffPlanner) fill(k int32) *plan.Decision {
	held, _ := p.volumesOf(k)
	if decision := p.carried.together(held, p.carried.claim, p.carried.towards(volumes.Filled)); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	return nil
}

// transfer carries the ordinal's volumes over, one after the other.
func (p handoffPlanner) transfer(k int32) *plan.Decision {
	held, _ := p.volumesOf(k)
	if decision := p.eachVolume(held, volumes.Method.Transfer); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	return nil
}

// start starts the ordinal at the taker.
func (p handoffPlanner) start(k int32) *plan.Decision {
	return p.at(api.StepScaleUp, scale(plan.ScaleUp, p.takerName, p.taker.Set, k))
}

// comesUp waits until the ordinal is available at the taker.
func (p handoffPlanner) comesUp(k int32) *plan.Decision { return p.comingUp(p.taker, k) }

// arrive ends the handoff, or begins the next one at once if it can, which keeps the reserved budget. If writers are
// paused, it first confirms that they still are.
func (p handoffPlanner) arrive(k int32) *plan.Decision {
	arrived := p.Record
	arrived.Pace = p.paceWith(*p.Record.Handoff)
	arrived.Proofs = owing(arrived.Proofs, *p.Record.Handoff, p.giverName)
	p.Record.Pace, p.Record.Proofs = arrived.Pace, arrived.Proofs // the next decision uses them
	if next, more := p.next(); more && !p.resting() && !p.takenBack() && p.room(next) && !p.Spec.PauseWriters && !p.hooks.waits(k, next) && p.gates.gate(next) == nil && (proofPlanner{p.View}).open() == nil {
		return p.record(next, arrived)
	}
	arrived.Handoff, arrived.Hooks = nil, p.hooks.arrived(k)
	return &plan.Decision{Record: &arrived, Step: api.StepAwaitReadiness}
}

// notNow handles an ordinal that may not be stopped now. Its handoff ends once the ordinal is available, since it
// may have been moving back. In a pause the handoff remains if work would be lost with it.
func (p handoffPlanner) notNow(k int32, hold *plan.Hold) *plan.Decision {
	if decision := p.ahead.withdraw(k); decision != nil {
		return decision
	}
	if waits := p.comingUp(p.giver, k); waits != nil && (!p.Deleting || waits.Hold.Reason == api.ReasonControllerBehind) {
		if hold != nil && !p.resting() {
			return p.held(api.StepGate, *hold) // report the gate, not the pod that is not yet available
		}
		return waits
	}
	if p.resting() && !p.Deleting && p.ahead.begun() {
		return cmp.Or(p.budget.whileRunning(k), p.budget.recordMarks(), p.budget.liftCaps(), p.rests(k, true))
	}
	if decision := p.ahead.drop(k); decision != nil {
		return decision
	}
	next := p.Record
	next.Handoff = nil
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// eachVolume returns the next step of an ordinal's volumes, one volume after the other; nil: there is none.
func (p handoffPlanner) eachVolume(held []plan.OrdinalVolume, judge func(volumes.Method, volumes.Pair) volumes.Verdict) *plan.Decision {
	for _, v := range held {
		if decision := p.carried.volumeDecision(v, judge(v.Way(), p.pair(v))); decision != nil {
			return decision
		}
	}
	return nil
}
