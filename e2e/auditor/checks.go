package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// checkApart proves I1 for a pod that appeared: the other side has none.
func (a *Auditor) checkApart(s *side, pod judge.PodState) {
	other := a.sides[s.index.Other()]
	about := subject{
		Invariant: I1,
		Ordinal:   pod.Ordinal,
		What:      fmt.Sprintf("%s appeared while %s had no pod of that ordinal", a.describePod(s.index, pod), other),
		Settled:   func() { a.state.noteApart(pod.Ordinal, s.index) },
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		before, there, after, err := s.readApart(ctx, other, pod.Ordinal)
		if err != nil {
			return pending, err
		}
		switch judge.Apart(before, there, after) {
		case judge.Together:
			pair := [2]judge.PodState{}
			pair[s.index], pair[other.index] = after, there
			a.reportTogether(pair)
		case judge.Vanished:
			a.ledger.notProved(I1, pod.Ordinal, fmt.Sprintf("%s does not exist any more and %s exists: which came first is unknown",
				a.describePod(s.index, pod), a.describePod(other.index, there)))
			return abandoned, nil
		case judge.Unclear:
			return pending, nil
		case judge.OnlyOne:
		}
		return settled, nil
	})
}

// readApart reads both sides' pods of an ordinal as A, B, A. For most pods the other side has none, and one read of
// the other side is enough.
func (s *side) readApart(ctx context.Context, other *side, ordinal int32) (before, there, after judge.PodState, err error) {
	if there, err = other.pod(ctx, ordinal); err != nil || !there.Exists() {
		return before, there, after, err
	}
	if before, err = s.pod(ctx, ordinal); err != nil {
		return before, there, after, err
	}
	if there, err = other.pod(ctx, ordinal); err != nil {
		return before, there, after, err
	}
	after, err = s.pod(ctx, ordinal)
	return before, there, after, err
}

// checkClaims proves I3 for a pod that appeared: each of its claims has the
// recorded volume.
func (a *Auditor) checkClaims(s *side, pod judge.PodState) {
	recorded := a.state.origins()
	for _, key := range slices.SortedFunc(maps.Keys(recorded), judge.CompareKeys) {
		if key.Ordinal == pod.Ordinal {
			a.checkClaim(s, pod, key, recorded[key])
		}
	}
}

func (a *Auditor) checkClaim(s *side, pod judge.PodState, key judge.VolumeKey, want judge.Origin) {
	claim := key.ClaimName(s.Set)
	about := subject{
		Invariant: I3,
		Ordinal:   pod.Ordinal,
		What:      fmt.Sprintf("%s started with claim %s on %q", a.describePod(s.index, pod), claim, want.Handle),
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		b, err := s.binding(ctx, claim)
		if err != nil {
			return pending, err
		}
		wrong := judge.Claim(b, want)
		if wrong == "" {
			return settled, nil
		}
		// Reading the pod again closes A, B, A: its event was the first A.
		now, err := s.pod(ctx, pod.Ordinal)
		if err != nil {
			return pending, err
		}
		if now.UID != pod.UID {
			a.ledger.notProved(I3, pod.Ordinal, fmt.Sprintf("not proved that %s: the pod does not exist any more, and now %s", about.What, wrong))
			return abandoned, nil
		}
		a.ledger.violated(I3, pod.Ordinal, fmt.Sprintf("%s uses claim %s, but %s", a.describePod(s.index, pod), claim, wrong))
		return settled, nil
	})
}

// shown is the largest number of differences between two volumes that a finding lists.
const shown = 5

// checkCopies proves I3 for copied volumes when a pod appears. The pod must run on the volume that it ran on last, or
// on another volume with the same content. The other volume is on the other side. It is on the same side when the
// ordinal was rolled back before it ran on its copy. Neither volume was written since: the last one cannot be mounted,
// and no process of the pod runs that could write to it.
func (a *Auditor) checkCopies(s *side, pod judge.PodState) {
	for _, key := range a.state.copiedOf(pod.Ordinal) {
		a.checkCopy(s, pod, key)
	}
}

func (a *Auditor) checkCopy(s *side, pod judge.PodState, key judge.VolumeKey) {
	claim := key.ClaimName(s.Set)
	about := subject{
		Invariant: I3,
		Ordinal:   pod.Ordinal,
		What:      fmt.Sprintf("%s started with claim %s on the content that it had when it stopped", a.describePod(s.index, pod), claim),
		Settled:   func() { a.state.do(func(st *state) { st.inPlace.judge(pod.UID, key) }) },
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		sealed, waits := a.state.sealOf(key)
		if waits {
			return pending, nil
		}
		b, err := s.binding(ctx, claim)
		if err != nil {
			return pending, err
		}
		last := a.state.lastOf(key)
		wrong, err := a.wrongCopy(ctx, s, b, last, sealed)
		if err != nil {
			return pending, err
		}
		if wrong == "" && a.options.InPlace {
			if err := a.keepLeft(ctx, key, b, last, sealed); err != nil {
				return pending, err
			}
		}
		now, err := s.pod(ctx, pod.Ordinal)
		if err != nil {
			return pending, err
		}
		switch {
		case wrong == "":
			a.state.noteCompared(key, judge.Origin{Handle: b.Volume.Handle, Folder: b.Volume.Folder, Side: s.index})
			a.state.do(func(st *state) { st.inPlace.mount(pod.UID, b.Volume.Name) })
		case now.UID != pod.UID:
			a.ledger.notProved(I3, pod.Ordinal, fmt.Sprintf("not proved that %s: the pod does not exist any more, and now %s", about.What, wrong))
			return abandoned, nil
		default:
			a.ledger.violated(I3, pod.Ordinal, fmt.Sprintf("%s uses claim %s, but %s", a.describePod(s.index, pod), claim, wrong))
		}
		return settled, nil
	})
}

// wrongCopy describes the fault of a claim; empty means that there is none. A volume that was compared before a pod
// existed may have been written since.
func (a *Auditor) wrongCopy(ctx context.Context, s *side, b judge.Binding, last judge.Origin, sealed sealedCopy) (string, error) {
	if last.Side == s.index && b.Volume.Handle == last.Handle {
		return judge.Claim(b, last), nil
	}
	if wrong := judge.Copied(b, last); wrong != "" {
		return wrong, nil
	}
	if sealed.source == last && sealed.volume == (judge.Origin{Handle: b.Volume.Handle, Folder: b.Volume.Folder, Side: s.index}) {
		return "", nil
	}
	differences, err := a.options.Content(ctx, last.Folder, b.Volume.Folder)
	if err != nil || len(differences) == 0 {
		return "", err
	}
	return unlike(last, differences), nil
}

// checkTwice records each ordinal whose claim could be mounted on both sides.
func (a *Auditor) checkTwice(bound [2][]judge.Binding) {
	for _, pair := range judge.Twice(bound, a.options.Copied) {
		a.ledger.violated(I2, pair[judge.Source].Claim.Key.Ordinal, fmt.Sprintf("a copied volume was usable on both sides at once: %s and %s",
			a.describeBinding(judge.Source, pair[judge.Source]), a.describeBinding(judge.Destination, pair[judge.Destination])))
	}
}

// Compared returns how many volumes were found under a pod with the content of the ordinal's previous volume.
func (a *Auditor) Compared() (n int) {
	a.state.do(func(s *state) { n = s.comparisons() })
	return n
}
