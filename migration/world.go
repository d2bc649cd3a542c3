package migration

import (
	"errors"
	"fmt"
	"strconv"
	"time"

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
	// serial numbers resource versions and UIDs.
	serial int
	// attaches makes a VolumeAttachment for each volume of a running pod.
	attaches bool
}

type acted struct{ start, replicas int32 }

// errConflict is what the API server answers when a precondition does not hold.
var errConflict = errors.New("the object has changed")

// newWorld starts from a snapshot that covers all ordinals.
func newWorld(s Snapshot) *world {
	w := &world{state: s, acted: map[SideName]acted{}}
	for _, name := range []SideName{SourceSide, DestinationSide} {
		side := w.side(name)
		side.Pods = append([]Pod(nil), side.Pods...)
		side.Budgets = append([]Budget(nil), side.Budgets...)
		w.acted[name] = acted{side.Set.Start, side.Set.Replicas}
	}
	w.state.Volumes = append([]OrdinalVolume(nil), s.Volumes...)
	return w
}

// snapshot is what an observer sees now. It shares memory with the world.
func (w *world) snapshot() Snapshot { return w.state }

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
	volume.ResourceVersion = w.version()
	v.holding(name).Volume = volume
	if w.state.Spec.SameCluster {
		v.Source.Volume, v.Destination.Volume = volume, volume
	}
}

// setPod stores or replaces a pod, keeping the order.
func (s *Side) setPod(pod Pod) {
	for i := range s.Pods {
		if s.Pods[i].Ordinal == pod.Ordinal {
			s.Pods[i] = pod
			return
		}
		if s.Pods[i].Ordinal > pod.Ordinal {
			s.Pods = append(s.Pods[:i], append([]Pod{pod}, s.Pods[i:]...)...)
			return
		}
	}
	s.Pods = append(s.Pods, pod)
}

func (s *Side) removePod(ordinal int32) {
	for i := range s.Pods {
		if s.Pods[i].Ordinal == ordinal {
			s.Pods = append(s.Pods[:i], s.Pods[i+1:]...)
			return
		}
	}
}

// controlSet lets a StatefulSet controller act once on the range it knows, and
// reports whether it did anything. It knows a new range only after learn.
func (w *world) controlSet(name SideName) bool {
	side := w.side(name)
	if side.Set.Presence != Seen {
		return false
	}
	known := w.acted[name]
	for i := range side.Pods {
		pod := &side.Pods[i]
		if (pod.Ordinal < known.start || pod.Ordinal >= known.start+known.replicas) && !pod.Terminating {
			pod.Terminating = true
			return true
		}
	}
	if len(side.Pods) == int(known.replicas) {
		return false
	}
	for ordinal := known.start; ordinal < known.start+known.replicas; ordinal++ {
		pod, found := side.pod(ordinal)
		switch {
		case !found:
			w.createPod(name, ordinal)
			return true
		case side.Set.Ordered && !pod.Ready:
			return false
		}
	}
	return false
}

// learn lets a StatefulSet controller see the present spec.
func (w *world) learn(name SideName) bool {
	side := w.side(name)
	if side.Set.Presence != Seen || side.Set.Observed {
		return false
	}
	w.acted[name] = acted{side.Set.Start, side.Set.Replicas}
	side.Set.Observed = true
	side.Set.ResourceVersion = w.version()
	return true
}

// createPod does what the StatefulSet controller does: it makes a claim that does
// not exist, empty, and then the pod.
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
		if w.attaches && h.Volume.Found && h.Bound() {
			volume := h.Volume
			volume.Attachments = []string{string(name)}
			w.putVolume(v, name, volume)
		}
	}
	w.side(name).setPod(Pod{Ordinal: ordinal, UID: w.uid(), Owned: true})
}

// controlBudgets lets the disruption controller of a side observe.
func (w *world) controlBudgets(name SideName) bool {
	changed := false
	side := w.side(name)
	for i := range side.Budgets {
		if !side.Budgets[i].Observed {
			side.Budgets[i].Observed = true
			side.Budgets[i].ResourceVersion = w.version()
			changed = true
		}
	}
	return changed
}

// bindClaims lets the volume controller of a side act once.
func (w *world) bindClaims(name SideName) bool {
	for i := range w.state.Volumes {
		v := &w.state.Volumes[i]
		h := v.holding(name)
		claim, volume := &h.Claim, h.Volume
		if !claim.Found || claim.Volume == "" || !volume.Found || claim.Volume != volume.Name {
			continue
		}
		phase := corev1.ClaimLost
		if volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == "" {
			volume.ClaimRef.UID = claim.UID
			w.putVolume(v, name, volume)
		}
		if volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == claim.UID {
			phase = corev1.ClaimBound
		}
		if claim.Phase != phase {
			claim.Phase = phase
			claim.ResourceVersion = w.version()
			return true
		}
	}
	return false
}

// ready makes a pod Ready, as its kubelet does.
func (w *world) ready(name SideName, ordinal int32, since time.Time) bool {
	side := w.side(name)
	pod, found := side.pod(ordinal)
	if !found || pod.Ready || pod.Terminating {
		return false
	}
	pod.Ready, pod.ReadySince = true, since
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
		volume := v.holding(name).Volume
		if v.Ordinal == ordinal && len(volume.Attachments) == 1 && volume.Attachments[0] == string(name) {
			volume.Attachments = nil
			w.putVolume(v, name, volume)
			changed = true
		}
	}
	return changed
}

// settle lets every controller act until nothing changes, and reports whether
// anything did: the fault-free world.
func (w *world) settle() bool {
	any := false
	for changed := true; changed; any = any || changed {
		changed = false
		for _, name := range []SideName{SourceSide, DestinationSide} {
			changed = w.learn(name) || changed
			changed = w.controlSet(name) || changed
			changed = w.controlBudgets(name) || changed
			changed = w.bindClaims(name) || changed
			changed = w.settlePods(name) || changed
		}
	}
	return any
}

func (w *world) settlePods(name SideName) bool {
	changed := false
	side := w.side(name)
	for i := 0; i < len(side.Pods); i++ {
		pod := side.Pods[i]
		if pod.Terminating {
			changed = w.gone(name, pod.Ordinal) || changed
			i--
			continue
		}
		changed = w.ready(name, pod.Ordinal, w.state.Now) || changed
	}
	if w.attaches {
		for _, v := range w.state.Volumes {
			changed = w.detach(name, v.Ordinal) || changed
		}
	}
	return changed
}

func (w *world) String() string {
	s := w.state
	return fmt.Sprintf("source %s destination %s handoff %+v", span(s.Source.Set.Start, s.Source.Set.Replicas), span(s.Destination.Set.Start, s.Destination.Set.Replicas), s.Record.Handoff)
}
