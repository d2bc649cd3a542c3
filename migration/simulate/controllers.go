package simulate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// ControlSet lets a StatefulSet controller act once on the range that it has observed, and reports whether it did
// anything. It observes a new range only in Learn. It creates before it deletes, as Kubernetes does up to 1.37. With
// OrderedReady, it continues only when every replica below is Ready.
func (w *World) ControlSet(name plan.SideName) bool {
	if w.State.Side(name).Set.Presence != plan.Seen {
		return false
	}
	known := w.Controllers[name]
	if w.tally == nil {
		return w.controlPods(name, known)
	}
	rest := w.tally[name]
	if rest.rests && rest.restsAt == known {
		return false
	}
	acted := w.controlPods(name, known)
	rest.rests, rest.restsAt = !acted, known
	return acted
}

// DeleteFirst lets a StatefulSet controller act once in the other order, and reports whether it did anything: it deletes
// a pod outside of its range although a replica is missing. Kubernetes does so from 1.38 on with Parallel
// (kubernetes/kubernetes#141057), and our own kind with either policy when a quota refuses its pods. If no replica is
// missing, ControlSet does the same.
func (w *World) DeleteFirst(name plan.SideName) bool {
	set := w.State.Side(name).Set
	if set.Presence != plan.Seen || set.Ordered && !set.Rolls.Own || !w.Lacks(name) {
		return false
	}
	return w.deletePod(name, w.Controllers[name])
}

// controlPods creates or deletes one pod, for the range that the controller has observed.
func (w *World) controlPods(name plan.SideName, known Controller) bool {
	side := w.State.Side(name)
	at := 0
	for ordinal := known.Start; ordinal < known.Start+known.Replicas; ordinal++ {
		for at < len(side.Pods) && side.Pods[at].Ordinal < ordinal {
			at++
		}
		switch {
		case at == len(side.Pods) || side.Pods[at].Ordinal != ordinal:
			w.createPod(name, ordinal)
			return true
		case side.Set.Ordered && (!side.Pods[at].Ready || side.Pods[at].Terminating):
			return false
		}
	}
	return w.deletePod(name, known)
}

// deletePod deletes the highest pod outside of the range that the controller has observed. With OrderedReady it waits
// for one that terminates.
func (w *World) deletePod(name plan.SideName, known Controller) bool {
	side := w.State.Side(name)
	for i := len(side.Pods) - 1; i >= 0; i-- {
		pod := &side.Pods[i]
		if known.Has(pod.Ordinal) {
			continue
		}
		if !pod.Terminating {
			pod.Terminating = true
			w.touch(name, pod.Ordinal)
			return true
		}
		if side.Set.Ordered {
			return false
		}
	}
	return false
}

// Lacks reports whether an ordinal that the controller of a side has observed as its own has no pod.
func (w *World) Lacks(name plan.SideName) bool {
	side, known := w.State.Side(name), w.Controllers[name]
	for ordinal := known.Start; ordinal < known.Start+known.Replicas; ordinal++ {
		if _, found := side.Pod(ordinal); !found {
			return true
		}
	}
	return false
}

// Learn lets a StatefulSet controller observe the current spec.
func (w *World) Learn(name plan.SideName) bool {
	side := w.State.Side(name)
	known, now := w.Controllers[name], Cap{side.Set.Rolls.Shared, side.Set.Rolls.Share}
	if side.Set.Presence != plan.Seen || side.Set.Observed && known.Cap == now {
		return false
	}
	w.Controllers[name] = Controller{Start: side.Set.Start, Replicas: side.Set.Replicas, Cap: now, CapObserved: known.CapObserved, RollsOut: !side.Set.RolledOut || side.Set.Rolls.Asked}
	side.Set.Observed = true
	return true
}

// Confirm lets a controller of our own kind report the limit of its rollouts.
func (w *World) Confirm(name plan.SideName) bool {
	known := w.Controllers[name]
	if w.State.Side(name).Set.Presence != plan.Seen || known.CapObserved == known.Cap {
		return false
	}
	known.CapObserved = known.Cap
	w.Controllers[name] = known
	w.observeCap(name)
	return true
}

// observeCap sets whether the status of a set confirms its current share.
func (w *World) observeCap(name plan.SideName) {
	rolls := &w.State.Side(name).Set.Rolls
	rolls.Heeded = rolls.Own && w.Controllers[name].CapObserved == Cap{rolls.Shared, rolls.Share}
}

// createPod acts like the StatefulSet controller: it creates missing claims, empty, and then the pod. Its volumes
// are attached if they can be.
func (w *World) createPod(name plan.SideName, ordinal int32) {
	own := w.volumesOf(ordinal, ordinal)
	for i := range own {
		v := &own[i]
		h := v.Holding(name)
		if !h.Claim.Found {
			h.Claim = volumes.Claim{Found: true, UID: w.NewUID(), ResourceVersion: w.NewVersion(), Phase: corev1.ClaimPending}
		}
		if at := h.Volume.Attachments; w.Attaches && h.Bound() && !slices.Contains(at, AttachedTo(name)) {
			w.Attach(v, name, append(slices.Clone(at), AttachedTo(name)))
		}
	}
	w.touch(name, ordinal)
	w.State.Side(name).SetPod(plan.Pod{Ordinal: ordinal, UID: w.NewUID(), Owned: true, Node: string(name)})
}

// ControlBudgets lets the disruption controller of a side observe the budgets.
func (w *World) ControlBudgets(name plan.SideName) bool {
	side := w.State.Side(name)
	if len(side.Budgets) != 1 || side.Budgets[0].Observed {
		return false
	}
	for _, at := range plan.SideNames {
		if at == name || w.State.Spec.SameNamespace {
			w.State.Side(at).Budgets[0].Observed = true
		}
	}
	return true
}

// BindClaims lets the volume controller of a side act once: it binds a claim and its reserved volume, marks a
// claim without its volume as Lost, and completes deletions.
func (w *World) BindClaims(name plan.SideName) bool {
	own := w.moving()
	for i := range own {
		if w.bindClaim(&own[i], name) {
			return true
		}
	}
	return false
}

// bindClaim performs the next of these steps for one claim.
func (w *World) bindClaim(v *plan.OrdinalVolume, name plan.SideName) bool {
	if w.finalize(v, name) {
		return true
	}
	h := v.Holding(name)
	claim, volume := &h.Claim, h.Volume
	if phase := phaseOf(volume); volume.Found && volume.Phase != phase {
		volume.Phase = phase
		w.PutVolume(v, name, volume)
		return true
	}
	if claim.Found && claim.Volume == "" && v.Separate() && !claim.Terminating {
		w.provision(v, name)
		return true
	}
	if !claim.Found || claim.Volume == "" {
		return false
	}
	phase := corev1.ClaimLost
	if volume.Found && claim.Volume == volume.Name && volume.ClaimRef.Names(h.Ref) {
		if volume.ClaimRef.UID == "" {
			volume.ClaimRef.UID = claim.UID
			w.PutVolume(v, name, volume)
			return true
		}
		if volume.ClaimRef.UID == claim.UID {
			phase = corev1.ClaimBound
		}
	}
	if claim.Phase == phase {
		return false
	}
	claim.Phase, claim.ResourceVersion = phase, w.NewVersion()
	return true
}

// provision creates a new volume for a claim that names none, like the provisioner of its class.
func (w *World) provision(v *plan.OrdinalVolume, name plan.SideName) {
	h, uid := v.Holding(name), w.NewUID()
	h.Claim.Volume, h.Claim.ResourceVersion = "pvc-"+string(uid), w.NewVersion()
	w.PutVolume(v, name, volumes.Volume{
		Found: true, Name: h.Claim.Volume, UID: uid, Handle: "disk-" + string(uid), Policy: corev1.PersistentVolumeReclaimDelete,
		Phase: corev1.VolumeBound, ClaimRef: volumes.Ref{Namespace: h.Ref.Namespace, Name: h.Ref.Name, UID: h.Claim.UID},
	})
}

// phaseOf returns the phase that the binder sets on a volume whose claim exists.
func phaseOf(volume volumes.Volume) corev1.PersistentVolumePhase {
	if volume.ClaimRef.UID == "" {
		return corev1.VolumeAvailable
	}
	return corev1.VolumeBound
}

// finalize removes a claim that is being deleted once no pod uses it, and a volume that is being deleted once no
// claim is bound to it.
func (w *World) finalize(v *plan.OrdinalVolume, name plan.SideName) bool {
	h := v.Holding(name)
	if _, used := w.State.Side(name).Pod(v.Ordinal); h.Claim.Terminating && !used {
		h.Claim = volumes.Claim{}
		return true
	}
	if h.Volume.Terminating && (!h.Claim.Found || h.Volume.ClaimRef.UID != h.Claim.UID) {
		w.PutVolume(v, name, volumes.Volume{})
		return true
	}
	return false
}

// Ready makes a pod Ready, like its kubelet: it mounts only volumes that are bound to the pod's own claims.
func (w *World) Ready(name plan.SideName, ordinal int32) bool {
	side := w.State.Side(name)
	pod, found := side.Pod(ordinal)
	if !found || pod.Ready || pod.Terminating {
		return false
	}
	own := w.volumesOf(ordinal, ordinal)
	for i := range own {
		if !own[i].Holding(name).Bound() {
			return false
		}
	}
	pod.Ready, pod.ReadySince = true, w.State.Now
	side.SetPod(pod)
	w.touch(name, ordinal)
	return true
}

// Gone removes a Terminating pod, like its kubelet.
func (w *World) Gone(name plan.SideName, ordinal int32) bool {
	side := w.State.Side(name)
	pod, found := side.Pod(ordinal)
	if !found || !pod.Terminating {
		return false
	}
	w.letGo(name, ordinal, pod.Node)
	side.RemovePod(ordinal)
	w.touch(name, ordinal)
	return true
}

// Detach removes the attachments of an ordinal that has no pod on a side.
func (w *World) Detach(name plan.SideName, ordinal int32) bool {
	if _, found := w.State.Side(name).Pod(ordinal); found {
		return false
	}
	changed := false
	own := w.volumesOf(ordinal, ordinal)
	for i := range own {
		v := &own[i]
		attachments := v.Holding(name).Volume.Attachments
		if at := slices.Index(attachments, AttachedTo(name)); at >= 0 {
			w.Attach(v, name, slices.Delete(slices.Clone(attachments), at, at+1))
			changed = true
		}
	}
	return changed
}

// Settle lets every controller act until nothing changes, and reports whether anything did. It is the world
// without faults.
func (w *World) Settle() bool {
	acted := false
	for changed := true; changed; acted = acted || changed {
		changed = false
		for _, name := range plan.SideNames {
			changed = w.Learn(name) || changed
			changed = w.Confirm(name) || changed
			changed = w.ControlSet(name) || changed
			changed = w.ControlBudgets(name) || changed
			changed = w.settleClaims(name) || changed
			changed = w.SettleCopies() || changed
			changed = w.settlePods(name) || changed
		}
	}
	return acted
}

// settleClaims lets the volume controller of a side act once on each claim.
func (w *World) settleClaims(name plan.SideName) bool {
	changed := false
	own := w.moving()
	for i := range own {
		changed = w.bindClaim(&own[i], name) || changed
	}
	return changed
}

func (w *World) settlePods(name plan.SideName) bool {
	changed := false
	side := w.State.Side(name)
	pods := side.Pods
	if w.only != nil {
		pods = nil
		if pod, found := side.Pod(*w.only); found {
			pods = []plan.Pod{pod}
		}
	}
	for _, pod := range slices.Clone(pods) {
		if pod.Terminating {
			changed = w.Gone(name, pod.Ordinal) || changed
			continue
		}
		changed = w.Ready(name, pod.Ordinal) || changed
	}
	own := w.moving()
	for i := range own {
		if v := &own[i]; len(v.Holding(name).Volume.Attachments) > 0 {
			changed = w.Detach(name, v.Ordinal) || changed
		}
	}
	return changed
}

// moving returns the claims that the controllers process: a part of the world's slice, not a copy.
func (w *World) moving() []plan.OrdinalVolume {
	if w.only == nil {
		return w.State.Volumes
	}
	first, last := *w.only, *w.only
	if w.State.Spec.MaxInFlight != nil { // all of these neighbors may have movers
		for _, handoff := range w.State.Record.InFlight() {
			first, last = min(first, handoff.Ordinal), max(last, handoff.Ordinal)
		}
	}
	return w.volumesOf(first, last)
}

// volumesOf returns the volumes of the ordinals from first to last: a part of the world's slice, not a copy.
func (w *World) volumesOf(first, last int32) []plan.OrdinalVolume {
	byOrdinal := func(v plan.OrdinalVolume, ordinal int32) int { return cmp.Compare(v.Ordinal, ordinal) }
	from, _ := slices.BinarySearchFunc(w.State.Volumes, first, byOrdinal)
	to := from
	for to < len(w.State.Volumes) && w.State.Volumes[to].Ordinal <= last {
		to++
	}
	return w.State.Volumes[from:to:to]
}
