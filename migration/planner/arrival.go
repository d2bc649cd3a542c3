package planner

import (
	"fmt"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// AboutToStop returns the ordinal that a decision stops, or whose long preparation for the stop it starts: hooks,
// or copies while it runs. false: there is none, or the ordinal is already down.
func AboutToStop(s plan.Snapshot, decision plan.Decision) (int32, bool) {
	p := viewOf(s)
	k, stops := p.aboutToStop(decision)
	if !stops || s.Early != nil || p.giver.Lost || !p.giver.Set.Has(k) || (gatePlanner{p}).takesBackDown(k) {
		return 0, false
	}
	return k, true
}

func (p *View) aboutToStop(decision plan.Decision) (int32, bool) {
	if effect := decision.Effect; effect != nil {
		hook := effect.Does(volumes.Creates, plan.KindJob) && effect.Hook != nil && effect.Hook.Hook.Point == api.HookBeforeOrdinal
		return effect.Ordinal, hook || effect.Stops()
	}
	if decision.Record == nil || decision.Record.Handoff == nil {
		return 0, false
	}
	before, next := p.Record.Handoff, decision.Record.Handoff
	another := before == nil || before.Ordinal != next.Ordinal
	return next.Ordinal, another && (aheadPlanner{p}).asked(next.Ordinal)
}

// letIn holds while the taking side would reject the ordinal's pod. The result of the preflight may have changed
// since, and an ordinal stopped then would be down until a user acts.
func (p gatePlanner) letIn(k int32) *plan.Hold {
	asked := p.Arrival
	if asked == nil || asked.Finding == nil || asked.Ordinal != k || asked.Side != p.takerName {
		return nil
	}
	hold := asked.Finding.Hold()
	hold.Message = fmt.Sprintf("ordinal %d is not stopped, since it would not start on the other side: %s", k, hold.Message)
	return hold
}
