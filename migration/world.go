package migration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// world is a small abstract model of both clusters: the two API servers hold the
// values of a Snapshot, and the Kubernetes controllers act on them one step at a
// time. The dry run iterates Plan over it, and the property tests interleave its
// steps with faults. It has no clock and no randomness of its own.
type world struct {
	state Snapshot
	// acted is the range that each StatefulSet controller acts on: it may lag
	// behind the spec.
	acted map[SideName]acted
	// only is the ordinal whose pods and claims the controllers look at; nil: all. In
	// a dry run no other one changes.
	only *int32
	// serial numbers resource versions and UIDs.
	serial int
	// attaches makes a VolumeAttachment for each volume of a running pod.
	attaches bool
}

type acted struct {
	start, replicas int32
	// keeps is the share that its roll-outs keep to, told what its status says of that;
	// rolls is true in a roll-out.
	keeps, told share
	rolls       bool
}

// share is a share of the disruption budget; of is false when there is none.
type share struct {
	of   bool
	most int32
}

// errConflict is what the API server answers when a precondition does not hold.
var errConflict = errors.New("the object has changed")

// newWorld starts from a snapshot that covers all ordinals.
func newWorld(s Snapshot) *world {
	w := &world{state: s.clone(), acted: map[SideName]acted{}}
	for _, name := range sideNames {
		set := w.side(name).Set
		now := share{set.Rolls.Shared, set.Rolls.Share}
		w.acted[name] = acted{start: set.Start, replicas: set.Replicas, keeps: now, told: now}
		w.heed(name)
		for i := range w.side(name).Budgets {
			w.side(name).Budgets[i].Evictions = 0 // here nobody asks for one
		}
	}
	return w
}

// clone returns a snapshot that shares no list with the first one.
func (s Snapshot) clone() Snapshot {
	for _, side := range []*Side{&s.Source, &s.Destination} {
		side.Pods = slices.Clone(side.Pods)
		side.Budgets = slices.Clone(side.Budgets)
		side.Names = slices.Clone(side.Names)
	}
	s.Volumes = slices.Clone(s.Volumes)
	return s
}

// snapshot is what an observer sees now.
func (w *world) snapshot() Snapshot { return w.state.clone() }

func (w *world) side(name SideName) *Side {
	if name == SourceSide {
		return &w.state.Source
	}
	return &w.state.Destination
}

func (w *world) version() string {
	w.serial++
	return "v" + strconv.Itoa(w.serial)
}

func (w *world) uid() types.UID {
	w.serial++
	return types.UID("u" + strconv.Itoa(w.serial))
}

// holding returns one side's view of a claim.
func (v *OrdinalVolume) holding(name SideName) *volumes.Holding {
	if name == SourceSide {
		return &v.Source
	}
	return &v.Destination
}

// putVolume stores a volume. In one cluster both sides see the same one.
func (w *world) putVolume(v *OrdinalVolume, name SideName, volume volumes.Volume) {
	if volume.Found {
		volume.ResourceVersion = w.version()
	}
	v.holding(name).Volume = volume
	if w.state.Spec.SameCluster {
		v.Source.Volume, v.Destination.Volume = volume, volume
	}
}

// attach stores the attachments of a volume, which are objects of their own.
func (w *world) attach(v *OrdinalVolume, name SideName, attachments []string) {
	v.holding(name).Volume.Attachments = attachments
	if w.state.Spec.SameCluster {
		v.Source.Volume.Attachments, v.Destination.Volume.Attachments = attachments, attachments
	}
}

// putBudget stores a side's PodDisruptionBudget; nil: there is none. In one
// namespace both sides see the same one.
func (w *world) putBudget(name SideName, budget *Budget) {
	for _, at := range sideNames {
		if at != name && !w.state.Spec.SameNamespace {
			continue
		}
		w.side(at).Budgets = nil
		if budget != nil {
			budget.ResourceVersion = w.version()
			w.side(at).Budgets = []Budget{*budget}
		}
	}
}

// setPod stores or replaces a pod, keeping the order.
func (s *Side) setPod(pod Pod) {
	at, found := s.at(pod.Ordinal)
	if found {
		s.Pods[at] = pod
		return
	}
	s.Pods = slices.Insert(s.Pods, at, pod)
}

func (s *Side) removePod(ordinal int32) {
	if at, found := s.at(ordinal); found {
		s.Pods = slices.Delete(s.Pods, at, at+1)
	}
}

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
		if at := h.Volume.Attachments; w.attaches && h.Bound() && !slices.Contains(at, string(name)) {
			w.attach(v, name, append(slices.Clone(at), string(name)))
		}
	}
	w.side(name).setPod(Pod{Ordinal: ordinal, UID: w.uid(), Owned: true})
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
		if at := slices.Index(attachments, string(name)); v.Ordinal == ordinal && at >= 0 {
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

func (w *world) String() string {
	s := w.state
	return fmt.Sprintf("source %s destination %s handoff %+v", span(s.Source.Set.Start, s.Source.Set.Replicas), span(s.Destination.Set.Start, s.Destination.Set.Replicas), s.Record.Handoff)
}
