package migration

import (
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// shares bounds the roll-outs of our own kind (I4): some ask no PodDisruptionBudget. While an
// ordinal is in flight they take nothing down; between two handoffs one slice has all of the
// budget that the other leaves. It returns nil when the controllers of those that are to
// wait have confirmed it, and when no ordinal is left to move.
func (p *planner) shares(inFlight int32) *Decision {
	if _, more := p.next(); inFlight == 0 && (p.Deleting || !more) {
		return nil
	}
	rolls := p.rolling(inFlight)
	waits := inFlight > 0 || rolls != ""
	for _, name := range sideNames {
		set := p.side(name).Set
		if stands := name != rolls && set.bounded(); stands && (!set.Rolls.Shared || waits && set.Rolls.Share != 0) {
			return p.setShare(name, 0)
		}
	}
	for _, name := range sideNames {
		if set := p.side(name).Set; waits && name != rolls && set.bounded() && !set.Rolls.Heeded {
			return p.unheeded(name)
		}
	}
	return p.growShare(rolls)
}

// growShare gives the slice that rolls out what the other leaves of the budget. What is
// down there later takes nothing back, as a PodDisruptionBudget that has grown stays.
func (p *planner) growShare(name SideName) *Decision {
	if name == "" || !p.side(name).Set.bounded() {
		return nil
	}
	most := p.Record.Baseline.Budget
	for _, other := range sideNames {
		if other != name {
			most -= int32(len(unavailable(p.Snapshot, *p.side(other), nil)))
		}
	}
	most = max(0, most)
	rolls := p.side(name).Set.Rolls
	if rolls.Shared && rolls.Share >= most && rolls.Share <= p.Record.Baseline.Budget {
		return nil
	}
	return p.setShare(name, most)
}

// bounded says whether a migration bounds the roll-outs of a set.
func (s Set) bounded() bool { return s.Presence == Seen && s.Rolls.Own }

// rolling is the slice whose roll-out is to go on, the source first; empty: there is none,
// or it is to wait. One that takes all pods at once waits for the end.
func (p *planner) rolling(inFlight int32) SideName {
	if inFlight > 0 {
		return ""
	}
	for _, name := range sideNames {
		if set := p.side(name).Set; set.rollsOut() && (set.Rolls.Asked || !set.Rolls.AllAtOnce) {
			return name
		}
	}
	return ""
}

// liftShares takes the shares away when no ordinal is left to move: what comes until the end
// may take long, and bounds no roll-out.
func (p *planner) liftShares() *Decision {
	if _, more := p.next(); more || p.Deleting {
		return nil
	}
	for _, name := range sideNames {
		if set := p.side(name).Set; set.bounded() && set.Rolls.Shared {
			return effect(Effect{Verb: LiftShare, Side: name, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion})
		}
	}
	return nil
}

// setShare writes a share once the former one is confirmed: so a confirmation is never one of
// the same number that was written earlier.
func (p *planner) setShare(name SideName, most int32) *Decision {
	set := p.side(name).Set
	if !set.Rolls.Heeded {
		return p.unheeded(name)
	}
	return effect(Effect{Verb: SetShare, Side: name, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion, MaxUnavailable: most})
}

func (p *planner) unheeded(name SideName) *Decision {
	return &Decision{Hold: &Hold{
		Reason:  api.ReasonBudgetUnconfirmed,
		Message: "waiting until the controller of " + p.side(name).object() + " has confirmed how many pods its roll-outs may take down",
	}}
}
