package plan

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// handoffPlanner brings one ordinal from the giver to the taker.
type handoffPlanner struct {
	*View
	gates   gatePlanner
	budget  budgetPlanner
	carried carryPlanner
	hooks   hookPlanner
}

func handoffOf(v *View) handoffPlanner {
	return handoffPlanner{v, gatePlanner{v}, budgetPlanner{v}, carryPlanner{v}, hookPlanner{v}}
}

// handoff brings the ordinal in flight one step on its way, or begins the next.
func (p handoffPlanner) handoff() *Decision {
	if p.Record.Handoff == nil {
		return p.begin()
	}
	k := p.Record.Handoff.Ordinal
	switch {
	case p.giver.Set.Presence == Seen && p.giver.Set.Has(k):
		return p.give(k)
	case p.taker.Set.Presence == Seen && p.taker.Set.Has(k):
		return p.receive(k)
	default:
		return p.carry(k)
	}
}

// begin records the next ordinal's handoff when the gate is open. Until then the
// whole budget belongs to others.
func (p handoffPlanner) begin() *Decision {
	k, more := p.next()
	if p.resting() || !more {
		if decision := p.budget.reserveBudget(0); decision != nil {
			return decision
		}
		if decision := p.budget.liftCaps(); decision != nil {
			return decision
		}
		if p.Spec.Mode == api.ModePause && !p.Deleting {
			return paused(k, more)
		}
		return nil
	}
	waits := p.hooks.early(k)
	if waits == nil {
		if hold := p.gates.gate(k); hold != nil {
			waits = p.held(api.StepGate, *hold)
		} else {
			waits = p.hooks.late(k)
		}
	}
	if waits == nil {
		return p.start(k)
	}
	return cmp.Or(p.budget.reserveBudget(0), waits)
}

func paused(k int32, more bool) *Decision {
	next := "what was changed for the move is restored next"
	if more {
		next = fmt.Sprintf("ordinal %d is next", k)
	}
	return &Decision{Hold: &Hold{Reason: api.ReasonPaused, Message: "mode is Pause; " + next}}
}

func (p handoffPlanner) start(k int32) *Decision {
	next := p.Record
	next.Handoff = &api.Handoff{Ordinal: k, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(p.Now), Attempts: 1, Volumes: p.carried.volumesNow(k)}
	next.Baseline, next.Hooks = p.engagedBaseline(), p.hooks.begun(k)
	return &Decision{Record: &next, Step: api.StepGate}
}

// engagedBaseline is the baseline with what is known when the first ordinal is about to
// move, and cannot be observed again: which StatefulSet takes it.
func (p handoffPlanner) engagedBaseline() *api.Baseline {
	base := *p.Record.Baseline
	if base.DestinationUID == "" && p.Destination.Set.Presence == Seen {
		base.DestinationUID = p.Destination.Set.UID
	}
	return &base
}

// give prepares the ordinal's stop at the giver, and stops it. Where it may not be
// stopped now its handoff ends, once it is available: it may have been on its way back.
func (p handoffPlanner) give(k int32) *Decision {
	if decision := p.carried.sameVolumes(k); decision != nil {
		return decision
	}
	hold := p.gates.gate(k)
	if p.resting() || hold != nil || p.hooks.beforeStop(k) {
		if waits := p.comingUp(p.giver, k); waits != nil && (!p.Deleting || waits.Hold.Reason == api.ReasonControllerBehind) {
			if hold != nil && !p.resting() {
				return p.held(api.StepGate, *hold) // what keeps it from moving, not what it is moved for
			}
			return waits
		}
		next := p.Record
		next.Handoff = nil
		return &Decision{Record: &next, Step: api.StepGate}
	}
	if decision := p.budget.reserveBudget(1); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	if hold := p.budget.overdrawn(); hold != nil && !p.gates.takesBackDown(k) {
		return p.held(api.StepReserveBudget, *hold)
	}
	if decision := p.budget.budgetsTaken(); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepSecureVolumes, *hold)
	}
	if decision := p.eachVolume(held, volumes.Method.Prepare); decision != nil {
		return p.at(api.StepSecureVolumes, decision)
	}
	start, replicas := without(p.giver.Set, k)
	return p.at(api.StepScaleDown, p.giver.Set.write(Effect{Verb: ScaleDown, Side: p.giverName, Ordinal: k, Start: start, Replicas: replicas}))
}

// eachVolume asks what is next for one volume of an ordinal after the other; nil when nothing is.
func (p handoffPlanner) eachVolume(held []OrdinalVolume, judge func(volumes.Method, volumes.Pair) volumes.Verdict) *Decision {
	for _, v := range held {
		if decision := p.carried.volumeDecision(v, judge(v.method(), p.pair(v))); decision != nil {
			return decision
		}
	}
	return nil
}

// carry moves the volumes of an ordinal that neither slice owns, and starts it.
func (p handoffPlanner) carry(k int32) *Decision {
	if p.Destination.Lost && len(p.Source.Budgets) > 0 {
		// Nobody was stopped for this start, so the budget may still name what had to stay of fewer replicas.
		if decision := p.budget.reserveBudget(1); decision != nil {
			return p.at(api.StepReserveBudget, decision)
		}
	}
	if hold := p.carried.released(k); hold != nil {
		return p.held(api.StepAwaitRelease, *hold)
	}
	if decision := (namePlanner{p.View}).rename(k); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepCarryVolumes, *hold)
	}
	for _, v := range held { // all of them, before any is carried away
		if problem := v.method().Confirm(p.pair(v), RecordedVolume(p.Record.Handoff, k, v.Template).Disk); problem != nil {
			return p.at(api.StepCarryVolumes, p.carried.volumeDecision(v, volumes.Verdict{Blocked: problem}))
		}
	}
	if decision := p.eachVolume(held, volumes.Method.Transfer); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	start, replicas := with(p.taker.Set, k)
	return p.at(api.StepScaleUp, p.taker.Set.write(Effect{Verb: ScaleUp, Side: p.takerName, Ordinal: k, Start: start, Replicas: replicas}))
}

// receive waits until the ordinal is available at the taker, then begins the next
// one at once when it can: the reserved budget is kept then.
func (p handoffPlanner) receive(k int32) *Decision {
	if decision := (lossPlanner{p.View}).offItsDisk(k); decision != nil {
		return decision
	}
	if waits := p.comingUp(p.taker, k); waits != nil {
		return waits
	}
	if next, more := p.next(); more && !p.resting() && !p.hooks.waits(k, next) && p.gates.gate(next) == nil {
		return p.start(next)
	}
	next := p.Record
	next.Handoff, next.Hooks = nil, p.hooks.arrived(k)
	return &Decision{Record: &next, Step: api.StepAwaitReadiness}
}

// comingUp waits until the ordinal is available at a side; nil when it is.
func (p handoffPlanner) comingUp(side *Side, k int32) *Decision {
	pod, found := side.Pod(k)
	name := fmt.Sprintf("%s/%s-%d in cluster %s", side.Namespace, side.Set.Name, k, side.Cluster)
	minReady := max(p.Spec.MinReady, side.Set.MinReady)
	remedy := fmt.Sprintf("kubectl describe pod -n %s %s-%d; to take it back: %s", side.Namespace, side.Set.Name, k, p.command("rollback"))
	switch {
	case !found:
		return p.held(api.StepAwaitReadiness, Hold{Reason: api.ReasonPodMissing, Message: "waiting until pod " + name + " is created", Remedy: remedy})
	case !pod.Ready || pod.Terminating || !pod.Owned:
		message := "waiting until pod " + name + " is Ready"
		if pod.Trouble != "" {
			message += "; " + pod.Trouble
		}
		return p.held(api.StepAwaitReadiness, Hold{Reason: api.ReasonPodNotReady, Message: message, Remedy: remedy})
	case !side.Set.Observed: // it may still stop the pod for what was written before
		return p.held(api.StepAwaitReadiness, *side.behind())
	case !pod.Available(p.Now, minReady):
		hold := Hold{Reason: api.ReasonMinReady, Message: fmt.Sprintf("waiting until pod %s has been Ready for %s", name, minReady)}
		return &Decision{Step: api.StepAwaitReadiness, Hold: &hold, Wait: pod.ReadySince.Add(minReady).Sub(p.Now)}
	}
	return nil
}

// FinishedHandoff is the handoff that a new record ends: its ordinal has arrived.
func FinishedHandoff(s Snapshot, next Record) *api.Handoff {
	was := s.Record.Handoff
	if was == nil || next.Handoff != nil && next.Handoff.Ordinal == was.Ordinal {
		return nil
	}
	if p := viewOf(s); !p.taker.Set.Has(was.Ordinal) {
		return nil
	}
	return was
}
