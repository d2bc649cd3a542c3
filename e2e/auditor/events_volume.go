package auditor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/auditor/view"
)

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
		if message := judge.DeletedVolume(pv); message != "" {
			a.ledger.violated(I3, a.ordinalOfVolume(w.side, pv), fmt.Sprintf("volume %s (%q) in %s %s", pv.Name, pv.Handle, w.side.Name, message))
		}
	} else {
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
	if to != judge.Nowhere && !initial && (!known || before != to) {
		w.auditor.checkTakeover(w.auditor.sides[to], key, pv)
		g := judge.Gift{To: to, Key: key, Volume: pv, Revision: judge.Revision(pv.RV)}
		w.auditor.state.give(g)
		w.auditor.judgeGift(g)
	}
}
