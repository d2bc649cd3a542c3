package planner

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
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
	if asked == nil || asked.Finding == nil || asked.Ordinal != k || asked.Side != p.takerName && p.Storage == nil {
		return nil
	}
	why := "it would not start on the other side"
	if p.Storage != nil {
		why = "its stop or its start would fail"
	}
	hold := asked.Finding.Hold()
	hold.Message = fmt.Sprintf("ordinal %d is not stopped, since %s: %s", k, why, hold.Message)
	return hold
}

// comingUp waits until the ordinal is available on a side; nil: it is.
func (p handoffPlanner) comingUp(side *plan.Side, k int32) *plan.Decision {
	pod, found := side.Pod(k)
	name := fmt.Sprintf("%s/%s-%d in cluster %s", side.Namespace, side.Set.Name, k, side.Cluster)
	minReady := max(p.Spec.MinReady, side.Set.MinReady)
	remedy := side.Kubectl().Do("describe", "pod", "-n", side.Namespace, fmt.Sprintf("%s-%d", side.Set.Name, k))
	if p.direction() != api.Back { // otherwise it already moves back
		remedy += "; to roll back: " + p.command("rollback")
	}
	switch {
	case !found:
		message := "waiting until pod " + name + " is created"
		if p.Refused != "" && side == p.taker {
			message += "; " + side.Object() + " cannot create it: " + p.Refused
		}
		return p.held(api.StepAwaitReadiness, plan.Hold{Reason: api.ReasonPodMissing, Message: message, Remedy: remedy})
	case !pod.Ready || pod.Terminating || !pod.Owned:
		message := "waiting until pod " + name + " is Ready"
		if pod.Trouble != "" {
			message += "; " + pod.Trouble
		}
		return p.held(api.StepAwaitReadiness, plan.Hold{Reason: api.ReasonPodNotReady, Message: message, Remedy: remedy})
	case !side.Set.Observed: // the controller may still stop the pod because of an earlier change
		return p.held(api.StepAwaitReadiness, *behind(*side))
	case !pod.Available(p.Now, minReady):
		hold := plan.Hold{Reason: api.ReasonMinReady, Message: fmt.Sprintf("waiting until pod %s has been Ready for %s", name, minReady)}
		return &plan.Decision{Step: api.StepAwaitReadiness, Hold: &hold, Wait: pod.ReadySince.Add(minReady).Sub(p.Now)}
	}
	return nil
}

// FinishedHandoff returns the handoff that a new record ends because its ordinal has arrived.
func FinishedHandoff(s plan.Snapshot, next plan.Record) *api.Handoff {
	was := s.Record.Handoff
	if was == nil || next.Handoff != nil && next.Handoff.Ordinal == was.Ordinal {
		return nil
	}
	if p := viewOf(s); !p.taker.Set.Has(was.Ordinal) {
		return nil
	}
	return was
}
