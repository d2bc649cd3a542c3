package simulate

import (
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// AttachedTo returns the attachment of a volume to the node of a side: each side has one node.
func AttachedTo(name plan.SideName) volumes.Attachment {
	return volumes.Attachment{Name: string(name), Node: string(name)}
}

// letGo turns the attachments of an ordinal's volumes to one node into those of its side. Detach removes these, as
// a cluster does once no pod there uses the volumes. Attachments to other nodes remain.
func (w *World) letGo(name plan.SideName, ordinal int32, node string) {
	own := w.volumesOf(ordinal, ordinal)
	for i := range own {
		w.release(&own[i], name, func(at volumes.Attachment) bool { return node != "" && at.Node == node })
	}
}

// release turns some attachments of a volume into those of its side.
func (w *World) release(v *plan.OrdinalVolume, name plan.SideName, some func(volumes.Attachment) bool) {
	attachments := slices.Clone(v.Holding(name).Volume.Attachments)
	changed := false
	for i, at := range attachments {
		if some(at) && at != AttachedTo(name) {
			attachments[i], changed = AttachedTo(name), true
		}
	}
	if changed {
		w.Attach(v, name, attachments)
	}
}

// attaching prepares the attachments of a dry run: whether clusters attach volumes, and the attachments that
// deleted pods have left. The ordinal in flight has attachments only to its own node, because the gates prevent a
// stop with others. After a change of direction, all attachments of the other side are its own, because there were
// none before.
func (w *World) attaching() {
	w.Attaches = slices.ContainsFunc(w.State.Volumes, func(v plan.OrdinalVolume) bool {
		return len(v.Source.Volume.Attachments)+len(v.Destination.Volume.Attachments) > 0
	})
	handoff := w.State.Record.Handoff
	if handoff == nil || handoff.Load == nil {
		return
	}
	own := w.volumesOf(handoff.Ordinal, handoff.Ordinal)
	for _, name := range plan.SideNames {
		side := w.State.Side(name)
		left := side.ClusterID == handoff.Load.Cluster
		if _, found := side.Pod(handoff.Ordinal); found || !left && planner.Giver(w.State) != name {
			continue
		}
		for i := range own {
			w.release(&own[i], name, func(at volumes.Attachment) bool {
				return !left || handoff.Load.Node != "" && at.Node == handoff.Load.Node
			})
		}
	}
	for i := range own {
		w.releaseCopy(&own[i])
	}
}

// releaseCopy removes the attachments of movers that were deleted or have ended: those of the volume being filled, and those of the
// giver's volume while it is released for movers. Nothing else mounts these two.
func (w *World) releaseCopy(v *plan.OrdinalVolume) {
	c := v.Copy
	if c == nil || c.Attempt.Number == 0 {
		return
	}
	giver := plan.SideName(c.Attempt.Giver)
	if (!c.Receiver.Found || c.Receiver.Ended) && !c.Placeholder.Found && !c.Incoming.Volume.ClaimRef.Names(v.Holding(giver.Other()).Ref) {
		w.detachFilled(v, func(volumes.Attachment) bool { return true })
	}
	if h := v.Holding(giver); (!c.Sender.Found || c.Sender.Ended) && h.Volume.Released != "" && !h.Volume.ClaimRef.Names(h.Ref) {
		w.release(v, giver, func(volumes.Attachment) bool { return true })
	}
}

// attachFilled attaches the volume being filled to the node of its mover.
func (w *World) attachFilled(v *plan.OrdinalVolume) {
	at := AttachedTo(plan.SideName(v.Copy.Attempt.Giver).Other())
	if attachments := v.Copy.Incoming.Volume.Attachments; w.Attaches && !slices.Contains(attachments, at) {
		w.putFilled(v, append(slices.Clone(attachments), at))
	}
}

// detachFilled removes some attachments of the volume being filled.
func (w *World) detachFilled(v *plan.OrdinalVolume, some func(volumes.Attachment) bool) {
	if attachments := v.Copy.Incoming.Volume.Attachments; slices.ContainsFunc(attachments, some) {
		w.putFilled(v, slices.DeleteFunc(slices.Clone(attachments), some))
	}
}

func (w *World) putFilled(v *plan.OrdinalVolume, attachments []volumes.Attachment) {
	in := &v.Copy.Incoming.Volume
	in.Attachments = attachments
	if h := v.Holding(plan.SideName(v.Copy.Attempt.Giver).Other()); h.Volume.Name == in.Name {
		h.Volume.Attachments = attachments
	}
}

// leftBy removes the attachments of a mover that is deleted or has ended.
func (w *World) leftBy(v *plan.OrdinalVolume, role volumes.Role, node string) {
	giver := plan.SideName(v.Copy.Attempt.Giver)
	switch role {
	case volumes.RoleReceiver, volumes.RolePlaceholder:
		w.detachFilled(v, func(at volumes.Attachment) bool { return at.Node == node || at == AttachedTo(giver.Other()) })
	case volumes.RoleSender:
		w.release(v, giver, func(at volumes.Attachment) bool { return node != "" && at.Node == node })
	default: // it runs next to the ordinal's own pod, or has its own volume
	}
}
