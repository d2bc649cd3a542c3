package model

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// check returns the broken invariants of the current state, by number; empty if there are none.
func (m *machine) check() string {
	wrong := m.broken
	for _, invariant := range []func() string{m.atMostOne, m.exclusiveVolumes, m.currentVolumes, m.withinReach, m.dataKept, m.othersKept, m.budgetKept} {
		if found := invariant(); found != "" {
			wrong = append(wrong, found)
		}
	}
	return strings.Join(wrong, "\n")
}

// atMostOne is I1.
func (m *machine) atMostOne() string {
	for _, pod := range m.State.Source.Pods {
		if _, found := m.State.Destination.Pod(pod.Ordinal); found && !m.alien[spot{plan.SourceSide, pod.Ordinal}] && !m.alien[spot{plan.DestinationSide, pod.Ordinal}] {
			return fmt.Sprintf("I1: ordinal %d has a pod on both sides", pod.Ordinal)
		}
	}
	return ""
}

// usable reports whether a pod of a side could mount the volume.
func usable(h volumes.Holding) bool {
	return h.Claim.Found && h.Volume.Found && h.Claim.Volume == h.Volume.Name &&
		h.Volume.ClaimRef.Names(h.Ref) && h.Volume.ClaimRef.UID == h.Claim.UID
}

// exclusiveVolumes is I2.
func (m *machine) exclusiveVolumes() string {
	for _, v := range m.State.Volumes {
		if m.serves(v, v.Source) && m.serves(v, v.Destination) {
			return fmt.Sprintf("I2: the disk of %s-%d is usable on both sides", v.Template, v.Ordinal)
		}
		for _, name := range plan.SideNames {
			if other := v.Holding(name.Other()); m.serves(v, *other) && m.inUse(name, v) {
				return fmt.Sprintf("I2: the disk of %s-%d is usable on the %s while the %s holds it", v.Template, v.Ordinal, name.Other(), name)
			}
		}
	}
	return ""
}

// inUse reports whether a side has a pod of the ordinal, or the volume attached. A pod that another client has
// started waits for a volume that it cannot mount.
func (m *machine) inUse(name plan.SideName, v plan.OrdinalVolume) bool {
	_, found := m.State.Side(name).Pod(v.Ordinal)
	return found && !m.alien[spot{name, v.Ordinal}] || slices.Contains(v.Holding(name).Volume.Attachments, simulate.AttachedTo(name))
}

// dataKept is I3: every disk has a volume, no volume would be deleted after its claim is deleted, and no
// controller has created an empty claim.
func (m *machine) dataKept() string {
	for i, v := range m.State.Volumes {
		disk := m.disks[i]
		kept := false
		for _, name := range plan.SideNames {
			h := v.Holding(name)
			kept = kept || h.Volume.Found && h.Volume.Handle == disk || m.shelved(i, disk)
			if wrong := m.heldWrongly(spot{name, v.Ordinal}, *h, v.Method); wrong != "" {
				return wrong
			}
		}
		if fillsSecond(v) {
			if wrong := m.copyKept(i); wrong != "" {
				return wrong
			}
			continue
		}
		if !kept && !m.forfeit[i] {
			return "I3: no volume is left of disk " + disk
		}
	}
	return ""
}

// heldWrongly returns the fault of one side's claim and volume of an ordinal.
func (m *machine) heldWrongly(at spot, h volumes.Holding, method api.VolumeMethod) string {
	alien := m.alien[at]
	pod, found := m.State.Side(at.side).Pod(at.ordinal)
	switch {
	case h.Claim.Found && h.Claim.Volume == "" && !alien && (method != api.MethodEmpty || !h.Claim.Ours):
		return fmt.Sprintf("I3: the controller of the %s made an empty claim %s", at.side, h.Ref.Name)
	case h.Volume.Found && h.Volume.ClaimRef.Names(h.Ref) && h.Volume.ClaimRef.UID != "" &&
		(!h.Claim.Found || h.Claim.UID != h.Volume.ClaimRef.UID) && h.Volume.Policy != corev1.PersistentVolumeReclaimRetain:
		return fmt.Sprintf("I3: volume %s on the %s is released with policy %s", h.Volume.Name, at.side, h.Volume.Policy)
	case found && pod.Ready && !pod.Terminating && !usable(h) && !alien:
		return fmt.Sprintf("I3: volume %s was taken from a running pod of ordinal %d on the %s", h.Volume.Name, at.ordinal, at.side)
	}
	return ""
}

// budgetKept is I4: it counts the ordinals that the migration holds down, the evicted ones that are not back,
// and those that may still be evicted. While the migration holds nothing down, the author's own budget counts,
// which may be larger than d. It is the author's last form, once the migration has had time to follow.
func (m *machine) budgetKept() string {
	base := m.State.Record.Baseline
	if base == nil || base.DisruptionBudget != nil && m.authorOverBoth() {
		return ""
	}
	down := map[int32]bool{}
	for ordinal := range m.evicted {
		down[ordinal] = true
	}
	limit := m.allowance(m.State.Spec.MaxUnavailable)
	for ordinal := range m.held {
		if !m.idle[ordinal] {
			down[ordinal] = true
		}
	}
	if len(m.held) == 0 && m.author != nil {
		limit = max(limit, m.allowance(nil))
	}
	total := int32(len(down))
	for _, name := range plan.SideNames {
		if at, selected := m.budgetOf(name); at == name && len(m.State.Side(name).Budgets) == 1 && m.State.Side(name).Budgets[0].Observed {
			total += min(m.allowed[name], m.evictable(selected, down))
		}
	}
	if total > limit && !m.grace {
		return fmt.Sprintf("I4: held %v, evicted %v, and source %d + destination %d more evictions allowed: more than %d",
			keys(m.held), keys(m.evicted), m.allowed[plan.SourceSide], m.allowed[plan.DestinationSide], limit)
	}
	return ""
}

// evictable counts the pods of these sides whose eviction takes another ordinal down.
func (m *machine) evictable(sides []plan.SideName, down map[int32]bool) (pods int32) {
	for _, name := range sides {
		for _, pod := range m.State.Side(name).Pods {
			if !down[pod.Ordinal] {
				pods++
			}
		}
	}
	return pods
}

// authorOverBoth reports whether one PodDisruptionBudget in its author's form covers both slices. Kubernetes
// then does not count a slice whose last pod has just ended. The migration writes another form while the budget
// is its own.
func (m *machine) authorOverBoth() bool {
	s := m.State
	return s.Spec.SameNamespace && len(s.Source.Budgets) == 1 && s.Source.Budgets[0].Fence == "" && s.Source.Set.Replicas > 0 && s.Destination.Set.Replicas > 0
}

func keys(set map[int32]bool) []int32 {
	var list []int32
	for ordinal := range set {
		list = append(list, ordinal)
	}
	slices.Sort(list)
	return list
}

// wrote checks a write that has just landed against the world before it.
func (m *machine) wrote(e plan.Effect, before plan.Snapshot, late bool) {
	side := &before.Source
	if e.Side == plan.DestinationSide {
		side = &before.Destination
	}
	switch e.Verb {
	case plan.ScaleDown:
		m.stopped(e, before)
		m.scaled(e, side.Set, -1)
	case plan.ScaleUp:
		m.scaled(e, side.Set, 1)
		m.started(e, before)
		m.named(e, before)
	case plan.DeleteSet:
		if side.Set.Replicas > 0 || len(side.Pods) > 0 {
			m.breaks("I6: %s with %d replicas and %d pods", e, side.Set.Replicas, len(side.Pods))
		}
	case plan.CarryVolume:
		m.carried(e, before, late)
	case plan.DeleteClaim, plan.DeleteVolume:
		m.deleted(e, before, late)
	case plan.DeleteBudget:
		if side.Set.Replicas > 0 {
			m.breaks("I4: %s that protects %d replicas", e, side.Set.Replicas)
		}
	case plan.CreateNamespace:
		if !before.Spec.CreateNamespace {
			m.breaks("I9: %s, which nobody has asked for", e)
		}
	case plan.WriteFence, plan.ReleaseFence, plan.SetShare, plan.LiftShare, plan.CreateService, plan.CreateSet, plan.CreateBudget, plan.SetBudget, plan.RestoreBudget,
		plan.CreateExport, plan.RestorePolicy, plan.DeleteExport, plan.MarkPodService, plan.MarkPodExport,
		plan.CreateCopy, plan.UpdateCopy, plan.DeleteCopy, plan.RunHook, plan.StartHook, plan.PauseWriter, plan.ReleaseWriter, plan.UnmarkWriter,
		plan.OrphanSet, plan.RecreateSet, plan.UpdateSet, plan.PokeSet, plan.ChangeClaim, plan.HoldClaim, plan.EndClaim, plan.FreeClaim, plan.EvictPod:
	case plan.CreatePodService, plan.CreatePodExport:
		m.strewn = m.strewn || late
	case plan.DeletePodExport, plan.DeletePodService:
		if _, found := side.Pod(e.Ordinal); found && before.Record.Completed == "" && !before.Spec.DropNames {
			m.breaks("%s while its pod is there", e)
		}
	}
	m.heeded(e, late)
	m.copied(e, before, late)
	m.hooked(e, before, late)
	m.mannerly(e, *side)
}

// stopped records an ordinal that the migration has stopped.
func (m *machine) stopped(e plan.Effect, before plan.Snapshot) {
	if m.runsTwice(e) {
		return
	}
	m.held[e.Ordinal] = true
	if goesBackDown(before, e) {
		m.idle[e.Ordinal] = true
	}
}

// goesBackDown reports whether an ordinal was already down when it was stopped on its way back.
func goesBackDown(before plan.Snapshot, e plan.Effect) bool {
	pod, found := before.Side(e.Side).Pod(e.Ordinal)
	return e.Side == plan.DestinationSide && (!found || !pod.Ready || pod.Terminating)
}

// scaled checks that exactly one ordinal is added or removed.
func (m *machine) scaled(e plan.Effect, set plan.Set, by int32) {
	after := plan.Set{Start: e.After.Start, Replicas: e.After.Replicas}
	if after.Replicas != set.Replicas+by || after.Has(e.Ordinal) == set.Has(e.Ordinal) ||
		set.Replicas > 0 && after.Replicas > 0 && after.Start != set.Start && after.End() != set.End() {
		m.breaks("I9: %s of %s", e, plan.Span(set.Start, set.Replicas))
	}
}

// started checks that an ordinal starts on its own disks (I3).
func (m *machine) started(e plan.Effect, before plan.Snapshot) {
	for i, v := range before.Volumes {
		if v.Ordinal == e.Ordinal && !m.startedOn(i, e) {
			m.breaks("I3: %s without its volume %s", e, v.Template)
		}
	}
}

// named checks that an ordinal has its name where it starts. A remaining or late object of its name on the
// other side selects no pod, and is deleted at the end.
func (m *machine) named(e plan.Effect, before plan.Snapshot) {
	here, _ := before.Side(e.Side).NameOf(e.Ordinal)
	if before.Services().NamesOrdinals() && (!here.Export.Found || !here.Service.Found) {
		m.breaks("%s, which has no name there: %+v", e, here)
	}
}

// carried checks that no volume is changed while in use, or redirected before it is safe (I2, I3). A creation
// cannot be fenced, so a late one must make nothing usable.
func (m *machine) carried(e plan.Effect, before plan.Snapshot, late bool) {
	for i := range before.Volumes {
		v := before.Volumes[i]
		if v.Ordinal != e.Ordinal || v.Template != e.Template {
			continue
		}
		now := m.State.Volumes[i].Holding(e.Side)
		busy := len(v.Source.Volume.Attachments)+len(v.Destination.Volume.Attachments) > 0
		for _, name := range plan.SideNames {
			_, found := m.State.Side(name).Pod(e.Ordinal)
			busy = busy || found
		}
		switch e.Volume.Verb {
		case volumes.Secure, volumes.MarkClaim, volumes.Restore:
		case volumes.Park, volumes.Point:
			m.pointed(e, v, busy)
		case volumes.CreateVolume:
			if busy && (!late || !now.Parked()) {
				m.breaks("I2: %s while the disk is in use", e)
			}
		case volumes.CreateClaim:
			if busy && !late {
				m.breaks("I2: %s while the disk is in use", e)
			}
		default:
			if !fillsSecond(v) {
				m.breaks("%s is no write of method %s", e, v.Method)
			}
		}
	}
}

// pointed checks that a volume is redirected only while it is not in use and is retained. For copies see
// writeCopied.
func (m *machine) pointed(e plan.Effect, v plan.OrdinalVolume, busy bool) {
	if fillsSecond(v) {
		return
	}
	was := v.Holding(e.Side).Volume
	if busy && was.ClaimRef != e.Volume.Ref { // otherwise it is only marked
		m.breaks("I2: %s while it is in use", e)
	}
	if !was.ClaimRef.Names(e.Volume.Ref) && was.Policy != corev1.PersistentVolumeReclaimRetain {
		m.breaks("I3: %s, whose policy is not Retain", e)
	}
}

// deleted is the rest of I3: nothing in use is deleted. A late deletion may meet a claim to which its volume
// points again, before a pod starts on it. The volume is then kept by its policy, and the claim is recreated.
func (m *machine) deleted(e plan.Effect, before plan.Snapshot, late bool) {
	for _, v := range before.Volumes {
		h := v.Holding(e.Side)
		if v.Ordinal != e.Ordinal || e.Name != h.Ref.Name && e.Name != h.Volume.Name {
			continue
		}
		_, found := m.State.Side(e.Side).Pod(e.Ordinal)
		switch {
		case found:
			m.breaks("I3: %s while a pod of its ordinal exists", e)
		case usable(*h) && (!late || h.Volume.Policy != corev1.PersistentVolumeReclaimRetain):
			m.breaks("I3: %s, which is in place", e)
		case e.Verb == plan.DeleteVolume && h.Volume.Policy != corev1.PersistentVolumeReclaimRetain:
			m.breaks("I3: %s, whose policy is %s", e, h.Volume.Policy)
		case e.Verb == plan.DeleteVolume && len(h.Volume.Attachments) > 0:
			m.breaks("I3: %s, which is attached", e)
		case e.Verb == plan.DeleteVolume && m.State.Spec.SameCluster:
			m.breaks("I3: %s, which both sides share", e)
		}
	}
}

// mannerly is I9: only objects that the migration created, or was requested to clean up, are deleted, and
// nothing with another name is changed.
func (m *machine) mannerly(e plan.Effect, side plan.Side) {
	var ours, known bool
	switch e.Verb {
	case plan.DeleteSet:
		ours, known = side.Set.Ours, e.Name == side.Set.Name
	case plan.WriteFence, plan.ReleaseFence, plan.SetShare, plan.LiftShare, plan.ScaleDown, plan.ScaleUp, plan.CreateSet:
		ours, known = true, e.Name == side.Set.Name
	case plan.DeleteBudget:
		ours, known = side.Budgets[0].Ours, true
	case plan.SetBudget, plan.RestoreBudget:
		ours, known = true, e.Name == side.Budgets[0].Name
	case plan.DeleteClaim, plan.DeleteVolume:
		for _, v := range m.State.Volumes {
			h := v.Holding(e.Side)
			switch e.Name {
			case h.Ref.Name:
				ours, known = h.Claim.Ours, true
			case h.Volume.Name:
				ours, known = h.Volume.Ours, true
			}
		}
	case plan.DeletePodService, plan.DeletePodExport, plan.MarkPodService, plan.MarkPodExport:
		n, _ := side.NameOf(e.Ordinal)
		ours, known = n.Service.Ours || ofExport(e), n.Export.Ours || !ofExport(e)
	case plan.RunHook, plan.StartHook, plan.CreateNamespace, plan.CreateService, plan.CreateCopy, plan.UpdateCopy, plan.DeleteCopy, plan.CreateBudget, plan.CreateExport, plan.DeleteExport, plan.CarryVolume, plan.RestorePolicy, plan.CreatePodService, plan.CreatePodExport,
		plan.PauseWriter, plan.ReleaseWriter, plan.UnmarkWriter:
		ours, known = true, true
	case plan.OrphanSet, plan.RecreateSet, plan.UpdateSet, plan.PokeSet, plan.ChangeClaim, plan.HoldClaim, plan.EndClaim, plan.FreeClaim, plan.EvictPod:
		// they are for a migration in place, which this is not
	}
	if e.Side == plan.SourceSide && m.State.Spec.DeleteSource && m.State.Record.Completed == api.ReasonMoved {
		ours = true
	}
	if !known || !ours {
		m.breaks("I9: %s, which is not the migration's", e)
	}
}

// ofExport reports whether an effect on the name of an ordinal concerns its ServiceExport.
func ofExport(e plan.Effect) bool {
	return e.Verb == plan.DeletePodExport || e.Verb == plan.MarkPodExport
}
