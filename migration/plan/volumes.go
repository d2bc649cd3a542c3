package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// carryPlanner carries the volumes of one ordinal (I2, I3).
type carryPlanner struct{ *View }

// OrdinalVolume is one claim template's claim of one ordinal on both sides.
type OrdinalVolume struct {
	Ordinal  int32
	Template string
	// Method is how its data reaches the other side; empty: the API's default.
	Method api.VolumeMethod
	// Word is what a person has said of the template.
	Word                volumes.Word
	Source, Destination volumes.Holding
	// Copy is for method Copy; nil: nothing was looked at.
	Copy *volumes.Copying
}

func (v OrdinalVolume) method() volumes.Method { return methods.Of(v.Method) }

// Separate says whether each side has a volume of its own.
func (v OrdinalVolume) Separate() bool { return v.method().Separate() }

// shared says whether both sides have one volume: in one cluster, where the method carries it over.
func (v OrdinalVolume) shared(spec Spec) bool { return spec.SameCluster && !v.Separate() }

// Holding returns one side's view of a claim.
func (v *OrdinalVolume) Holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}

// volumesOf returns the claims of an ordinal, one for each claim template. It holds
// when one was not looked at: an ordinal must never start without its volume.
func (p *View) volumesOf(ordinal int32) ([]OrdinalVolume, *Hold) {
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

func (p *View) pair(v OrdinalVolume) volumes.Pair {
	pair := volumes.Pair{Shared: v.shared(p.Spec), Separate: v.Separate(), Fence: p.fence(), Owner: p.UID, Giver: v.Source, Taker: v.Destination, Template: v.Template, Word: v.Word}
	if p.Destination.Lost {
		pair.Word.ReturnsToKept = true // who recovers has said that ordinals come back to what they have left
	}
	if p.giverName == DestinationSide {
		pair.Giver, pair.Taker = v.Destination, v.Source
	}
	if v.Copy != nil {
		seen := *v.Copy
		seen.Now, seen.Attempt = p.Now, RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template).Copy
		seen.Back = seen.Attempt.Number > 0 && seen.Attempt.Giver != string(p.giverName)
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

// recordOf is what is recorded of a claim's volume. A disk that was not read is as it was
// recorded before.
func (p carryPlanner) recordOf(v OrdinalVolume, holding volumes.Holding) api.HandoffVolume {
	before := RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
	record := api.HandoffVolume{ClaimTemplate: v.Template, Name: holding.Claim.Volume, Copy: before.Copy}
	if holding.Volume.Found && holding.Volume.Name == record.Name {
		record.Disk = volumes.Disk(holding.Volume.Handle)
	} else if before.Name == record.Name {
		record.Disk = before.Disk
	}
	return record
}

// sameVolumes stalls when the ordinal that the giver still has, or has again, is not on the
// volumes that it had when its handoff began (I3). What this migration has never secured it
// has never stopped: then the record alone is behind, and is written anew.
func (p carryPlanner) sameVolumes(k int32) *Decision {
	if p.Focused && !p.VolumesRead {
		return nil
	}
	for _, v := range p.Volumes {
		recorded := RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template)
		pair := p.pair(v)
		if recorded.Name == "" || pair.Giver.Claim.Volume == "" || pair.Giver.Claim.Volume == recorded.Name {
			continue
		}
		if pair.Giver.Volume.Found && !pair.Giver.SecuredBy(p.UID) {
			continue
		}
		taken := volumes.Taken{Shared: pair.Shared, From: pair.Taker, At: pair.Giver}
		if problem := v.method().Carried(taken); problem != nil {
			return Stalled(problem.Reason, problem.Message, problem.Remedy)
		}
	}
	now := p.volumesNow(k)
	if len(now) < len(p.Source.Set.Templates) || slices.Equal(now, p.Record.Handoff.Volumes) {
		return nil
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = now
	next.Handoff = &handoff
	return &Decision{Record: &next, Step: api.StepGate}
}

// volumeDecision turns a verdict into a decision; nil when the volume is in place.
func (p carryPlanner) volumeDecision(v OrdinalVolume, verdict volumes.Verdict) *Decision {
	switch {
	case verdict.Blocked != nil:
		return Stalled(verdict.Blocked.Reason, fmt.Sprintf("ordinal %d: %s", v.Ordinal, verdict.Blocked.Message), verdict.Blocked.Remedy)
	case verdict.Attempt != nil:
		return p.recordCopy(v, *verdict.Attempt)
	case verdict.Look > 0:
		return p.copying(v, verdict)
	case verdict.Waits != "":
		return p.unbound(v, verdict)
	case verdict.Action == nil:
		return nil
	}
	return p.carryVolume(v, *verdict.Action)
}

// recordCopy writes down how far the copy of a volume is, before anything is built upon it.
func (p carryPlanner) recordCopy(v OrdinalVolume, attempt api.CopyAttempt) *Decision {
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
		handoff.Volumes[at] = p.recordOf(v, p.pair(v).Giver)
	}
	handoff.Volumes[at].Copy = attempt
	next.Handoff = &handoff
	return &Decision{Record: &next, Step: api.StepCarryVolumes}
}

// copying waits for movers, of which no watch tells.
func (p carryPlanner) copying(v OrdinalVolume, verdict volumes.Verdict) *Decision {
	side := p.Side(p.takerName)
	return &Decision{Wait: verdict.Look, Hold: &Hold{
		Reason: api.ReasonCopying, Message: fmt.Sprintf("claim template %s of ordinal %d is copied: waiting until %s", v.Template, v.Ordinal, verdict.Waits),
		Remedy: fmt.Sprintf("look at its pods and claims on both sides, as in cluster %s: kubectl get pods,pvc -n %s -l %s=%s", side.Cluster, side.Namespace, api.MigrationLabelKey, p.UID),
	}}
}

func (p carryPlanner) carryVolume(v OrdinalVolume, action volumes.Action) *Decision {
	side := p.takerName
	if v.method().AtGiver(action) {
		side = p.giverName
	}
	if action.Verb == volumes.Restore {
		return restorePolicy(side, v.Ordinal, action)
	}
	return effect(Effect{
		Verb: CarryVolume, Side: side, Ordinal: v.Ordinal, Name: cmp.Or(action.Volume, action.Copy.Pod, action.Ref.Name), Template: v.Template, Volume: action,
		Carriage: Carriage{Method: v.Method, Giver: p.giverName, Pair: p.pair(v)},
	})
}

// mostCalls bounds how often the binder is called to a claim, each time after twice
// as long: after 1, 2, 4 and 8 s. Its own resync is due by then.
const mostCalls = 4

// unbound waits for the binder, and calls it again when it takes long.
func (p carryPlanner) unbound(v OrdinalVolume, verdict volumes.Verdict) *Decision {
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

// RecordedVolume is the volume that an ordinal on its way had for a claim template; its name is
// empty when it is not on its way, or nothing is known.
func RecordedVolume(handoff *api.Handoff, ordinal int32, template string) api.HandoffVolume {
	if handoff == nil || handoff.Ordinal != ordinal {
		return api.HandoffVolume{}
	}
	return handoff.Volume(template)
}

// released says what still holds an ordinal that neither slice owns, or its volumes (I1,
// I2). Where all its volumes are still bound to the slice that takes it, nothing has been
// carried anywhere: then it is enough that the other side has nothing of it.
func (p carryPlanner) released(k int32) *Hold {
	sides := []*Side{p.giver, p.taker}
	held, unread := p.volumesOf(k)
	kept := unread == nil && p.keptByTaker(held)
	if kept {
		sides = sides[:1]
	}
	for _, side := range sides {
		if hold := cmp.Or(side.stopping(k), side.behind()); hold != nil {
			return hold
		}
	}
	for _, v := range held {
		pair := p.pair(v)
		if hold := inUse(pair.Giver); hold != nil {
			return hold
		}
		if kept {
			if !v.shared(p.Spec) {
				if hold := anyAttached(pair.Giver); hold != nil {
					return hold
				}
			}
			continue
		}
		if hold := cmp.Or(anyAttached(pair.Giver), inUse(pair.Taker), anyAttached(pair.Taker)); hold != nil {
			return hold
		}
	}
	return unread
}

// keptByTaker says whether all volumes of an ordinal are still bound to the taker's claims:
// it was stopped there, and turned round before anything was carried away. Of an ordinal
// without volumes nothing ever is.
func (p carryPlanner) keptByTaker(held []OrdinalVolume) bool {
	for _, v := range held {
		pair := p.pair(v)
		if !pair.Taker.Bound() || !v.shared(p.Spec) && pair.Giver.Volume.Found && !pair.Giver.Parked() {
			return false
		}
	}
	return true
}

// stopping holds while a side has a pod of an ordinal, whether its StatefulSet exists or
// not: a pod is gone when its object is gone.
func (s *Side) stopping(k int32) *Hold {
	pod, found := s.Pod(k)
	name := fmt.Sprintf("%s/%s-%d in cluster %s", s.Namespace, s.Set.Name, k, s.Cluster)
	switch {
	case !found:
		return nil
	case pod.Terminating:
		return &Hold{
			Reason: api.ReasonPodTerminating, Message: "waiting until pod " + name + " is gone",
			Remedy: "it is never force-deleted: look at its finalizers and its node",
		}
	case s.Set.Presence == Seen:
		return &Hold{Reason: api.ReasonPodRunning, Message: "waiting until pod " + name + " is stopped"}
	default:
		return &Hold{
			Reason: api.ReasonPodRunning, Message: fmt.Sprintf("waiting until pod %s is stopped; %s does not exist any more, so nothing will stop it", name, s.object()),
			Remedy: fmt.Sprintf("delete the pod, and it is stopped as it should be: kubectl delete pod -n %s %s-%d", s.Namespace, s.Set.Name, k),
		}
	}
}

// inUse holds while other pods than the ordinal's own use its claim.
func inUse(h volumes.Holding) *Hold {
	if len(h.Claim.Users) == 0 {
		return nil
	}
	return &Hold{
		Reason: api.ReasonClaimInUse, Message: fmt.Sprintf("waiting until pod %s does not use claim %s/%s any more", Listed(h.Claim.Users), h.Ref.Namespace, h.Ref.Name),
		Remedy: fmt.Sprintf("kubectl describe pvc -n %s %s", h.Ref.Namespace, h.Ref.Name),
	}
}

// anyAttached holds while a volume is attached to a node. One that was released is so for its movers.
func anyAttached(h volumes.Holding) *Hold {
	if len(h.Volume.Attachments) == 0 || h.Volume.Released != "" {
		return nil
	}
	return stillAttached(h.Volume, h.Volume.Attachments[0])
}

func stillAttached(volume volumes.Volume, attachment volumes.Attachment) *Hold {
	return &Hold{
		Reason: api.ReasonVolumeAttached, Message: fmt.Sprintf("waiting until VolumeAttachment %s of volume %s, on node %s, is gone", attachment.Name, volume.Name, attachment.Node),
		Remedy: "kubectl describe volumeattachment " + attachment.Name,
	}
}
