package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// carryPlanner carries the volumes of one ordinal (I2, I3).
type carryPlanner struct{ *View }

// volumesOf returns the claims of an ordinal, one for each claim template. It holds
// when one was not looked at: an ordinal must never start without its volume.
func (p *View) volumesOf(ordinal int32) ([]plan.OrdinalVolume, *plan.Hold) {
	var found []plan.OrdinalVolume
	for _, v := range p.Volumes {
		if v.Ordinal == ordinal {
			found = append(found, v)
		}
	}
	templates := p.Source.Set.Templates
	if p.Source.Set.Presence != plan.Seen || len(found) != len(templates) {
		return found, &plan.Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("the claims of ordinal %d were not all read: %d of %d", ordinal, len(found), len(templates))}
	}
	for i, v := range found {
		if v.Template != templates[i] {
			return found, &plan.Hold{Reason: api.ReasonVolumeUnbound, Message: fmt.Sprintf("claim template %s of ordinal %d was not read", templates[i], ordinal)}
		}
	}
	return found, nil
}

func (p *View) pair(v plan.OrdinalVolume) volumes.Pair {
	pair := p.alone(v)
	if pair.Copy != nil {
		pair.Copy.Beside = plan.Besides{All: p.Volumes, Giver: p.giverName, Handoff: p.Record.Handoff, Ahead: p.fillsAhead}.Of(v)
	}
	return pair
}

// fillsAhead says whether a volume is filled while its ordinal runs, now.
func (p *View) fillsAhead(v plan.OrdinalVolume) bool {
	method := aheadOf(v)
	return method != nil && v.Copy != nil && v.Copy.Asked.Prefetch >= p.turns && method.Fills(p.alone(v))
}

// alone is a volume without where the others of its ordinal are.
func (p *View) alone(v plan.OrdinalVolume) volumes.Pair {
	pair := volumes.Pair{Shared: v.Shared(p.Spec), Separate: v.Separate(), Fence: p.fence(), Owner: p.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word}
	if p.Destination.Lost {
		pair.Word.ReturnsToKept = true // who recovers has said that ordinals come back to what they have left
	}
	if p.giverName == plan.DestinationSide {
		pair.Giver, pair.Taker = v.Destination, v.Source
	}
	if v.Copy != nil {
		seen := *v.Copy
		seen.Now, seen.LastAttempt, seen.Attempt = p.Now, p.Record.LastAttempt, plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template).Copy
		pod, found := p.giver.Pod(v.Ordinal)
		seen.Pod = volumes.CopyPod{Name: plan.PodName(p.giver.Set.Name, v.Ordinal), Found: found, Ready: pod.Ready, Terminating: pod.Terminating, Node: pod.Node, Trouble: pod.Trouble}
		seen.Early = p.Early != nil
		seen.Returns = p.direction() == api.Back
		seen.Down = gatePlanner{p}.takesBackDown(v.Ordinal)
		seen.Back = seen.Attempt.Number > 0 && seen.Attempt.Giver != string(p.giverName)
		if p.giverName == plan.DestinationSide {
			seen.Snapshot.Giver, seen.Snapshot.Taker = seen.Snapshot.Taker, seen.Snapshot.Giver
		}
		pair.Copy = &seen
	}
	return pair
}

// volumesNow are the volumes that the giver's claims of an ordinal name now. Those of a giver
// that is lost for good are named by the taker's claims, which were kept.
func (p carryPlanner) volumesNow(k int32) []api.HandoffVolume {
	var now []api.HandoffVolume
	for _, v := range p.Volumes {
		pair := p.pair(v)
		holding := pair.Giver
		if p.Destination.Lost {
			holding = pair.Taker
		}
		if v.Ordinal == k && holding.Claim.Volume != "" {
			now = append(now, p.recordOf(v, holding))
		}
	}
	return now
}

// recordOf is what is recorded of a claim's volume: by the name that it has on the source. A disk that was not read is as it was
// recorded before.
func (p carryPlanner) recordOf(v plan.OrdinalVolume, holding volumes.Holding) api.HandoffVolume {
	before := plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
	record := api.HandoffVolume{ClaimTemplate: v.Template, Name: holding.Claim.Volume}
	if holding.Name != "" && holding.Name == record.Name {
		record.Name = v.Source.Name
	}
	if holding.Volume.Found && holding.Volume.Name == holding.Claim.Volume {
		record.Disk = volumes.Disk(holding.Volume.Handle)
	} else if before.Name == record.Name {
		record.Disk = before.Disk
	}
	record.Copy = before.Copy
	if !p.Destination.Lost {
		record.Copy = copyOf(before, record)
	}
	return record
}

// copyOf is how far the copy of a volume is. What passes have read of another disk counts for nothing: a clone of the one that
// they read has its inodes and its times, and not what was written since.
func copyOf(before, now api.HandoffVolume) api.CopyAttempt {
	another := before.Name != "" && before.Name != now.Name
	if before.Disk != "" && now.Disk != "" {
		another = before.Disk != now.Disk
	}
	attempt := before.Copy
	attempt.Dropped = attempt.Dropped || another && attempt.Number > 0
	return attempt
}

// sameVolumes stalls when the ordinal that the giver still has, or has again, is not on the
// volumes that it had when its handoff began (I3). What this migration has never secured it
// has never stopped: then the record alone is behind, and is written anew.
func (p carryPlanner) sameVolumes(k int32) *plan.Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		recorded := plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
		pair := p.pair(v)
		if recorded.Name == "" || pair.Giver.Claim.Volume == "" || pair.Giver.Claim.Volume == cmp.Or(pair.Giver.Name, recorded.Name) {
			continue
		}
		if pair.Giver.Volume.Found && !pair.Giver.SecuredBy(p.UID) {
			continue
		}
		taken := volumes.Taken{Shared: pair.Shared, From: pair.Taker, At: pair.Giver}
		if problem := v.Way().Carried(taken); problem != nil {
			return plan.Stalled(problem.Reason, problem.Message, problem.Remedy)
		}
	}
	now := p.volumesNow(k)
	if len(now) < len(p.Source.Set.Templates) || slices.Equal(now, p.Record.Handoff.Volumes) {
		return nil
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = now
	next.Handoff = &handoff
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// volumeDecision turns a verdict into a decision; nil when the volume is in place.
func (p carryPlanner) volumeDecision(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	switch {
	case verdict.Blocked != nil:
		return plan.Stalled(verdict.Blocked.Reason, fmt.Sprintf("ordinal %d: %s", v.Ordinal, verdict.Blocked.Message), verdict.Blocked.Remedy)
	case verdict.Attempt != nil:
		return p.recordCopy(v, *verdict.Attempt)
	case verdict.Look > 0 && verdict.Deletion == nil:
		return p.copying(v, verdict)
	case verdict.Waits != "":
		return p.unbound(v, verdict)
	case verdict.Action == nil:
		return nil
	}
	return p.carryVolume(v, *verdict.Action)
}

// recordCopy writes down how far the copy of a volume is, before anything is built upon it.
func (p carryPlanner) recordCopy(v plan.OrdinalVolume, attempt api.CopyAttempt) *plan.Decision {
	if attempt.Giver == "" {
		attempt.Giver = string(p.giverName)
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = slices.Clone(handoff.Volumes)
	at := slices.IndexFunc(handoff.Volumes, func(h api.HandoffVolume) bool { return h.ClaimTemplate == v.Template })
	if at < 0 {
		at, handoff.Volumes = len(handoff.Volumes), append(handoff.Volumes, api.HandoffVolume{})
	}
	if attempt.Number != handoff.Volumes[at].Copy.Number { // it may be another one than was copied before the move turned round
		left := handoff.Volumes[at].Left
		handoff.Volumes[at] = p.recordOf(v, p.pair(v).Giver)
		handoff.Volumes[at].Left = left
	}
	handoff.Volumes[at].Copy = attempt
	next.Handoff = &handoff
	return &plan.Decision{Record: &next, Step: api.StepCarryVolumes}
}

// copying waits for movers, or for snapshots, of which no watch tells.
func (p carryPlanner) copying(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	side := p.Side(p.takerName)
	reason, how, what := api.ReasonCopying, "is copied", "pods,pvc"
	if v.Method == api.MethodSnapshot {
		reason, how, what = api.ReasonSnapshotting, "moves by a snapshot", "volumesnapshots,pods,pvc"
	}
	return &plan.Decision{Wait: verdict.Look, Hold: &plan.Hold{
		Reason: reason, Message: fmt.Sprintf("claim template %s of ordinal %d %s: waiting until %s", v.Template, v.Ordinal, how, verdict.Waits),
		Remedy: "look at what it is made with on both sides, as by: " + side.Kubectl().Do("get", what, "-n", side.Namespace, "-l", fmt.Sprintf("%s=%s", api.MigrationLabelKey, p.UID)),
	}}
}

// sideOf is where an action on a volume is done.
func (p carryPlanner) sideOf(v plan.OrdinalVolume, action volumes.Action) plan.SideName {
	if v.Way().AtGiver(action) {
		return p.giverName
	}
	return p.takerName
}

func (p carryPlanner) carryVolume(v plan.OrdinalVolume, action volumes.Action) *plan.Decision {
	side := p.sideOf(v, action)
	if action.Verb == volumes.Restore {
		return restorePolicy(side, v.Ordinal, action)
	}
	return effect(plan.Effect{
		Verb: plan.CarryVolume, Side: side, Ordinal: v.Ordinal, Name: cmp.Or(action.Volume, action.Copy.Pod, action.Ref.Name), Template: v.Template, Volume: action,
		Carriage: plan.Carriage{Method: v.Method, Giver: p.giverName, Pair: p.pair(v)},
	})
}

// mostCalls bounds how often the binder is called to a claim, each time after twice
// as long: after 1, 2, 4 and 8 s. Its own resync is due by then.
const mostCalls = 4

// unbound waits for the binder, and calls it again when it takes long.
func (p carryPlanner) unbound(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	side := p.taker
	if verdict.Call != nil {
		side = p.Side(p.sideOf(v, *verdict.Call))
	}
	if verdict.Deletion != nil {
		return &plan.Decision{Hold: p.going(verdict.Deletion), Wait: verdict.Look}
	}
	if awaited := verdict.Awaited; awaited != nil {
		return &plan.Decision{Hold: &plan.Hold{Reason: awaited.Reason, Message: awaited.Message, Remedy: awaited.Remedy}}
	}
	decision := &plan.Decision{Hold: &plan.Hold{
		Reason: api.ReasonVolumeUnbound, Message: "waiting until " + verdict.Waits,
		Remedy: side.Kubectl().Do("describe", "pvc", "-n", side.Namespace) + "; is kube-controller-manager running?",
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

// Relays are the movers of a snapshot that are to be connected now. It is not known where a side was not seen, or its
// movers were not looked at.
func Relays(s plan.Snapshot) (relays []plan.Relay, known bool) {
	if s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen || s.Focused && !s.VolumesRead {
		return nil, false
	}
	if s.Record.Handoff == nil || s.Record.Fence == nil {
		return nil, true
	}
	p := viewOf(s)
	for _, v := range p.Volumes {
		if v.Copy == nil {
			continue
		}
		pair := p.pair(v)
		sender, receiver, due := copy.Relays(pair)
		if !due {
			continue
		}
		giver := plan.SideName(pair.Copy.Attempt.Giver)
		relays = append(relays, plan.Relay{
			Ordinal: v.Ordinal, Template: v.Template, Ahead: sender.Warm,
			Sender:   relayEnd(giver, sender),
			Receiver: relayEnd(giver.Other(), receiver),
		})
	}
	return relays, true
}

func relayEnd(side plan.SideName, end copy.End) plan.RelayEnd {
	return plan.RelayEnd{Side: side, Namespace: end.Ref.Namespace, Name: end.Ref.Name, UID: end.UID}
}
