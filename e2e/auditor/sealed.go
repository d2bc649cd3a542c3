package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// sealedCopy is the state of a copied volume when it was given to the claim of its ordinal, before any pod of the ordinal
// existed. A pod that starts on it may write at once.
type sealedCopy struct {
	// volume is the copy, and source the volume whose content it was found to have.
	volume, source judge.Origin
	// kept is the auditor's own copy of that content; empty if it keeps none.
	kept string
}

// checkSealed proves I3 for a volume that was given to s under its ordinal's claim: it has the content of the volume that
// the ordinal ran on last. The proof rests on reads before and after the comparison, in which neither side has a pod of
// the ordinal. If there is one, the comparison at its appearance (checkCopy) counts alone.
func (a *Auditor) checkSealed(s *side, key judge.VolumeKey, given judge.VolumeState) {
	source := a.state.lastOf(key)
	if source.Handle == "" || source.Handle == given.Handle || source.Folder == "" || given.Folder == "" {
		return // it is not a copied volume, or not on this machine, which checkCopy reports
	}
	sealed := sealedCopy{volume: judge.Origin{Handle: given.Handle, Folder: given.Folder, Side: s.index}, source: source}
	about := subject{
		Invariant: I3, Ordinal: key.Ordinal,
		What: fmt.Sprintf("volume %s in %s was given to claim %s with the content of %q", given.Name, s.Name, given.ClaimName, source.Handle),
	}
	a.state.beginSeal(key)
	a.prove(about, func(ctx context.Context) (outcome, error) {
		result, err := a.seal(ctx, s, key, given, sealed)
		if result != pending {
			a.state.endSeal(key)
		}
		return result, err
	})
}

// seal compares a volume that was given to a claim with its source once.
func (a *Auditor) seal(ctx context.Context, s *side, key judge.VolumeKey, given judge.VolumeState, sealed sealedCopy) (outcome, error) {
	if result, err := a.unstarted(ctx, s, key, given); result != settled || err != nil {
		return result, err
	}
	content := sealed.volume.Folder
	if a.options.Keep != nil {
		kept, err := a.options.Keep(ctx, content)
		if err != nil {
			return pending, err
		}
		content, sealed.kept = kept, kept
	}
	differences, err := a.options.Content(ctx, sealed.source.Folder, content)
	if err != nil {
		return pending, err
	}
	if result, err := a.unstarted(ctx, s, key, given); result != settled || err != nil {
		return result, err
	}
	if len(differences) > 0 {
		a.ledger.violated(I3, key.Ordinal, fmt.Sprintf("volume %s (%q) in %s was given to claim %s, but %s",
			given.Name, given.Handle, s.Name, given.ClaimName, unlike(sealed.source, differences)))
		return settled, nil
	}
	a.state.noteSealed(key, sealed)
	return settled, nil
}

// unstarted returns settled if neither side has a pod of an ordinal that may write, and the volume is still given to its claim. It
// returns abandoned if one of these does not hold.
func (a *Auditor) unstarted(ctx context.Context, s *side, key judge.VolumeKey, given judge.VolumeState) (outcome, error) {
	for _, each := range a.sides {
		pod, err := each.pod(ctx, key.Ordinal)
		if err != nil {
			return pending, err
		}
		if a.runs(pod) {
			return abandoned, nil
		}
	}
	now, err := s.volume(ctx, given.Name)
	if err != nil {
		return pending, err
	}
	if to, of := s.claimOf(now); !of || to != key || now.Handle != given.Handle || !judge.IsGiven(now) {
		return abandoned, nil
	}
	return settled, nil
}

// unlike describes the differences of a content from that of a volume.
func unlike(source judge.Origin, differences []string) string {
	return fmt.Sprintf("its content is not that of %q, on which it ran before: %s", source.Handle, strings.Join(differences[:min(shown, len(differences))], "; "))
}

// checkKept proves I3 for the volumes that ordinals have left: each still has the content that its copy had before the
// ordinal started on it. So a proof after the start (copy.verify: Later) has read that content.
func (a *Auditor) checkKept(ctx context.Context) {
	for key, sealed := range a.state.sealedOnes() {
		from := a.sides[sealed.source.Side]
		name := a.state.nameOf(from.store, sealed.source.Handle)
		if sealed.kept == "" || name == "" {
			continue
		}
		err := a.untilAnswered(ctx, func(ctx context.Context) error { return a.compareKept(ctx, from, name, key, sealed) })
		if err != nil {
			a.ledger.notProved(I3, key.Ordinal, fmt.Sprintf("not proved that %q is unchanged since its copy was sealed: %v", sealed.source.Handle, err))
		}
	}
}

// compareKept compares a volume that an ordinal has left with what its copy had. A volume that is deleted is not judged
// here.
func (a *Auditor) compareKept(ctx context.Context, from *side, name string, key judge.VolumeKey, sealed sealedCopy) error {
	there := func() (bool, error) {
		now, err := from.volume(ctx, name)
		return now.UID != "" && now.Handle == sealed.source.Handle, err
	}
	if is, err := there(); !is || err != nil {
		return err
	}
	differences, err := a.options.Content(ctx, sealed.source.Folder, sealed.kept)
	if is, read := there(); !is || read != nil {
		return read // the content may be deleted as well
	}
	if err != nil {
		return err
	}
	a.ledger.checked(I3)
	if len(differences) > 0 {
		a.ledger.violated(I3, key.Ordinal, fmt.Sprintf("volume %s (%q) in %s, which the ordinal has left, has changed since its copy was sealed: %s",
			name, sealed.source.Handle, from.Name, strings.Join(differences[:min(shown, len(differences))], "; ")))
	}
	return nil
}

// Sealed returns how many volumes were found with the content of the ordinal's previous volume before any pod of the
// ordinal existed.
func (a *Auditor) Sealed() (n int) {
	a.state.do(func(s *state) { n = len(s.sealed) })
	return n
}

// beginSeal records that a volume that was given to a claim is being compared. endSeal ends that.
func (s *state) beginSeal(key judge.VolumeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealing[key]++
}

func (s *state) endSeal(key judge.VolumeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealing[key]--
}

// noteSealed records the result of that comparison.
func (s *state) noteSealed(key judge.VolumeKey, sealed sealedCopy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed[key] = sealed
	if s.inPlace != nil {
		s.inPlace.sealed[sealed.volume.Handle] = true
	}
}

// sealOf returns the last sealed copy of a volume. waits is true while another one is being compared.
func (s *state) sealOf(key judge.VolumeKey) (sealed sealedCopy, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed[key], s.sealing[key] > 0
}

// sealedOnes returns the sealed copies on which their ordinals run.
func (s *state) sealedOnes() map[judge.VolumeKey]sealedCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.sealed)
	maps.DeleteFunc(all, func(key judge.VolumeKey, sealed sealedCopy) bool {
		return s.copied[key] != sealed.volume || s.served.On[key.Ordinal] != sealed.volume.Side
	})
	return all
}

// nameOf returns the name of the volume with a handle; empty if there is none.
func (s *state) nameOf(store judge.SideIndex, handle string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.seen[store].volumes)) {
		if s.seen[store].volumes[name].Handle == handle {
			return name
		}
	}
	return ""
}
