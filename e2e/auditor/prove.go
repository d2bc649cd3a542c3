package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// checkTakeover proves the second half of I2 for a volume that was given to s: the other side's pod and attachments no
// longer exist.
func (a *Auditor) checkTakeover(s *side, key judge.VolumeKey, given judge.VolumeState) {
	other := a.sides[s.index.Other()]
	about := subject{
		Invariant: I2,
		Ordinal:   key.Ordinal,
		What: fmt.Sprintf("volume %s in %s (uid %s, version %s) was given to claim %s after %s had let go",
			given.Name, s.Name, given.UID, given.RV, given.ClaimName, other),
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		t := judge.Takeover{Given: given, SameCluster: a.sameCluster}
		var err error
		if t.OtherPod, err = other.pod(ctx, key.Ordinal); err != nil {
			return pending, err
		}
		// In one cluster, the other side has never had a copied volume: its attachments are those of its mover.
		if !a.sameCluster || !slices.Contains(a.options.Copied, key.Template) {
			if t.Attachments, err = a.leftOver(ctx, other, given.Handle); err != nil {
				return pending, err
			}
		}
		if t.After, err = s.volume(ctx, given.Name); err != nil {
			return pending, err
		}
		claim, ok := s.claimOf(t.After)
		t.StillGiven = ok && claim == key && judge.IsGiven(t.After)
		a.reportTakeover(s, key, t)
		return settled, nil
	})
}

func (a *Auditor) reportTakeover(s *side, key judge.VolumeKey, t judge.Takeover) {
	other := a.sides[s.index.Other()]
	podLeft, left := judge.LeftBehind(t)
	if podLeft {
		a.reportLingering(s, key, t.Given, a.describePod(other.index, t.OtherPod))
	}
	for _, l := range left {
		a.ledger.violated(I2, key.Ordinal, fmt.Sprintf("volume %s (%q) in %s was given to claim %s while VolumeAttachment %s in %s held volume %s on node %s",
			t.Given.Name, t.Given.Handle, s.Name, t.Given.ClaimName, l.Name, other.Name, l.Volume, l.Node))
	}
}

// reportLingering records that a volume was given away while a pod still used it.
func (a *Auditor) reportLingering(s *side, key judge.VolumeKey, given judge.VolumeState, pod string) {
	a.ledger.violated(I2, key.Ordinal, fmt.Sprintf("volume %s (%q) in %s was given to claim %s while %s existed",
		given.Name, given.Handle, s.Name, given.ClaimName, pod))
}

// judgeGift checks past lifetimes of pods. This is possible only when the two sides are one cluster.
func (a *Auditor) judgeGift(g judge.Gift) {
	if !a.sameCluster {
		return
	}
	for _, l := range a.state.lingering(g) {
		a.reportLingering(a.sides[g.To], g.Key, g.Volume, a.describePod(l.Side, l.Pod))
	}
}

// leftOver reads the attachments that the other side's cluster still has of a volume that was given away.
func (a *Auditor) leftOver(ctx context.Context, other *side, handle string) ([]judge.Attachment, error) {
	var found []judge.Attachment
	for _, name := range a.state.attachmentsOf(other.store, handle) {
		left, err := other.attachment(ctx, name)
		if err != nil {
			return nil, err
		}
		if left.Name != "" {
			found = append(found, left)
		}
	}
	return found, nil
}

// checkDeletedClaim proves I3 for a deleted claim of the set. When its volume was deleted too, the last state of the
// volume is judged instead.
func (a *Auditor) checkDeletedClaim(s *side, claim judge.ClaimState) {
	about := subject{
		Invariant: I3,
		Ordinal:   claim.Key.Ordinal,
		What: fmt.Sprintf("deleting claim %s/%s in %s (uid %s) left its volume alone",
			s.Namespace, claim.Name, s.Name, claim.UID),
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		if claim.VolumeName == "" {
			return settled, nil
		}
		pv, err := s.volume(ctx, claim.VolumeName)
		if err != nil {
			return pending, err
		}
		if message := judge.DeletedClaim(claim, pv); message != "" {
			a.ledger.violated(I3, claim.Key.Ordinal, fmt.Sprintf("claim %s/%s in %s %s", s.Namespace, claim.Name, s.Name, message))
		}
		return settled, nil
	})
}

// claimOf returns the volume key when the volume's claimRef names a claim of the
// side's set.
func (s *side) claimOf(pv judge.VolumeState) (judge.VolumeKey, bool) {
	if pv.ClaimNamespace != s.Namespace {
		return judge.VolumeKey{}, false
	}
	return judge.VolumeKeyOf(pv.ClaimName, s.Set, s.templates)
}

// isOurs reports whether a volume of the side's cluster belongs to the move: by its handle, wherever its claimRef
// points, or by its claimRef.
func (a *Auditor) isOurs(s *side, pv judge.VolumeState) bool {
	return a.ordinalOfVolume(s, pv) != WholeSet
}

// ordinalOfVolume returns the ordinal that the volume's claimRef or handle belongs to, else WholeSet.
func (a *Auditor) ordinalOfVolume(s *side, pv judge.VolumeState) int32 {
	for _, other := range a.sides {
		if key, ok := other.claimOf(pv); ok && other.cluster == s.cluster {
			return key.Ordinal
		}
	}
	if key, known := a.state.keyOf(pv.Handle); known {
		return key.Ordinal
	}
	return WholeSet
}

// maxChecks bounds the reads of all checks at one time.
const maxChecks = 32

// subject describes a check.
type subject struct {
	Invariant Invariant
	Ordinal   int32
	// What completes the sentence "not proved that ...".
	What string
	// Settled runs when the check completed while the watches ran. May be nil.
	Settled func()
}

// outcome is the result of one attempt.
type outcome int

const (
	// pending: the reads prove nothing; read again.
	pending outcome = iota
	// settled: the check is complete, whatever its result.
	settled
	// abandoned: the check can never complete; the reason is recorded.
	abandoned
)

// prove runs attempt in the background until it is no longer pending. An API server that does not answer proves
// nothing, so each error is retried. At the timeout the check is recorded as unproved.
func (a *Auditor) prove(about subject, attempt func(context.Context) (outcome, error)) {
	live := a.live.Load()
	a.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, a.options.CheckTimeout)
		defer cancel()
		last := errors.New("the objects kept changing while they were read")
		for ctx.Err() == nil {
			result, err := a.attempt(ctx, attempt)
			if err != nil {
				last = err
			}
			if result == settled && live {
				a.settle(about)
			}
			if result != pending {
				return
			}
			feed.Pause(ctx, feed.RetryPause/4)
		}
		a.ledger.notProved(about.Invariant, about.Ordinal, fmt.Sprintf("not proved that %s: %v", about.What, last))
	})
}

// settle counts a completed check.
func (a *Auditor) settle(about subject) {
	a.ledger.checked(about.Invariant)
	if about.Settled != nil {
		about.Settled()
	}
}

// attempt waits for a free slot and bounds one attempt.
func (a *Auditor) attempt(ctx context.Context, attempt func(context.Context) (outcome, error)) (outcome, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return pending, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	return attempt(ctx)
}

// untilAnswered repeats f until it succeeds or the check times out.
func (a *Auditor) untilAnswered(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.CheckTimeout)
	defer cancel()
	for {
		err := f(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		feed.Pause(ctx, feed.RetryPause)
	}
}
