package auditor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// onPod takes each change of a pod in the side's namespace.
func (a *Auditor) onPod(s *side, ch change[*corev1.Pod]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	ordinal, ok := ordinalOf(latest.Name, s.Set)
	if !ok {
		return
	}
	pod, exists, now := viewPod(latest, ordinal), ch.New != nil, a.options.Clock.Now()
	a.state.do(func(st *state) {
		st.timeline.observe(s.index, pod, exists, now)
		st.served.setAvailable(s.index, ordinal, exists && pod.available())
	})
	switch {
	case ch.Old == nil:
		a.podAppeared(s, pod, ch.Initial)
	case !exists:
		a.podGone(s, pod)
	}
	a.replicas.wake()
}

func (a *Auditor) podAppeared(s *side, pod podState, initial bool) {
	a.state.bear(pod, s.index)
	a.checkApart(s, pod)
	if !initial {
		a.checkClaims(s, pod)
	}
	a.volumes.wake()
}

// podGone looks back: with one API server for both sides, revisions tell whether
// the pod outlived the other side's beginning.
func (a *Auditor) podGone(s *side, pod podState) {
	overlaps := a.state.bury(pod, revision(pod.RV))
	if !a.sameCluster {
		return
	}
	for _, l := range overlaps {
		pair := [2]podState{}
		pair[s.index], pair[l.Side] = pod, l.Pod
		a.reportTogether(pair)
	}
}

// onSet takes each change of the side's set.
func (a *Auditor) onSet(s *side, ch change[*unstructured.Unstructured]) {
	var slice sliceState
	if ch.New != nil {
		slice = viewSlice(ch.New)
	}
	a.state.do(func(st *state) { st.served.setRange(s.index, slice) })
	a.replicas.wake()
}

// onClaim takes each change of a claim in the side's namespace.
func (a *Auditor) onClaim(s *side, ch change[*corev1.PersistentVolumeClaim]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	claim := viewClaim(latest, s.Set, s.templates)
	if claim.Key == nil {
		return
	}
	if ch.New == nil {
		a.checkDeletedClaim(s, claim)
	}
	a.volumes.wake()
}

// volumeWatch takes the changes of one cluster's volumes.
type volumeWatch struct {
	auditor *Auditor
	side    *side
	// given says to which side each volume was given last.
	given map[types.UID]sideIndex
}

func (a *Auditor) newVolumeWatch(s *side) *volumeWatch {
	return &volumeWatch{auditor: a, side: s, given: map[types.UID]sideIndex{}}
}

func (w *volumeWatch) onVolume(ch change[*corev1.PersistentVolume]) {
	a := w.auditor
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	pv := viewVolume(latest)
	if !a.isOurs(w.side, pv) {
		delete(w.given, pv.UID)
		return
	}
	if a.live.Load() {
		a.ledger.checked(I3)
	}
	if ch.New == nil {
		delete(w.given, pv.UID)
		if message := judgeDeletedVolume(pv); message != "" {
			a.ledger.violated(I3, a.ordinalOfVolume(w.side, pv), fmt.Sprintf("volume %s (%q) in %s %s", pv.Name, pv.Handle, w.side.Name, message))
		}
	} else {
		a.checkFate(w.side, pv)
		w.noteGiven(pv, ch.Initial)
	}
	a.volumes.wake()
}

// noteGiven starts the take-over check when the volume is given to another side
// than before, or again.
func (w *volumeWatch) noteGiven(pv volumeState, initial bool) {
	to, key := nowhere, volumeKey{}
	for _, s := range w.auditor.sides {
		if k, ok := s.claimOf(pv); ok && s.cluster == w.side.cluster && isGiven(pv) {
			to, key = s.index, k
		}
	}
	before, known := w.given[pv.UID]
	w.given[pv.UID] = to
	if to != nowhere && !initial && (!known || before != to) {
		w.auditor.checkTakeover(w.auditor.sides[to], key, pv)
	}
}
