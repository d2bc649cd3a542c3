package plan

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// handoff brings the ordinal in flight one step on its way, or begins the next.
func (p *planner) handoff() *Decision {
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
func (p *planner) begin() *Decision {
	k, more := p.next()
	if p.resting() || !more {
		if decision := p.share(0); decision != nil {
			return decision
		}
		if decision := p.liftShares(); decision != nil {
			return decision
		}
		if p.Spec.Mode == api.ModePause && !p.Deleting {
			return paused(k, more)
		}
		return nil
	}
	if hold := p.gate(k); hold != nil {
		if decision := p.share(0); decision != nil {
			return decision
		}
		return p.held(api.StepGate, *hold)
	}
	return p.start(k)
}

func paused(k int32, more bool) *Decision {
	next := "what was changed for the move is restored next"
	if more {
		next = fmt.Sprintf("ordinal %d is next", k)
	}
	return &Decision{Hold: &Hold{Reason: api.ReasonPaused, Message: "mode is Pause; " + next}}
}

func (p *planner) start(k int32) *Decision {
	next := p.Record
	next.Handoff = &api.Handoff{Ordinal: k, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(p.Now), Attempts: 1, Volumes: p.volumesNow(k)}
	next.Baseline = p.engagedBaseline()
	return &Decision{Record: &next, Step: api.StepGate}
}

// engagedBaseline is the baseline with what is known when the first ordinal is about to
// move, and cannot be observed again: which StatefulSet takes it.
func (p *planner) engagedBaseline() *api.Baseline {
	base := *p.Record.Baseline
	if base.DestinationUID == "" && p.Destination.Set.Presence == Seen {
		base.DestinationUID = p.Destination.Set.UID
	}
	return &base
}

// give prepares the ordinal's stop at the giver, and stops it. Where it may not be
// stopped now its handoff ends, once it is available: it may have been on its way back.
func (p *planner) give(k int32) *Decision {
	if decision := p.sameVolumes(k); decision != nil {
		return decision
	}
	hold := p.gate(k)
	if p.resting() || hold != nil {
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
	if decision := p.share(1); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	if hold := p.overdrawn(); hold != nil && !p.takesBackDown(k) {
		return p.held(api.StepReserveBudget, *hold)
	}
	if decision := p.budgetsTaken(); decision != nil {
		return p.at(api.StepReserveBudget, decision)
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepSecureVolumes, *hold)
	}
	for _, v := range held {
		verdict := volumes.SecureGiver(p.pair(v))
		if decision := p.volumeDecision(v, verdict); decision != nil {
			return p.at(api.StepSecureVolumes, decision)
		}
	}
	set := p.giver.Set
	start, replicas := without(set, k)
	return p.at(api.StepScaleDown, effect(Effect{
		Verb: ScaleDown, Side: p.giverName, Ordinal: k, Name: set.Name,
		UID: set.UID, ResourceVersion: set.ResourceVersion, Start: start, Replicas: replicas,
	}))
}

// replacedTogether holds while a slice waits for the end of the migration to replace all of
// its pods at once: more than any budget allows.
func (s Side) replacedTogether() *Hold {
	return &Hold{
		Reason: api.ReasonRolloutInProgress, Stalled: true,
		Message: s.object() + " was changed in mid-move, and Recreate replaces all of its pods at once: that is not done while ordinals move",
		Remedy: fmt.Sprintf("take the change back, or have the pods replaced one by one: kubectl patch %s -n %s %s --type=merge -p '{\"spec\":{\"updateStrategy\":{\"type\":\"RollingUpdate\",\"recreate\":null}}}'",
			s.Set.resource(), s.Namespace, s.Set.Name),
	}
}

// outdated holds while an ordinal would go back in time by moving: somebody has changed the
// source's pod template in mid-move, and what was written by the new one would be read by
// the old one. On the way back that is what is asked for.
func (p *planner) outdated() *Hold {
	if p.Template.Fields == "" || p.direction() == api.Back {
		return nil
	}
	side := p.Destination
	return &Hold{
		Reason: api.ReasonDestinationDiffers,
		Message: fmt.Sprintf("%s was changed in mid-move, and %s was not: they differ in %s, and the next ordinal would start as it was before",
			p.Source.object(), side.object(), p.Template.Fields),
		Remedy:  p.catchUp(),
		Stalled: true,
	}
}

// carry moves the volumes of an ordinal that neither slice owns, and starts it.
func (p *planner) carry(k int32) *Decision {
	if hold := p.released(k); hold != nil {
		return p.held(api.StepAwaitRelease, *hold)
	}
	if decision := p.rename(k); decision != nil {
		return p.at(api.StepCarryVolumes, decision)
	}
	held, hold := p.volumesOf(k)
	if hold != nil {
		return p.held(api.StepCarryVolumes, *hold)
	}
	for _, v := range held { // all of them, before any is carried away
		problem := volumes.Swapped(p.pair(v))
		if problem == nil {
			problem = volumes.Replaced(p.pair(v).Giver, RecordedVolume(p.Record.Handoff, k, v.Template).Disk)
		}
		if problem != nil {
			return p.at(api.StepCarryVolumes, p.volumeDecision(v, volumes.Verdict{Blocked: problem}))
		}
	}
	for _, v := range held {
		if decision := p.volumeDecision(v, volumes.Rebind(p.pair(v))); decision != nil {
			return p.at(api.StepCarryVolumes, decision)
		}
	}
	set := p.taker.Set
	start, replicas := with(set, k)
	return p.at(api.StepScaleUp, effect(Effect{
		Verb: ScaleUp, Side: p.takerName, Ordinal: k, Name: set.Name,
		UID: set.UID, ResourceVersion: set.ResourceVersion, Start: start, Replicas: replicas,
	}))
}

// receive waits until the ordinal is available at the taker, then begins the next
// one at once when it can: the reserved budget is kept then.
func (p *planner) receive(k int32) *Decision {
	if decision := p.offItsDisk(k); decision != nil {
		return decision
	}
	if waits := p.comingUp(p.taker, k); waits != nil {
		return waits
	}
	if next, more := p.next(); more && !p.resting() && p.gate(next) == nil {
		return p.start(next)
	}
	next := p.Record
	next.Handoff = nil
	return &Decision{Record: &next, Step: api.StepAwaitReadiness}
}

// comingUp waits until the ordinal is available at a side; nil when it is.
func (p *planner) comingUp(side *Side, k int32) *Decision {
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

// command is what a person types about this migration.
func (p *planner) command(verb string) string {
	return fmt.Sprintf("kubectl migrate %s %s -n %s", verb, p.Migration.Name, p.Migration.Namespace)
}

// at names the step of a decision, and gives a wait its deadline.
func (p *planner) at(step api.Step, decision *Decision) *Decision {
	if decision.Hold == nil || decision.Hold.Stalled {
		decision.Step = step
		return decision
	}
	sooner := decision.Wait
	decision = p.held(step, *decision.Hold)
	if sooner > 0 {
		decision.Wait = min(sooner, cmp.Or(decision.Wait, sooner))
	}
	return decision
}

// held is a wait in a step. It stalls when the step has taken too long (I6).
func (p *planner) held(step api.Step, hold Hold) *Decision {
	decision := &Decision{Hold: &hold, Step: step}
	if p.Record.Handoff == nil {
		return decision
	}
	if left := p.Spec.Deadline - p.spent(step); left > 0 {
		decision.Wait = left
		return decision
	}
	hold.Stalled = true
	hold.Message = fmt.Sprintf("ordinal %d has been at %s for longer than %s: %s", p.Record.Handoff.Ordinal, step, p.Spec.Deadline, hold.Message)
	return decision
}

// spent is how long the ordinal has been at a step, as far as it is recorded.
func (p *planner) spent(step api.Step) time.Duration {
	handoff := p.Record.Handoff
	if handoff.Step != step || handoff.StepTime.IsZero() {
		return 0
	}
	return p.Now.Sub(handoff.StepTime.Time)
}

// volumesOf returns the claims of an ordinal, one for each claim template. It holds
// when one was not looked at: an ordinal must never start without its volume.
func (p *planner) volumesOf(ordinal int32) ([]OrdinalVolume, *Hold) {
	var found []OrdinalVolume
	for _, v := range p.Volumes {
		if v.Ordinal == ordinal {
			found = append(found, v)
		}
	}
	templates := p.Source.Set.Templates
	if p.Source.Set.Presence != Seen || len(found) != len(templates) {
		return found, &Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("the claims of ordinal %d were not all read: %d of %d", ordinal, len(found), len(templates))}
	}
	for i, v := range found {
		if v.Template != templates[i] {
			return found, &Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("claim template %s of ordinal %d was not read", templates[i], ordinal)}
		}
	}
	return found, nil
}

func (p *planner) pair(v OrdinalVolume) volumes.Pair {
	pair := volumes.Pair{Shared: p.Spec.SameCluster, Fence: p.fence(), Owner: p.UID, Giver: v.Source, Taker: v.Destination}
	if p.giverName == DestinationSide {
		pair.Giver, pair.Taker = v.Destination, v.Source
	}
	return pair
}

// volumeDecision turns a verdict into a decision; nil when the volume is in place.
func (p *planner) volumeDecision(v OrdinalVolume, verdict volumes.Verdict) *Decision {
	switch {
	case verdict.Blocked != nil:
		return Stalled(verdict.Blocked.Reason, fmt.Sprintf("ordinal %d: %s", v.Ordinal, verdict.Blocked.Message), verdict.Blocked.Remedy)
	case verdict.Waits != "":
		return p.unbound(v, verdict)
	case verdict.Action == nil:
		return nil
	}
	return p.carryVolume(v, *verdict.Action)
}

func (p *planner) carryVolume(v OrdinalVolume, action volumes.Action) *Decision {
	side := p.takerName
	if action.Verb == volumes.Secure || action.Verb == volumes.Park {
		side = p.giverName
	}
	return effect(Effect{Verb: CarryVolume, Side: side, Ordinal: v.Ordinal, Name: action.Volume, Template: v.Template, Volume: action})
}

// mostCalls bounds how often the binder is called to a claim, each time after twice
// as long: after 1, 2, 4 and 8 s. Its own resync is due by then.
const mostCalls = 4

// unbound waits for the binder, and calls it again when it takes long.
func (p *planner) unbound(v OrdinalVolume, verdict volumes.Verdict) *Decision {
	decision := &Decision{Hold: &Hold{
		Reason: api.ReasonVolumeUnbound, Message: "waiting until " + verdict.Waits,
		Remedy: "kubectl describe pvc of that claim; is kube-controller-manager running?",
	}}
	if verdict.Call == nil || verdict.Call.Calls > mostCalls {
		return decision
	}
	decision.Wait = time.Second<<(verdict.Call.Calls-1) - p.spent(api.StepCarryVolumes)
	if decision.Wait > 0 {
		return decision
	}
	return p.carryVolume(v, *verdict.Call)
}

// FinishedHandoff is the handoff that a new record ends: its ordinal has arrived.
func FinishedHandoff(s Snapshot, next Record) *api.Handoff {
	was := s.Record.Handoff
	if was == nil || next.Handoff != nil && next.Handoff.Ordinal == was.Ordinal {
		return nil
	}
	if p := newPlanner(s); !p.taker.Set.Has(was.Ordinal) {
		return nil
	}
	return was
}
