package auditor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/auditor/view"
)

// onPod handles each change of a pod in the side's namespace.
func (a *Auditor) onPod(s *side, ch feed.Change[*corev1.Pod]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	a.noteWriter(s, latest, ch.New != nil)
	ordinal, ok := judge.OrdinalOf(latest.Name, s.Set)
	if !ok {
		return
	}
	pod, exists, now := view.Pod(latest, ordinal), ch.New != nil, a.options.Clock.Now()
	a.state.do(func(st *state) {
		keep(st.seen[s.index].pods, ordinal, pod, exists)
		st.timeline.Observe(s.index, pod, exists, now)
		st.served.SetAvailable(s.index, ordinal, exists && pod.Available())
		st.replaced(ordinal)
	})
	switch {
	case !exists:
		a.podGone(s, pod)
	case a.runs(pod) && (ch.Old == nil || !a.runs(view.Pod(ch.Old, ordinal))):
		a.podAppeared(s, pod, ch.Initial)
	}
	a.replicas.wake()
}

func (a *Auditor) podAppeared(s *side, pod judge.PodState, initial bool) {
	a.state.bear(pod, s.index)
	if !a.options.InPlace {
		a.checkApart(s, pod)
	}
	if !initial {
		a.checkClaims(s, pod)
		a.checkCopies(s, pod)
	}
	for _, template := range s.templates {
		a.state.touch(judge.VolumeKey{Ordinal: pod.Ordinal, Template: template})
	}
	a.volumes.wake()
}

// runs reports whether a pod may write to its volumes. In place the pod of an ordinal that is stopped may exist: it is not
// scheduled while its claims are Terminating or not bound.
func (a *Auditor) runs(pod judge.PodState) bool {
	return pod.Exists() && (!a.options.InPlace || pod.Node != "")
}

// podGone checks the past of a deleted pod. With one API server for both sides, revisions show whether the pod
// outlived the start of the other side's pod.
func (a *Auditor) podGone(s *side, pod judge.PodState) {
	overlaps, gifts := a.state.bury(pod, judge.Revision(pod.RV))
	if !a.sameCluster {
		return
	}
	for _, g := range gifts {
		a.judgeGift(g)
	}
	for _, l := range overlaps {
		pair := [2]judge.PodState{}
		pair[s.index], pair[l.Side] = pod, l.Pod
		a.reportTogether(pair)
	}
}

// onSet handles each change of the side's set.
func (a *Auditor) onSet(s *side, ch feed.Change[*unstructured.Unstructured]) {
	var slice judge.SliceState
	if ch.New != nil {
		slice = view.Slice(ch.New)
	}
	a.state.do(func(st *state) { st.served.SetRange(s.index, slice) })
	a.replicas.wake()
}

// onBudget handles each change of a disruption budget in the side's namespace.
func (a *Auditor) onBudget(s *side, ch feed.Change[*policyv1.PodDisruptionBudget]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	a.state.do(func(st *state) {
		budget := view.Budget(latest)
		keep(st.seen[s.index].budgets, latest.Name, budget, ch.New != nil)
		if ch.New != nil && budget.Covers(st.served.Ranges[s.index]) {
			first := st.word == nil
			st.word = st.word.Follow(budget, int32(len(a.ordinals)), a.options.Clock.Now())
			if first && st.word != nil && a.options.Budget > 0 {
				st.word.Budget = a.options.Budget // the budget that the audit began with
			}
		}
	})
	a.replicas.wake()
}

// onClaim handles each change of a claim in the side's namespace.
func (a *Auditor) onClaim(s *side, ch feed.Change[*corev1.PersistentVolumeClaim]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	claim := view.Claim(latest, s.Set, s.templates)
	a.state.do(func(st *state) { st.noteClaim(s.index, claim, ch.New != nil) })
	if claim.Key == nil {
		return
	}
	if ch.New == nil {
		a.checkDeletedClaim(s, claim)
	}
	a.state.touch(*claim.Key)
	a.volumes.wake()
}

// volumeWatch handles the changes of one cluster's volumes.
type volumeWatch struct {
	auditor *Auditor
	side    *side
	// given records to which side each volume was given last.
	given map[types.UID]judge.SideIndex
}

func (a *Auditor) newVolumeWatch(s *side) *volumeWatch {
	return &volumeWatch{auditor: a, side: s, given: map[types.UID]judge.SideIndex{}}
}

func (w *volumeWatch) onVolume(ch feed.Change[*corev1.PersistentVolume]) {
	a := w.auditor
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	pv := view.Volume(latest)
	a.state.do(func(st *state) { keep(st.seen[w.side.store].volumes, pv.Name, pv, ch.New != nil) })
	if !a.isOurs(w.side, pv) {
		delete(w.given, pv.UID)
		return
	}
	if a.live.Load() {
		a.ledger.checked(I3)
	}
	if ch.New == nil {
		delete(w.given, pv.UID)
		if message := a.deletedVolume(pv); message != "" {
			a.ledger.violated(I3, a.ordinalOfVolume(w.side, pv), fmt.Sprintf("volume %s (%q) in %s %s", pv.Name, pv.Handle, w.side.Name, message))
		}
	} else {
		a.checkProvisioned(w.side, pv)
		a.checkFate(w.side, pv)
		w.noteGiven(pv, ch.Initial)
	}
	w.touch(pv)
	a.volumes.wake()
}

// touch marks for the next sample the keys of the volume: the recorded one and the one that its claimRef names.
func (w *volumeWatch) touch(pv judge.VolumeState) {
	if key, known := w.auditor.state.keyOf(pv.Handle); known {
		w.auditor.state.touch(key)
	}
	for _, s := range w.auditor.sides {
		if key, ok := s.claimOf(pv); ok && s.cluster == w.side.cluster {
			w.auditor.state.touch(key)
		}
	}
}

// onAttachment handles each change of an attachment.
func (w *volumeWatch) onAttachment(ch feed.Change[*storagev1.VolumeAttachment]) {
	latest := ch.New
	if latest == nil {
		latest = ch.Old
	}
	w.auditor.state.do(func(st *state) {
		keep(st.seen[w.side.store].attachments, latest.Name, view.Attachment(latest), ch.New != nil)
	})
}

// noteGiven starts the take-over check when the volume is given to another side than before, or given again.
func (w *volumeWatch) noteGiven(pv judge.VolumeState, initial bool) {
	to, key := judge.Nowhere, judge.VolumeKey{}
	for _, s := range w.auditor.sides {
		if k, ok := s.claimOf(pv); ok && s.cluster == w.side.cluster && judge.IsGiven(pv) {
			to, key = s.index, k
		}
	}
	before, known := w.given[pv.UID]
	w.given[pv.UID] = to
	if to != judge.Nowhere && !initial && (!known || before != to) && !w.auditor.returns(key, pv) {
		g := judge.Gift{From: to.Other(), To: to, Key: key, Volume: pv, Revision: judge.Revision(pv.RV)}
		if w.auditor.options.InPlace {
			g.From = to
		} else {
			w.auditor.checkTakeover(w.auditor.sides[to], key, pv)
		}
		w.auditor.checkSealed(w.auditor.sides[to], key, pv)
		w.auditor.state.give(g)
		w.auditor.judgeGift(g)
	}
}
