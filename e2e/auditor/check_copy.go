package auditor

import (
	"context"
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

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
		What:      fmt.Sprintf("%s started with claim %s on what it had when it stopped", a.describePod(s.index, pod), claim),
	}
	a.prove(about, func(ctx context.Context) (outcome, error) {
		b, err := s.binding(ctx, claim)
		if err != nil {
			return pending, err
		}
		last := a.state.lastOf(key)
		wrong, err := a.wrongCopy(ctx, s, b, last)
		if err != nil {
			return pending, err
		}
		now, err := s.pod(ctx, pod.Ordinal)
		if err != nil {
			return pending, err
		}
		switch {
		case wrong == "":
			a.state.noteCompared(key, judge.Origin{Handle: b.Volume.Handle, Folder: b.Volume.Folder, Side: s.index})
		case now.UID != pod.UID:
			a.ledger.notProved(I3, pod.Ordinal, fmt.Sprintf("not proved that %s: it is gone, and now %s", about.What, wrong))
			return abandoned, nil
		default:
			a.ledger.violated(I3, pod.Ordinal, fmt.Sprintf("%s uses claim %s, but %s", a.describePod(s.index, pod), claim, wrong))
		}
		return settled, nil
	})
}

// wrongCopy describes the fault of a claim; empty means that there is none.
func (a *Auditor) wrongCopy(ctx context.Context, s *side, b judge.Binding, last judge.Origin) (string, error) {
	if last.Side == s.index && b.Volume.Handle == last.Handle {
		return judge.Claim(b, last), nil
	}
	if wrong := judge.Copied(b, last); wrong != "" {
		return wrong, nil
	}
	differences, err := a.options.Content(ctx, last.Folder, b.Volume.Folder)
	if err != nil || len(differences) == 0 {
		return "", err
	}
	return fmt.Sprintf("its content is not that of %q, on which it ran before: %s", last.Handle, strings.Join(differences[:min(shown, len(differences))], "; ")), nil
}

// checkTwice records each ordinal whose claim could be mounted on both sides.
func (a *Auditor) checkTwice(bound [2][]judge.Binding) {
	for _, pair := range judge.Twice(bound, a.options.Copied) {
		a.ledger.violated(I2, pair[judge.Source].Claim.Key.Ordinal, fmt.Sprintf("what is copied was usable on both sides at once: %s and %s",
			a.describeBinding(judge.Source, pair[judge.Source]), a.describeBinding(judge.Destination, pair[judge.Destination])))
	}
}

// Compared returns how many volumes were found under a pod with the content of the ordinal's previous volume.
func (a *Auditor) Compared() (n int) {
	a.state.do(func(s *state) { n = s.comparisons() })
	return n
}
