package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// released returns the object that still holds an ordinal that neither slice owns, or its volumes (I1, I2). If all
// its volumes are still bound to the taker's claims, nothing has been moved. Then it is enough that the giver
// holds nothing of it.
//
// A pod at the taker that uses the claim does not count. It is on the side that gets the disk next, as a pod next
// to a running ordinal is on the side that has it.
//
// Once a second volume was taken over, no attachment is waited for. The giver's volume was attached nowhere when it was
// released to the movers, so it was attached for one of them, which has ended. No later write to it is part of the
// sealed copy, whether its node has detached it or not.
func (p carryPlanner) released(k int32) *plan.Hold {
	sides := []*plan.Side{p.giver, p.taker}
	held, unread := p.volumesOf(k)
	kept := unread == nil && p.keptByTaker(held)
	if kept {
		sides = sides[:1]
	}
	for _, side := range sides {
		if hold := cmp.Or(stopping(*side, k), behind(*side)); hold != nil {
			return hold
		}
	}
	for _, v := range held {
		pair := p.pair(v)
		if hold := usedBy(pair.Giver, p.mayHave(v, pair)); hold != nil {
			return hold
		}
		if kept && v.Shared(p.Spec) || volumes.TakenOver(pair) {
			continue
		}
		if hold := anyAttached(pair.Giver); hold != nil {
			return hold
		}
		if !kept && !pair.Taker.Bound() {
			if hold := anyAttached(pair.Taker); hold != nil {
				return hold
			}
		}
	}
	return unread
}

// mayHave returns the pods at the giver that may use a volume. Once the volume no longer references the giver's
// claim, no further pod can mount it through that claim (I2). That excludes pods without a node, and pods missing
// from the list that was read after that.
func (p carryPlanner) mayHave(v plan.OrdinalVolume, pair volumes.Pair) []string {
	claim := pair.Giver.Claim
	left := plan.RecordedVolume(p.Record.Handoff, v.Ordinal, v.Template).Left
	if !taken(pair) || left.Side != string(p.giverName) {
		return claim.Users
	}
	var pods []string
	listed := strings.Split(left.Pods, ",")
	for _, pod := range claim.Mounters {
		if slices.Contains(listed, pod) {
			name, _, _ := strings.Cut(pod, "/")
			pods = append(pods, name)
		}
	}
	return pods
}

// taken reports whether the giver's volume no longer references the giver's claim: no pod can mount it through
// that claim.
func taken(pair volumes.Pair) bool {
	volume := pair.Giver.Volume
	return volume.Found && !volume.ClaimRef.Names(pair.Giver.Ref)
}

// longestLeft bounds the recorded list of pods, in bytes. A longer list is not recorded, and then all pods count.
const longestLeft = 1024

// listLeft records the pods that may use a volume that was taken from the giver's claim, as soon as any pod
// references the claim. It removes the list once the giver has the volume again, since pods may mount it there.
func (p carryPlanner) listLeft(held []plan.OrdinalVolume) *plan.Decision {
	if p.Destination.Lost {
		return nil
	}
	all := slices.Clone(p.Record.Handoff.Volumes)
	for i := range all {
		at := slices.IndexFunc(held, func(v plan.OrdinalVolume) bool { return v.Template == all[i].ClaimTemplate })
		if at < 0 {
			continue
		}
		pair, side := p.pair(held[at]), string(p.giverName)
		claim, pods := pair.Giver.Claim, strings.Join(pair.Giver.Claim.Mounters, ",")
		switch {
		case pair.Giver.Volume.Found && !taken(pair) && all[i].Left.Side == side:
			all[i].Left = api.LeftVolume{}
		case taken(pair) && all[i].Left.Side != side && len(claim.Users) > 0 && len(pods) <= longestLeft:
			all[i].Left = api.LeftVolume{Side: side, Pods: pods}
		}
	}
	if slices.Equal(all, p.Record.Handoff.Volumes) {
		return nil
	}
	next, handoff := p.Record, *p.Record.Handoff
	handoff.Volumes = all
	next.Handoff = &handoff
	return &plan.Decision{Record: &next, Step: handoff.Step}
}

// going waits until an object is deleted, and stalls when that exceeds the deadline of a step: not every deletion
// completes (I6).
func (p *View) going(d *volumes.Deletion) *plan.Hold {
	late := d.At > 0 && p.Now.Sub(time.Unix(d.At, 0)) > p.Spec.Deadline
	return &plan.Hold{Reason: api.ReasonAwaitingDeletion, Message: d.Message(), Remedy: d.Remedy(), Stalled: late}
}

// keptByTaker reports whether all volumes of an ordinal are still bound to the taker's claims. The ordinal was
// then stopped there, and the direction changed before any volume was moved. It is true for an ordinal without
// volumes.
func (p carryPlanner) keptByTaker(held []plan.OrdinalVolume) bool {
	for _, v := range held {
		pair := p.pair(v)
		if !pair.Taker.Bound() || !v.Shared(p.Spec) && pair.Giver.Volume.Found && !pair.Giver.Parked() {
			return false
		}
	}
	return true
}

// stopping holds while a side has a pod of an ordinal, whether its StatefulSet exists or not. A pod is stopped
// only when its object is deleted.
func stopping(s plan.Side, k int32) *plan.Hold {
	pod, found := s.Pod(k)
	name := fmt.Sprintf("%s/%s-%d in cluster %s", s.Namespace, s.Set.Name, k, s.Cluster)
	switch {
	case !found:
		return nil
	case pod.Terminating:
		return &plan.Hold{
			Reason: api.ReasonPodTerminating, Message: "waiting until pod " + name + " is deleted" + keptBy(pod), Until: pod.GoneBy,
			Remedy: "it is never force-deleted: look at its finalizers and its node: " + s.Kubectl().Do("describe", "pod", "-n", s.Namespace, fmt.Sprintf("%s-%d", s.Set.Name, k)),
		}
	case s.Set.Presence == plan.Seen:
		return &plan.Hold{Reason: api.ReasonPodRunning, Message: "waiting until pod " + name + " is stopped"}
	default:
		return &plan.Hold{
			Reason: api.ReasonPodRunning, Message: fmt.Sprintf("waiting until pod %s is stopped; %s does not exist any more, so nothing will stop it", name, s.Object()),
			Remedy: "delete the pod, which stops it gracefully: " + s.Kubectl().Do("delete", "pod", "-n", s.Namespace, fmt.Sprintf("%s-%d", s.Set.Name, k)),
		}
	}
}

// keptBy returns the finalizers that keep the object of a terminating pod after its kubelet has finished.
func keptBy(pod plan.Pod) string {
	if !pod.Terminating || pod.Finalizers == "" {
		return ""
	}
	return volumes.KeptBy([]string{pod.Finalizers})
}

// inUse holds while pods other than the ordinal's own use its claim.
func inUse(h volumes.Holding) *plan.Hold { return usedBy(h, h.Claim.Users) }

// usedBy holds while any of these pods uses the claim.
func usedBy(h volumes.Holding, pods []string) *plan.Hold {
	if len(pods) == 0 {
		return nil
	}
	return &plan.Hold{
		Reason: api.ReasonClaimInUse, Message: fmt.Sprintf("waiting until pod %s does not use claim %s/%s any more", plan.Listed(pods), h.Ref.Namespace, h.Ref.Name),
		Remedy: h.Describe(),
	}
}

// anyAttached holds while a volume is attached to a node. The attachment of a released volume does not count,
// because its movers use it. It counts if a user has pointed the volume back at its claim by hand without removing
// the mark.
func anyAttached(h volumes.Holding) *plan.Hold {
	if len(h.Volume.Attachments) == 0 || h.Volume.Released != "" && !h.Volume.ClaimRef.Names(h.Ref) {
		return nil
	}
	return stillAttached(h, h.Volume.Attachments[0])
}

func stillAttached(h volumes.Holding, attachment volumes.Attachment) *plan.Hold {
	volume := h.Volume
	return &plan.Hold{
		Reason: api.ReasonVolumeAttached, Message: fmt.Sprintf("waiting until VolumeAttachment %s of volume %s, on node %s, is deleted", attachment.Name, volume.Name, attachment.Node),
		Remedy: h.Command("describe volumeattachment %s", attachment.Name),
	}
}
