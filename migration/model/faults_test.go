package model

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// fresh is the name of an empty volume that a provisioner has created for an empty claim.
const fresh = "fresh"

// provide makes the provisioner of a side bind an empty claim to an empty volume.
func (m *machine) provide(name plan.SideName) bool {
	for i := range m.State.Volumes {
		h := m.State.Volumes[i].Holding(name)
		if m.alien[spot{name, m.State.Volumes[i].Ordinal}] && h.Claim.Found && h.Claim.Volume == "" {
			h.Claim.Volume, h.Claim.Phase, h.Claim.ResourceVersion = fresh, corev1.ClaimBound, m.NewVersion()
			return true
		}
	}
	return false
}

// readyOnFresh makes a pod Ready whose claims another client has deleted and that runs on empty ones.
func (m *machine) readyOnFresh(name plan.SideName, ordinal int32) bool {
	side := m.State.Side(name)
	pod, found := side.Pod(ordinal)
	if !found || pod.Ready || pod.Terminating || !m.alien[spot{name, ordinal}] {
		return false
	}
	empty := false
	for i := range m.State.Volumes {
		v := &m.State.Volumes[i]
		h := v.Holding(name)
		if v.Ordinal != ordinal || h.Bound() {
			continue
		}
		if h.Claim.Volume != fresh {
			return false
		}
		empty = true
	}
	if !empty {
		return false
	}
	pod.Ready, pod.ReadySince = true, m.State.Now
	side.SetPod(pod)
	return true
}

// asNamed returns the volumes of an ordinal as an observer sees them. On both sides this is the recorded one,
// or the one that the source's claim names, or the destination's if the source has none (ordinalVolume). If
// they have other names, see call.
func asNamed(v plan.OrdinalVolume, shared bool, handoff *api.Handoff) plan.OrdinalVolume {
	name := plan.RecordedVolume(handoff, v.Ordinal, v.Template).Name
	for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
		if name == "" && h.Claim.Found {
			name = h.Claim.Volume
		}
	}
	for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
		if !h.Volume.Found || h.Volume.Name == cmp.Or(h.Name, name) {
			continue
		}
		h.Volume = volumes.Volume{}
	}
	if name != fresh {
		return v
	}
	for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
		if h.Claim.Volume != fresh {
			continue
		}
		volume := volumes.Volume{
			Found: true, Name: fresh, UID: "fresh-" + h.Claim.UID, ResourceVersion: "fresh", Phase: corev1.VolumeBound, Policy: corev1.PersistentVolumeReclaimDelete,
			Handle: fresh, ClaimRef: volumes.Ref{Namespace: h.Ref.Namespace, Name: h.Ref.Name, UID: h.Claim.UID},
		}
		h.Volume = volume
		if shared {
			v.Source.Volume, v.Destination.Volume = volume, volume
		}
	}
	return v
}

// asOwn returns the volumes as an observer sees them if each side has its own volume: the one that its claim
// names, or the recorded one (ownHolding).
func asOwn(v plan.OrdinalVolume, handoff *api.Handoff) plan.OrdinalVolume {
	name := plan.RecordedVolume(handoff, v.Ordinal, v.Template).Name
	for _, h := range []*volumes.Holding{&v.Source, &v.Destination} {
		if h.Volume.Found && h.Volume.Name != h.Claim.Volume && h.Volume.Name != name {
			h.Volume = volumes.Volume{}
		}
	}
	return v
}

// prudent checks that a decision respects the state on which it is based. No ordinal is stopped that could then
// start nowhere (I6), and nothing is carried or started that is in use (I1, I2).
func (m *machine) prudent(s plan.Snapshot, decision plan.Decision) { //nolint:gocyclo // one condition after the other, each a line
	e := decision.Effect
	m.waitsForNobodyDown(s, decision)
	if e == nil {
		return
	}
	starts, stops := e.Verb == plan.ScaleUp, e.Verb == plan.ScaleDown
	if (starts || stops) && (s.Source.Set.Reserves || s.Destination.Set.Reserves) {
		m.breaks("I1: %s while a slice skips ordinals", e)
	}
	carries := e.Verb == plan.CarryVolume && (e.Volume.Verb == volumes.Park || e.Volume.Verb == volumes.Point)
	if !starts && !stops && !carries {
		return
	}
	other := s.Side(e.Side.Other())
	if _, found := other.Pod(e.Ordinal); found && starts {
		m.breaks("I1: %s although its pod is on the other side", e)
	}
	for _, v := range s.Volumes {
		h := v.Holding(e.Side)
		if carries && e.Volume.Verb == volumes.Point { // a pod at the target has nothing of it yet; one at the origin has
			if h = v.Holding(e.Side.Other()); !h.Volume.ClaimRef.Names(h.Ref) {
				continue
			}
		}
		if v.Ordinal != e.Ordinal || len(h.Claim.Users) == 0 {
			continue
		}
		if stops || carries && v.Template == e.Template && h.Volume.ClaimRef != e.Volume.Ref {
			m.breaks("I6: %s while %s uses its claim", e, h.Claim.Users[0])
		}
	}
	m.pinnedStop(s, *e)
}

// pinnedStop checks that no ordinal is stopped whose volume is attached to another node.
func (m *machine) pinnedStop(s plan.Snapshot, e plan.Effect) {
	if e.Verb != plan.ScaleDown {
		return
	}
	pod, found := s.Side(e.Side).Pod(e.Ordinal)
	for _, v := range s.Volumes {
		for _, at := range v.Holding(e.Side).Volume.Attachments {
			if v.Ordinal == e.Ordinal && found && at.Node != pod.Node {
				m.breaks("I6: %s while its volume is attached to node %s", e, at.Node)
			}
		}
	}
}

// disturbed reports whether there is a remaining disturbance.
func (w *model) disturbed() bool { return w.stuck != nil || w.sick != nil || w.pinned != nil }

// blocks reports whether a disturbance prevents a step.
func (w *model) blocks(s step) bool {
	at := spot{s.side, s.ordinal}
	is := func(where *spot) bool { return where != nil && *where == at }
	switch s.kind {
	case ends:
		return is(w.stuck)
	case readies:
		return is(w.sick)
	case detaches:
		return is(w.pinned)
	default:
		return false
	}
}

// tryUnkind applies one permanent disturbance to an ordinal on a side.
func (w *model) tryUnkind(d deed, at spot) bool {
	switch {
	case d == lateMade:
		return w.madeLate(at)
	case d == sickens && w.sick == nil:
		w.sick = &at
		w.fail(at.side, at.ordinal)
		w.note("pods of ordinal %d on the %s do not become Ready", at.ordinal, at.side)
	case d == pins && w.pinned == nil && w.attachedAt(at):
		w.pinned = &at
		w.note("the volumes of ordinal %d on the %s stay attached", at.ordinal, at.side)
	default:
		return false
	}
	w.interleaved++
	return true
}

// madeLate creates a pod by a StatefulSet controller that decided before the ordinal was taken from its slice.
// The controller was deposed, or its cache was behind. Its successor deletes the pod. Nothing can prevent a
// creation after the ordinal was started on the other side, but that pod finds no volume.
func (w *model) madeLate(at spot) bool {
	side := w.State.Side(at.side)
	_, found := side.Pod(at.ordinal)
	owned := at.side == plan.SourceSide && w.begin.Source.Set.Has(at.ordinal)
	if !owned || found || side.Set.Presence != plan.Seen || side.Set.Has(at.ordinal) || len(w.late) > 0 {
		return false
	}
	for i := range w.leaders {
		if w.leaders[i].sent != nil || w.leaders[i].early != nil {
			return false // about to be started: too late as well
		}
	}
	other := w.State.Side(at.side.Other())
	_, there := other.Pod(at.ordinal)
	side.SetPod(plan.Pod{Ordinal: at.ordinal, UID: w.NewUID(), Owned: true, Node: string(at.side)})
	if there || other.Set.Presence == plan.Seen && other.Set.Has(at.ordinal) || !w.mounts(at) {
		w.alien[at] = true
		w.excused |= ofBudget // the disruption controller counts it
	}
	w.interleaved++
	w.note("late: the controller of the %s creates pod %d", at.side, at.ordinal)
	return true
}

// nextLife begins another migration after this one has ended, with any result.
func (w *model) nextLife(l life) bool {
	free := func(set plan.Set) bool { return api.FenceOwner(set.Fence) != w.State.UID }
	if w.lived > 0 || w.State.Record.Completed == "" || !free(w.State.Source.Set) || !free(w.State.Destination.Set) ||
		w.edit != nil || w.disturbed() || w.stands != nil || len(w.cut)+len(w.astray) > 0 || !l.follows(w.State) {
		return false
	}
	for i := range w.leaders {
		if sent := w.leaders[i].sent; sent != nil && sent.Decision.Effect != nil {
			w.late = append(w.late, lateWrite{*sent.Decision.Effect, sent.Snapshot})
		}
	}
	w.begins(l)
	w.leaders = [2]leader{{process: *w.newProcess(), active: true}, {process: *w.newProcess()}}
	return true
}

// mounts reports whether a pod of an ordinal could mount its volumes on a side.
func (w *model) mounts(at spot) bool {
	for i := range w.State.Volumes {
		if v := &w.State.Volumes[i]; v.Ordinal == at.ordinal && !usable(*v.Holding(at.side)) {
			return false
		}
	}
	return true
}
