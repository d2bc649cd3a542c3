package planner

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// handoffPlanner moves one ordinal from the giver to the taker.
type handoffPlanner struct {
	*View
	gates   gatePlanner
	budget  budgetPlanner
	carried carryPlanner
	hooks   hookPlanner
	ahead   aheadPlanner
}

func handoffOf(v *View) handoffPlanner {
	return handoffPlanner{v, gatePlanner{v}, budgetPlanner{v}, carryPlanner{v}, hookPlanner{v}, aheadPlanner{v}}
}

// handoff returns the next step of the ordinal in flight, or begins the next handoff.
func (p handoffPlanner) handoff() *plan.Decision {
	if p.Record.Handoff == nil {
		return p.begin()
	}
	if decision := p.budget.curb(); decision != nil {
		return decision
	}
	k := p.Record.Handoff.Ordinal
	switch {
	case p.giver.Set.Presence == plan.Seen && p.giver.Set.Has(k):
		return p.give(k)
	case p.taker.Set.Presence == plan.Seen && p.taker.Set.Has(k):
		return p.receive(k)
	default:
		return p.carry(k)
	}
}

// begin records the next ordinal's handoff when no gate blocks it. Until then no budget is reserved.
func (p handoffPlanner) begin() *plan.Decision {
	k, more := p.next()
	if p.resting() || !more {
		if decision := p.budget.reserveBudget(0); decision != nil {
			return decision
		}
		if decision := p.budget.liftCaps(); decision != nil {
			return decision
		}
		switch {
		case p.resting() && !p.Deleting:
			return cmp.Or(p.budget.recordMarks(), p.rests(k, more))
		case len(p.Record.Ahead) > 0:
			hold := plan.Hold{Reason: api.ReasonCopying, Message: fmt.Sprintf("waiting until the early copies of ordinal %d are removed", p.Record.Ahead[0].Ordinal)}
			return &plan.Decision{Hold: &hold, Wait: volumes.Look}
		}
		return nil
	}
	waits := cmp.Or(limitPlanner{p.View}.wait(), p.hooks.early(k))
	if waits == nil {
		if hold := p.gates.gate(k); hold != nil {
			waits = p.held(api.StepGate, *hold)
		} else if !p.ahead.asked(k) { // otherwise they run right before its stop
			waits = p.hooks.late(k)
		}
	}
	if waits == nil {
		return p.start(k, p.Record)
	}
	return cmp.Or(p.budget.reserveBudget(0), p.budget.recordMarks(), waits)
}

// rests returns the reason that no handoff begins.
func (p handoffPlanner) rests(k int32, more bool) *plan.Decision {
	if p.turned() {
		return &plan.Decision{Hold: turnPlanner{p.View}.reverted("each ordinal keeps running where it is, and this migration stops none now")}
	}
	next := "the settings changed for the move are restored next"
	if more {
		next = fmt.Sprintf("ordinal %d is next", k)
	}
	return &plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused, Message: "mode is Pause; " + next}}
}

func (p handoffPlanner) start(k int32, next plan.Record) *plan.Decision {
	next.Handoff = &api.Handoff{Ordinal: k, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(p.Now), Attempts: 1, Volumes: p.carried.volumesNow(k), Load: loadPlanner{p.View}.loadOf(k)}
	next.Baseline, next.Hooks, next.TurnedBack = p.engagedBaseline(), p.hooks.begun(k), nil
	for i, v := range next.Handoff.Volumes { // data that was copied before its turn counts
		next.Handoff.Volumes[i].Copy = copyOf(AsHandoff(next, k).Handoff.Volume(v.ClaimTemplate), v)
	}
	next.Ahead = withAhead(next.Ahead, k, nil)
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// engagedBaseline returns the baseline with the UID of the destination's StatefulSet, which is known when the
// first ordinal is about to move and cannot be observed later.
func (p handoffPlanner) engagedBaseline() *api.Baseline {
	base := *p.Record.Baseline
	if base.DestinationUID == "" && p.Destination.Set.Presence == plan.Seen {
		base.DestinationUID = p.Destination.Set.UID
	}
	return &base
}

// give prepares the ordinal's stop at the giver, and stops it.
func (p handoffPlanner) give(k int32) *plan.Decision {
	if next, _ := p.next(); next != k { // another writer has changed the end of its slice: a stop would stop another ordinal
		return p.notNow(k, nil)
	}
	if decision := p.carried.sameVolumes(k); decision != nil {
		return decision
	}
	hold := p.gates.gate(k)
	if p.resting() || hold != nil && !p.ahead.begun() || hold == nil && !p.ahead.asked(k) && p.hooks.beforeStop(k) {
		return p.notNow(k, hold)
	}
	full := hold != nil && hold.Reason == api.ReasonTooManyHandoffs && !moversOf(p.Snapshot, k) // a handoff that only waited has released its capacity
	if decision := p.ahead.step(k); decision != nil && !full {
		return decision
	}
	if hold != nil { // the copy is kept and updated periodically until the gate opens
		return cmp.Or(p.budget.reserveBudget(0), p.budget.recordMarks(), p.held(api.StepCopyAhead, *hold))
	}
	if decision := p.hooks.late(k); decision != nil {
		return cmp.Or(p.budget.reserveBudget(0), p.budget.recordMarks(), decision)
	}
	return p.stop(k)
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
		return cmp.Or(p.budget.reserveBudget(0), p.budget.recordMarks(), p.budget.liftCaps(), p.rests(k, true))
	}
	if decision := p.ahead.drop(k); decision != nil {
		return decision
	}
	next := p.Record
	next.Handoff = nil
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// stop reserves the budget for the ordinal, secures its volumes, and stops it.
func (p handoffPlanner) stop(k int32) *plan.Decision {
	if decision := p.budget.reserveBudget(1); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	if hold := p.budget.overdrawn(); hold != nil && !p.gates.takesBackDown(k) {
		return p.held(api.StepReserveBudget, *hold)
	}
	if decision := p.budget.recordMarks(); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepSecureVolumes, *hold)
	}
	if decision := p.eachVolume(held, volumes.Method.Prepare); decision != nil {
		return p.at(api.StepSecureVolumes, decision)
	}
	return p.at(api.StepScaleDown, scale(plan.ScaleDown, p.giverName, p.giver.Set, k))
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

// carry moves the volumes of an ordinal that neither slice owns, and starts it.
func (p handoffPlanner) carry(k int32) *plan.Decision {
	if p.Destination.Lost && len(p.Source.Budgets) > 0 {
		// No ordinal was stopped for this start, so minAvailable in the budget may still be that of fewer
		// replicas.
		if decision := p.budget.reserveBudget(1); decision != nil {
			return p.at(api.StepReserveBudget, decision)
		}
	}
	held, unread := p.volumesOf(k)
	if unread == nil { // check the limit before waiting for anything
		if decision := cmp.Or(p.goesOn(held), (limitPlanner{p.View}).turnBack(k, held)); decision != nil {
			return p.at(api.StepCarryVolumes, decision)
		}
		if decision := p.carried.listLeft(held); decision != nil {
			return decision
		}
	}
	if decision := p.ahead.withdraw(k); decision != nil {
		return decision
	}
	if hold := p.carried.released(k); hold != nil {
		return p.held(api.StepAwaitRelease, *hold)
	}
	if decision := (namePlanner{p.View}).rename(k); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	if unread != nil {
		return p.held(api.StepCarryVolumes, *unread)
	}
	for _, v := range held { // check all of them before the first one is moved
		if problem := v.Way().Confirm(p.pair(v), plan.RecordedVolume(p.Record.Handoff, k, v.Template).Disk); problem != nil {
			return p.at(api.StepCarryVolumes, p.carried.volumeDecision(v, volumes.Verdict{Blocked: problem}))
		}
	}
	if decision := cmp.Or(p.carried.together(held, p.carried.claim, p.fill), p.eachVolume(held, volumes.Method.Transfer)); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	return p.at(api.StepScaleUp, scale(plan.ScaleUp, p.takerName, p.taker.Set, k))
}

// fill returns the next step until a volume that replaces another is filled. All volumes of an ordinal are filled
// before any is taken over. So the ordinal is down only as long as the longest fill takes, and it can be rolled
// back until then.
func (p handoffPlanner) fill(v plan.OrdinalVolume) volumes.Verdict {
	if method, fills := v.Way().(volumes.Filler); fills {
		return method.Fill(p.pair(v))
	}
	return volumes.Verdict{}
}

// together returns the next step of volumes of an ordinal that do not wait for each other; nil: there is none. The
// judges are evaluated in order, each for all volumes. Without an action, it returns a hold, preferably a stalled
// one, and the earliest time to reconcile again.
func (p carryPlanner) together(held []plan.OrdinalVolume, judges ...func(plan.OrdinalVolume) volumes.Verdict) *plan.Decision {
	var waits *plan.Decision
	for _, judge := range judges {
		for _, v := range held {
			decision := p.volumeDecision(v, judge(v))
			switch {
			case decision == nil:
			case decision.Hold == nil:
				return decision
			case waits == nil:
				waits = decision
			default:
				waits = waiting(waits, decision)
			}
		}
	}
	return waits
}

// claim returns the next step until the claim exists that a volume is filled in. All such claims of an ordinal
// exist before any gets a pod. If the class of one does not wait for a pod, its driver chooses where to create the
// volume, and the other volumes are created in the same place.
func (p carryPlanner) claim(v plan.OrdinalVolume) volumes.Verdict {
	method, claims := v.Way().(volumes.Claimer)
	if !claims || v.Copy == nil || p.Destination.Lost || !p.severalClaimed(v.Ordinal) {
		return volumes.Verdict{} // nothing is copied from a lost side
	}
	return method.Claim(p.pair(v))
}

// severalClaimed reports whether an ordinal has several volumes whose claims are created before they are filled.
func (p carryPlanner) severalClaimed(k int32) bool {
	count := 0
	for _, v := range p.Volumes {
		if _, claims := v.Way().(volumes.Claimer); claims && v.Ordinal == k {
			count++
		}
	}
	return count > 1
}

// waiting merges two waits: it returns the stalled hold of the two, and the earlier of the two times.
func waiting(one, other *plan.Decision) *plan.Decision {
	told := *one
	if other.Hold.Stalled && !one.Hold.Stalled {
		told = *other
	}
	if told.Wait = min(one.Wait, other.Wait); told.Wait == 0 {
		told.Wait = max(one.Wait, other.Wait)
	}
	return &told
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

// receive waits until the ordinal is available at the taker. It then begins the next handoff at once if it can,
// which keeps the reserved budget. If writers are paused, it first confirms that they still are.
func (p handoffPlanner) receive(k int32) *plan.Decision {
	if decision := cmp.Or((lossPlanner{p.View}).offItsDisk(k), p.ahead.withdraw(k)); decision != nil {
		return decision
	}
	if waits := p.comingUp(p.taker, k); waits != nil {
		return waits
	}
	if decision := p.ahead.drop(k); decision != nil {
		return decision
	}
	arrived := p.Record
	arrived.Pace = p.paceWith(*p.Record.Handoff)
	p.Record.Pace = arrived.Pace // the next decision uses it
	if next, more := p.next(); more && !p.resting() && !p.takenBack() && !p.Spec.PauseWriters && !p.hooks.waits(k, next) && p.gates.gate(next) == nil {
		return p.start(next, arrived)
	}
	arrived.Handoff, arrived.Hooks = nil, p.hooks.arrived(k)
	return &plan.Decision{Record: &arrived, Step: api.StepAwaitReadiness}
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
