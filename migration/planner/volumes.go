package planner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// carryPlanner moves the volumes of one ordinal (I2, I3).
type carryPlanner struct{ *View }

// volumesOf returns the claims of an ordinal, one for each claim template. It holds if any was not read, because
// an ordinal must never start without its volume.
func (p *View) volumesOf(ordinal int32) ([]plan.OrdinalVolume, *plan.Hold) {
	found, templates := p.claimsOf(ordinal), p.Source.Set.Templates
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

// claimsOf returns the claims of an ordinal that were read.
func (p *View) claimsOf(ordinal int32) []plan.OrdinalVolume {
	if found, known := p.claims[ordinal]; known {
		return found
	}
	var found []plan.OrdinalVolume
	for _, v := range p.Volumes {
		if v.Ordinal == ordinal {
			found = append(found, v)
		}
	}
	if p.claims == nil {
		p.claims = map[int32][]plan.OrdinalVolume{}
	}
	p.claims[ordinal] = found
	return found
}

func (p *View) pair(v plan.OrdinalVolume) volumes.Pair {
	pair := p.alone(v)
	if pair.Copy != nil {
		pair.Copy.Beside = plan.Besides{All: p.Volumes, Giver: p.giverName, Handoff: p.Record.Handoff, Ahead: p.fillsAhead}.Of(v)
	}
	return pair
}

// fillsAhead reports whether a volume is currently filled while its ordinal runs.
func (p *View) fillsAhead(v plan.OrdinalVolume) bool {
	return v.FillsAhead() && v.Copy != nil && v.Copy.Asked.Prefetch >= p.turns && v.Way().Facts().Fills(p.alone(v))
}

// alone returns the pair of a volume without the location of the ordinal's other volumes.
func (p *View) alone(v plan.OrdinalVolume) volumes.Pair {
	pair := volumes.Pair{Shared: v.Shared(p.Spec), Separate: v.Separate(), Fence: p.fence(), Owner: p.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word}
	if p.Destination.Lost {
		pair.Word.ReturnsToKept = true // with mode Recover the user has accepted that ordinals return to the disks that they left
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
		if p.Record.Outage != nil {
			seen.Outage = *p.Record.Outage
		}
		seen.Returns = p.direction() == api.Back
		seen.Down = gatePlanner{p}.takesBackDown(v.Ordinal)
		seen.Back = seen.Attempt.Number > 0 && seen.Attempt.Giver != string(p.giverName)
		seen.Stopped = p.leftGiver(v.Ordinal, seen.Attempt)
		if p.giverName == plan.DestinationSide {
			seen.Snapshot.Giver, seen.Snapshot.Taker = seen.Snapshot.Taker, seen.Snapshot.Giver
		}
		pair.Copy = &seen
	}
	return pair
}

// leftGiver reports whether the side from which an attempt copies does not have the ordinal any more.
func (p *View) leftGiver(k int32, attempt api.CopyAttempt) bool {
	giver := p.giver
	if attempt.Number > 0 {
		giver = p.Side(plan.SideName(attempt.Giver))
	}
	return giver.Set.Presence == plan.Seen && !giver.Set.Has(k)
}

// volumesNow returns the volumes that the giver's claims of an ordinal currently reference. For a lost giver, the
// retained claims of the taker reference them.
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

// recordOf returns the record of a claim's volume, by its name at the source. If the disk was not read, the
// recorded one remains.
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

// copyOf returns the progress of a volume's copy. Copy passes that have read another disk do not count. A clone
// has the same inodes and times as the disk that was read, but not the later writes.
func copyOf(before, now api.HandoffVolume) api.CopyAttempt {
	another := before.Name != "" && before.Name != now.Name
	if before.Disk != "" && now.Disk != "" {
		another = before.Disk != now.Disk
	}
	attempt := before.Copy
	attempt.Dropped = attempt.Dropped || another && attempt.Number > 0
	return attempt
}

// sameVolumes stalls when an ordinal that the giver still owns, or owns again, does not have the volumes with
// which its handoff began (I3). If this migration never secured the volume, it never stopped the ordinal: then
// only the record is stale, and is updated.
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
		pair.Giver, pair.Taker = pair.Taker, pair.Giver // as if it had arrived where it is
		if problem, _ := v.Way().Check(pair, volumes.AfterArrival); problem != nil {
			return &plan.Decision{Hold: problem}
		}
	}
	now := p.volumesNow(k)
	if len(now) < len(p.Source.Set.Templates) || slices.Equal(now, p.Record.Handoff.Volumes) {
		return nil
	}
	next, handoff := p.Record, *p.Record.Handoff
	for _, v := range p.claimsOf(k) {
		next.Proofs = p.stillOwing(next.Proofs, v)
	}
	handoff.Volumes = now
	next.Handoff = &handoff
	return &plan.Decision{Record: &next, Step: api.StepGate}
}

// volumeDecision converts a verdict into a decision; nil: the volume is in place.
func (p carryPlanner) volumeDecision(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	switch {
	case verdict.Hold != nil && verdict.Hold.Stalled:
		return &plan.Decision{Hold: ofOrdinal(v.Ordinal, *verdict.Hold)}
	case verdict.Hold != nil:
		return &plan.Decision{Hold: verdict.Hold}
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

// ofOrdinal returns a hold whose message names the ordinal.
func ofOrdinal(k int32, hold plan.Hold) *plan.Hold {
	hold.Message = fmt.Sprintf("ordinal %d: %s", k, hold.Message)
	return &hold
}

// recordCopy records the progress of a volume's copy before any step relies on it.
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
	if former := handoff.Volumes[at]; attempt.Number != former.Copy.Number { // the volume may differ from the one copied before the direction changed
		next.Proofs = p.stillOwing(next.Proofs, v)
		handoff.Volumes[at] = p.recordOf(v, p.pair(v).Giver)
		handoff.Volumes[at].Left = former.Left
	}
	handoff.Volumes[at].Copy = attempt
	next.Handoff = &handoff
	return &plan.Decision{Record: &next, Step: api.StepCarryVolumes}
}

// copying waits for movers or snapshots, which no watch reports.
func (p carryPlanner) copying(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	side := p.Side(p.takerName)
	reason, how, what := api.ReasonCopying, "is copied", "pods,pvc"
	if v.Method == api.MethodSnapshot {
		reason, how, what = api.ReasonSnapshotting, "moves by a snapshot", "volumesnapshots,pods,pvc"
	}
	return &plan.Decision{Wait: verdict.Look, Hold: &plan.Hold{
		Reason: reason, Message: fmt.Sprintf("claim template %s of ordinal %d %s: waiting until %s", v.Template, v.Ordinal, how, verdict.Waits),
		Remedy: "look at the objects involved on both sides, for example: " + side.Kubectl().Do("get", what, "-n", side.Namespace, "-l", fmt.Sprintf("%s=%s", api.MigrationLabelKey, p.UID)),
	}}
}

// sideOf returns the side on which an action on a volume is performed.
func (p carryPlanner) sideOf(action volumes.Action) plan.SideName {
	if action.AtGiver {
		return p.giverName
	}
	return p.takerName
}

func (p carryPlanner) carryVolume(v plan.OrdinalVolume, action volumes.Action) *plan.Decision {
	side := p.sideOf(action)
	if action.Restores() {
		return restorePolicy(side, v.Ordinal, action)
	}
	return effect(plan.Effect{
		Verb: plan.CarryVolume, Side: side, Ordinal: v.Ordinal, Name: cmp.Or(action.Volume, action.Copy.Pod, action.Ref.Name), Template: v.Template, Volume: action,
		Carriage: plan.Carriage{Method: v.Method, Giver: p.giverName, Pair: p.pair(v)},
	})
}

// mostCalls bounds how often the binder is triggered for a claim, with doubled intervals: after 1, 2, 4 and 8 s.
// After that, the binder's own resync is due.
const mostCalls = 4

// unbound waits for the binder, and triggers it again if that takes long.
func (p carryPlanner) unbound(v plan.OrdinalVolume, verdict volumes.Verdict) *plan.Decision {
	side := p.taker
	if verdict.Call != nil {
		side = p.Side(p.sideOf(*verdict.Call))
	}
	if verdict.Deletion != nil {
		return &plan.Decision{Hold: p.going(verdict.Deletion), Wait: verdict.Look}
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

// Relays returns the movers that must be connected now. The result is not known if a side or its movers were not
// read.
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
