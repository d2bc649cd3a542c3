package migration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

// controlSet lets a StatefulSet controller act once on the range it knows, and
// reports whether it did anything. It knows a new range only after learn. In
// order, it goes on only when every replica below is Ready.
func (w *world) controlSet(name SideName) bool {
	side := w.side(name)
	if side.Set.Presence != Seen {
		return false
	}
	known := w.acted[name]
	at := 0
	for ordinal := known.start; ordinal < known.start+known.replicas; ordinal++ {
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
	for i := len(side.Pods) - 1; i >= 0; i-- {
		pod := &side.Pods[i]
		if pod.Ordinal >= known.start && pod.Ordinal < known.start+known.replicas {
			continue
		}
		if !pod.Terminating {
			pod.Terminating = true
			return true
		}
		if side.Set.Ordered {
			return false
		}
	}
	return false
}

// learn lets a StatefulSet controller see the present spec.
func (w *world) learn(name SideName) bool {
	side := w.side(name)
	known, now := w.acted[name], share{side.Set.Rolls.Shared, side.Set.Rolls.Share}
	if side.Set.Presence != Seen || side.Set.Observed && known.keeps == now {
		return false
	}
	w.acted[name] = acted{start: side.Set.Start, replicas: side.Set.Replicas, keeps: now, told: known.told, rolls: !side.Set.RolledOut || side.Set.Rolls.Asked}
	side.Set.Observed = true
	return true
}

// confirm lets a controller of our own kind tell what its roll-outs keep to.
func (w *world) confirm(name SideName) bool {
	known := w.acted[name]
	if w.side(name).Set.Presence != Seen || known.told == known.keeps {
		return false
	}
	known.told = known.keeps
	w.acted[name] = known
	w.heed(name)
	return true
}

// heed notes whether the status of a set tells of the share that it has.
func (w *world) heed(name SideName) {
	rolls := &w.side(name).Set.Rolls
	rolls.Heeded = rolls.Own && w.acted[name].told == share{rolls.Shared, rolls.Share}
}

// createPod does what the StatefulSet controller does: it makes a claim that does
// not exist, empty, and then the pod. Its volumes are attached when they can be.
func (w *world) createPod(name SideName, ordinal int32) {
	for i := range w.state.Volumes {
		v := &w.state.Volumes[i]
		if v.Ordinal != ordinal {
			continue
		}
		h := v.holding(name)
		if !h.Claim.Found {
			h.Claim = volumes.Claim{Found: true, UID: w.uid(), ResourceVersion: w.version(), Phase: corev1.ClaimPending}
		}
		if at := h.Volume.Attachments; w.attaches && h.Bound() && !slices.Contains(at, attachedTo(name)) {
			w.attach(v, name, append(slices.Clone(at), attachedTo(name)))
		}
	}
	w.side(name).setPod(Pod{Ordinal: ordinal, UID: w.uid(), Owned: true, Node: string(name)})
}

// attachedTo is the attachment of a volume to the node of a side: there is one on each.
func attachedTo(name SideName) volumes.Attachment {
	return volumes.Attachment{Name: string(name), Node: string(name)}
}

// controlBudgets lets the disruption controller of a side observe.
func (w *world) controlBudgets(name SideName) bool {
	side := w.side(name)
	if len(side.Budgets) != 1 || side.Budgets[0].Observed {
		return false
	}
	for _, at := range sideNames {
		if at == name || w.state.Spec.SameNamespace {
			w.side(at).Budgets[0].Observed = true
		}
	}
	return true
}

// bindClaims lets the volume controller of a side act once: it binds a claim and
// the volume that is reserved for it, finds a claim without its volume lost, and
// ends deletions.
func (w *world) bindClaims(name SideName) bool {
	for _, v := range w.moving() {
		h := v.holding(name)
		if w.finalize(v, name) {
			return true
		}
		claim, volume := &h.Claim, h.Volume
		if phase := phaseOf(volume); volume.Found && volume.Phase != phase {
			volume.Phase = phase
			w.putVolume(v, name, volume)
			return true
		}
		if !claim.Found || claim.Volume == "" {
			continue
		}
		phase := corev1.ClaimLost
		if volume.Found && claim.Volume == volume.Name && volume.ClaimRef.Names(h.Ref) {
			if volume.ClaimRef.UID == "" {
				volume.ClaimRef.UID = claim.UID
				w.putVolume(v, name, volume)
				return true
			}
			if volume.ClaimRef.UID == claim.UID {
				phase = corev1.ClaimBound
			}
		}
		if claim.Phase != phase {
			claim.Phase = phase
			claim.ResourceVersion = w.version()
			return true
		}
	}
	return false
}

// phaseOf is the phase that the binder gives a volume whose claim exists.
func phaseOf(volume volumes.Volume) corev1.PersistentVolumePhase {
	if volume.ClaimRef.UID == "" {
		return corev1.VolumeAvailable
	}
	return corev1.VolumeBound
}

// finalize removes a claim that is being deleted once no pod uses it, and a volume
// that is being deleted once no claim is bound to it.
func (w *world) finalize(v *OrdinalVolume, name SideName) bool {
	h := v.holding(name)
	if _, used := w.side(name).pod(v.Ordinal); h.Claim.Terminating && !used {
		h.Claim = volumes.Claim{}
		return true
	}
	if h.Volume.Terminating && (!h.Claim.Found || h.Volume.ClaimRef.UID != h.Claim.UID) {
		w.putVolume(v, name, volumes.Volume{})
		return true
	}
	return false
}

// ready makes a pod Ready, as its kubelet does: it mounts only volumes that are
// bound to the pod's own claims.
func (w *world) ready(name SideName, ordinal int32) bool {
	side := w.side(name)
	pod, found := side.pod(ordinal)
	if !found || pod.Ready || pod.Terminating {
		return false
	}
	for i := range w.state.Volumes {
		if v := &w.state.Volumes[i]; v.Ordinal == ordinal && !v.holding(name).Bound() {
			return false
		}
	}
	pod.Ready, pod.ReadySince = true, w.state.Now
	side.setPod(pod)
	return true
}

// gone removes a Terminating pod, as its kubelet does.
func (w *world) gone(name SideName, ordinal int32) bool {
	side := w.side(name)
	pod, found := side.pod(ordinal)
	if !found || !pod.Terminating {
		return false
	}
	side.removePod(ordinal)
	return true
}

// detach removes the attachments of an ordinal that has no pod on a side.
func (w *world) detach(name SideName, ordinal int32) bool {
	if _, found := w.side(name).pod(ordinal); found {
		return false
	}
	changed := false
	for i := range w.state.Volumes {
		v := &w.state.Volumes[i]
		attachments := v.holding(name).Volume.Attachments
		if at := slices.Index(attachments, attachedTo(name)); v.Ordinal == ordinal && at >= 0 {
			w.attach(v, name, slices.Delete(slices.Clone(attachments), at, at+1))
			changed = true
		}
	}
	return changed
}

// settle lets every controller act until nothing changes, and reports whether
// anything did: the fault-free world.
func (w *world) settle() bool {
	acted := false
	for changed := true; changed; acted = acted || changed {
		changed = false
		for _, name := range sideNames {
			changed = w.learn(name) || changed
			changed = w.confirm(name) || changed
			changed = w.controlSet(name) || changed
			changed = w.controlBudgets(name) || changed
			changed = w.bindClaims(name) || changed
			changed = w.settlePods(name) || changed
		}
	}
	return acted
}

func (w *world) settlePods(name SideName) bool {
	changed := false
	side := w.side(name)
	pods := side.Pods
	if w.only != nil {
		at, found := side.at(*w.only)
		if !found {
			pods = nil
		} else {
			pods = side.Pods[at : at+1]
		}
	}
	for _, pod := range slices.Clone(pods) {
		if pod.Terminating {
			changed = w.gone(name, pod.Ordinal) || changed
			continue
		}
		changed = w.ready(name, pod.Ordinal) || changed
	}
	for _, v := range w.moving() {
		if len(v.holding(name).Volume.Attachments) > 0 {
			changed = w.detach(name, v.Ordinal) || changed
		}
	}
	return changed
}

// moving are the claims that the controllers look at.
func (w *world) moving() []*OrdinalVolume {
	all := w.state.Volumes
	first, last := 0, len(all)
	if w.only != nil {
		byOrdinal := func(v OrdinalVolume, ordinal int32) int { return int(v.Ordinal) - int(ordinal) }
		first, _ = slices.BinarySearchFunc(all, *w.only, byOrdinal)
		last, _ = slices.BinarySearchFunc(all, *w.only+1, byOrdinal)
	}
	found := make([]*OrdinalVolume, 0, last-first)
	for i := first; i < last; i++ {
		found = append(found, &all[i])
	}
	return found
}
