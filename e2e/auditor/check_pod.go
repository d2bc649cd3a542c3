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
			a.ledger.notProved(I1, pod.Ordinal, fmt.Sprintf("%s is gone and %s exists: which came first is not known",
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
			a.ledger.notProved(I3, pod.Ordinal, fmt.Sprintf("not proved that %s: it is gone, and now %s", about.What, wrong))
			return abandoned, nil
		}
		a.ledger.violated(I3, pod.Ordinal, fmt.Sprintf("%s uses claim %s, but %s", a.describePod(s.index, pod), claim, wrong))
		return settled, nil
	})
}
