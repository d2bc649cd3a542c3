package auditor

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/auditor/view"
)

// inPlace is the auditor's memory of a migration in place. The methods of a nil one do nothing.
type inPlace struct {
	// first are the volumes on which ordinals ran before the migration.
	first map[judge.VolumeKey]judge.Origin
	// bound are all volumes that claims of ordinals were bound to, by handle.
	bound map[judge.VolumeKey]map[string]judge.Binding
	// sealed are the handles of all volumes that were found with the content of the ordinal's last volume before a pod
	// existed.
	sealed    map[string]bool
	replacing judge.Replacing
	// replaced are the ordinals of which a claim was deleted, and that were not available since.
	replaced map[int32]bool
	// writers are all pods of the namespace that have or had volumes mounted.
	writers map[types.UID]*judge.Writer
	// volumeOf has the volumes of claims that belong to no ordinal.
	volumeOf map[string]string
	// judged are the volumes of pods on which their start was judged.
	judged map[types.UID][]judge.VolumeKey
}

func newInPlace() *inPlace {
	return &inPlace{
		first: map[judge.VolumeKey]judge.Origin{}, bound: map[judge.VolumeKey]map[string]judge.Binding{}, sealed: map[string]bool{}, replacing: judge.Replacing{}, replaced: map[int32]bool{},
		writers: map[types.UID]*judge.Writer{}, volumeOf: map[string]string{}, judged: map[types.UID][]judge.VolumeKey{},
	}
}

// judge records that the start of a pod on a volume was judged.
func (p *inPlace) judge(pod types.UID, key judge.VolumeKey) {
	if p != nil {
		p.judged[pod] = append(p.judged[pod], key)
	}
}

// mount records the volume on which a pod runs.
func (p *inPlace) mount(pod types.UID, volume string) {
	if p == nil || p.writers[pod] == nil || slices.Contains(p.writers[pod].Volumes, volume) {
		return
	}
	p.writers[pod].Volumes = append(p.writers[pod].Volumes, volume)
}

// mountInitial records the volumes of the pods that ran before the audit, whose claims these are. Their start is not judged.
func (p *inPlace) mountInitial(claims map[string]judge.ClaimState) {
	if p == nil {
		return
	}
	for uid, w := range p.writers {
		for _, name := range w.Claims {
			if claim, known := claims[name]; known {
				p.mount(uid, claim.VolumeName)
				p.judge(uid, *claim.Key)
			}
		}
	}
}

// noteWriter records a pod of the namespace, and whether it has its volumes mounted.
func (a *Auditor) noteWriter(s *side, pod *corev1.Pod, exists bool) {
	if !a.options.InPlace || s.index != judge.Source {
		return
	}
	w, mounted := view.Writer(pod)
	mounted, revision := mounted && exists, judge.Revision(pod.ResourceVersion)
	a.state.do(func(st *state) {
		switch known := st.inPlace.writers[w.UID]; {
		case known == nil && mounted:
			w.Born = revision
			st.inPlace.writers[w.UID] = &w
		case known != nil && known.Died == 0 && !mounted:
			known.Died = revision
		}
	})
}

// noteClaim records a claim of a side's namespace. The caller holds the lock.
func (s *state) noteClaim(side judge.SideIndex, claim judge.ClaimState, exists bool) {
	if claim.Key == nil {
		if s.inPlace != nil && side == judge.Source && claim.VolumeName != "" {
			s.inPlace.volumeOf[claim.Name] = claim.VolumeName
		}
		return
	}
	keep(s.seen[side].claims, claim.Name, claim, exists)
	if s.inPlace == nil {
		return
	}
	s.inPlace.replacing.Note(*claim.Key, s.seen[side].claims[claim.Name])
	s.replaced(claim.Key.Ordinal)
}

// replaced records whether an ordinal is down because of its claims. The caller holds the lock.
func (s *state) replaced(ordinal int32) {
	switch p := s.inPlace; {
	case p == nil:
	case p.replacing.Ordinal(ordinal):
		p.replaced[ordinal] = true
	case s.seen[judge.Source].pods[ordinal].Available():
		delete(p.replaced, ordinal)
	}
}

// startedAgain returns how many ordinals a migration in place has started on other volumes than at first, and how many on
// their first ones again. The caller holds the lock.
func (s *state) startedAgain() (onOthers, onFirst int) {
	if s.inPlace == nil {
		return 0, 0
	}
	others, firsts := map[int32]bool{}, map[int32]bool{}
	for key, first := range s.inPlace.first {
		for now := range s.compared[key] {
			if now.Handle == first.Handle {
				firsts[key.Ordinal] = true
			} else {
				others[key.Ordinal] = true
			}
		}
	}
	return len(others), len(firsts)
}

// returns reports whether a volume in place is the one that its ordinal ran on last. It may be reserved again before its pod
// has ended, and nothing is compared then.
func (a *Auditor) returns(key judge.VolumeKey, pv judge.VolumeState) bool {
	return a.options.InPlace && a.state.lastOf(key).Handle == pv.Handle
}

// deletedVolume describes the fault of a deletion, for the last state of the volume. In place, no volume on which an ordinal
// has run is deleted.
func (a *Auditor) deletedVolume(pv judge.VolumeState) string {
	if message := judge.DeletedVolume(pv); message != "" {
		return message
	}
	if _, ran := a.state.keyOf(pv.Handle); ran && a.options.InPlace {
		return "was deleted, although its ordinal has run on it"
	}
	return ""
}

// checkProvisioned proves a part of I3 in place: no volume is provisioned for the claim of an ordinal, which would be empty.
func (a *Auditor) checkProvisioned(s *side, pv judge.VolumeState) {
	key, of := a.sides[judge.Source].claimOf(pv)
	if !a.options.InPlace || !of || !slices.Contains(a.options.Copied, key.Template) || !judge.Provisioned(pv) {
		return
	}
	first, known := judge.Origin{}, false
	a.state.do(func(st *state) { first, known = st.inPlace.first[key] })
	if known && first.Handle != pv.Handle {
		a.ledger.violated(I3, key.Ordinal, fmt.Sprintf("volume %s (%q) in %s was provisioned for claim %s", pv.Name, pv.Handle, s.Name, pv.ClaimName))
	}
}

// keepLeft keeps the content of the volume that an ordinal has left, unless that was done when the new one was reserved.
func (a *Auditor) keepLeft(ctx context.Context, key judge.VolumeKey, b judge.Binding, last judge.Origin, sealed sealedCopy) error {
	now := judge.Origin{Handle: b.Volume.Handle, Folder: b.Volume.Folder, Side: judge.Source}
	if now == last || sealed.volume == now && sealed.source == last || a.options.Keep == nil {
		return nil
	}
	kept, err := a.options.Keep(ctx, last.Folder)
	if err == nil {
		a.state.noteSealed(key, sealedCopy{volume: now, source: last, kept: kept})
	}
	return err
}

// noteBound records the volumes that claims of ordinals are bound to.
func (a *Auditor) noteBound(bindings []judge.Binding) {
	a.state.do(func(st *state) {
		for _, b := range judge.OfSet(bindings) {
			key := *b.Claim.Key
			if st.inPlace == nil || !slices.Contains(a.options.Copied, key.Template) {
				continue
			}
			if st.inPlace.bound[key] == nil {
				st.inPlace.bound[key] = map[string]judge.Binding{}
			}
			st.inPlace.bound[key][b.Volume.Handle] = b
		}
	})
}

// Judged reports whether the start of a pod of a migration in place was judged on all of its volumes. From then on it may
// write.
func (a *Auditor) Judged(pod types.UID, volumes int) (is bool) {
	a.state.do(func(st *state) { is = st.inPlace != nil && len(st.inPlace.judged[pod]) >= volumes })
	return is
}

// finishInPlace judges what only the whole run shows: no two pods wrote to one volume at once, no volume was given to an
// ordinal whose pod has not ended since, and each claim was only bound to volumes that were compared.
func (a *Auditor) finishInPlace() {
	if !a.options.InPlace {
		return
	}
	a.state.do(func(st *state) {
		a.judgeWriters(st)
		for _, g := range st.gifts {
			for _, l := range g.Lingering(judge.StillAlive(st.lifetimes)) {
				a.reportLingering(a.sides[g.To], g.Key, g.Volume, a.describePod(l.Side, l.Pod))
			}
		}
		for key, bound := range st.inPlace.bound {
			for handle, b := range bound {
				if !st.comparedHandle(key, handle) {
					a.ledger.notProved(I3, key.Ordinal, a.describeBinding(judge.Source, b)+", whose content was never compared")
				}
			}
		}
	})
}

// comparedHandle reports whether a volume is the ordinal's first one, or has the content of the one before it. The caller
// holds the lock.
func (s *state) comparedHandle(key judge.VolumeKey, handle string) bool {
	if s.inPlace.first[key].Handle == handle || s.inPlace.sealed[handle] {
		return true
	}
	for now := range s.compared[key] {
		if now.Handle == handle {
			return true
		}
	}
	return false
}

// judgeWriters proves I1 in place: while the pod of an ordinal has a volume mounted, no other pod may write to it. The caller
// holds the lock.
func (a *Auditor) judgeWriters(st *state) {
	from := a.sides[judge.Source]
	for _, w := range st.inPlace.writers {
		for _, name := range w.Claims {
			if volume := st.inPlace.volumeOf[name]; volume != "" {
				st.inPlace.mount(w.UID, volume)
			}
		}
	}
	for _, pod := range st.inPlace.writers {
		ordinal, is := judge.OrdinalOf(pod.Name, from.Set)
		if !is || len(pod.Volumes) == 0 {
			continue
		}
		a.ledger.checked(I1)
		for _, other := range st.inPlace.writers {
			for _, volume := range pod.Shared(*other) {
				a.ledger.violated(I1, ordinal, fmt.Sprintf("pods %s and %s in %s had volume %s mounted at the same time", pod, other, from.Name, volume))
			}
		}
	}
}
