package migration

import (
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// shares bounds the roll-outs that no PodDisruptionBudget bounds (I4). While an ordinal is
// in flight they take nothing down; between two handoffs one slice has all of the budget
// that the other leaves. It returns nil when the controllers keep to that, or when nothing
// rolls out and no ordinal is to be stopped.
func (p *planner) shares(inFlight int32) *Decision {
	rolls := p.rolling(inFlight)
	if inFlight == 0 && rolls == "" {
		return nil
	}
	for _, name := range sideNames {
		if set := p.side(name).Set; name != rolls && p.bounds(set) && !set.Rolls.keepsTo(0) {
			return p.setShare(name, 0)
		}
	}
	for _, name := range sideNames {
		if side := p.side(name); name != rolls && p.bounds(side.Set) && !side.Set.Rolls.Heeded {
			return &Decision{Hold: &Hold{
				Reason:  api.ReasonBudgetUnconfirmed,
				Message: "waiting until the controller of " + side.object() + " has confirmed that its roll-outs take no pod down",
			}}
		}
	}
	return p.growShare(rolls)
}

// growShare gives the slice that rolls out what the other leaves of the budget. What is
// down there later takes nothing back, as a PodDisruptionBudget that has grown stays.
func (p *planner) growShare(name SideName) *Decision {
	if name == "" || !p.bounds(p.side(name).Set) {
		return nil
	}
	most := p.Record.Baseline.Budget
	for _, other := range sideNames {
		if other != name {
			most -= int32(len(unavailable(p.Snapshot, *p.side(other), nil)))
		}
	}
	rolls := p.side(name).Set.Rolls
	if within := rolls.Shared && rolls.Share >= most && rolls.Share <= p.Record.Baseline.Budget; within || most <= 0 {
		return nil
	}
	return p.setShare(name, most)
}

// bounds says whether a migration bounds the roll-outs of a set: those of our own kind that
// ask no PodDisruptionBudget. One that was bounded stays so.
func (p *planner) bounds(set Set) bool {
	return set.Presence == Seen && set.Rolls.Own && (set.Rolls.Shared || set.Rolls.InPlace || p.Record.Baseline.DisruptionBudget == nil)
}

// keepsTo says whether a share is written that lets so many pods be unavailable.
func (r Rolls) keepsTo(most int32) bool { return r.Shared && r.Share == most }

// rolling is the slice whose roll-out is to go on, the source first; empty: there is none,
// or it is to wait. One that takes all pods at once waits for the end.
func (p *planner) rolling(inFlight int32) SideName {
	if _, more := p.next(); inFlight > 0 || p.Deleting || !more && p.Spec.Mode != api.ModePause {
		return ""
	}
	for _, name := range sideNames {
		if set := p.side(name).Set; set.rollsOut() && !set.Rolls.AllAtOnce {
			return name
		}
	}
	return ""
}

func (p *planner) setShare(name SideName, most int32) *Decision {
	set := p.side(name).Set
	return effect(Effect{Verb: SetShare, Side: name, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion, MaxUnavailable: most})
}
