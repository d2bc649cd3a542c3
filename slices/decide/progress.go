package decide

import (
	"slices"
	"time"
)

// rollout is how far the update has got.
type rollout struct{ *decider }

// deadline is how long the roll-out may make no progress. A pod that is Ready in time
// has minReadySeconds more.
func (d rollout) deadline() time.Duration {
	if slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.rolled(pod) && ready(pod) && !d.available(pod) }) {
		return d.Spec.Deadline + d.Spec.MinReady
	}
	return d.Spec.Deadline
}

// got are the pods that the roll-out got to: how many have the revision, are Ready with
// it, and available. Those that are about to leave do not count: their going would hide
// that others come.
func (d rollout) got() (updated, isReady, available int32) {
	standIns := d.standInsWanted()
	for _, pod := range d.pods {
		if !d.rolled(pod) || pod.Revision != d.Revisions.Update || !standIns && d.stands[pod.Ordinal] {
			continue
		}
		updated, isReady, available = updated+1, isReady+one(ready(pod)), available+one(d.available(pod))
	}
	return updated, isReady, available
}

// rolled says whether a pod that stays has what is rolled out.
func (d rollout) rolled(pod *Pod) bool {
	return (d.inScope(pod.Ordinal) || d.stands[pod.Ordinal]) && !pod.Terminating && !d.outdated(pod)
}

// waitedUntil is until when the roll-out has waited for what its template is not to blame
// for; zero: for nothing, or a pod of the template is late as well.
func (d rollout) waitedUntil() (last time.Time) {
	if d.lacksPod() || slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.rolled(pod) && !ready(pod) }) {
		return time.Time{}
	}
	for _, pod := range d.pods {
		if until := d.waitsUntil(pod); until.After(last) {
			last = until
		}
	}
	if last.After(d.Now) {
		return d.Now
	}
	return last
}

// waitsUntil is how long a roll-out waits for a pod that is on its way out, is held back
// by its hooks, claims or images, or is to be available before others go.
func (d rollout) waitsUntil(pod *Pod) time.Time {
	switch {
	case pod.Terminating:
		return pod.GoneBy
	case pod.Reason != "" && pod.HeldForDelete, d.grows(pod):
		return d.Now
	case d.toUpdate(pod) && d.inPlace(pod) && pod.HeldForUpdate:
		return d.Now
	case d.toUpdate(pod) && pod.Pull != nil && !pod.Pull.Ended:
		return pod.Pull.Since.Add(PullLimit)
	case pod.InPlace != nil && !pod.InPlace.Patched:
		return pod.InPlace.Since.Add(d.Spec.InPlaceGrace)
	case pod.Reason != "":
		return pod.ReasonSince.Add(d.Spec.TerminationGrace)
	case ready(pod) && !d.rolled(pod):
		return pod.ReadySince.Add(d.Spec.MinReady)
	default:
		return time.Time{}
	}
}

// lacksPod says whether an ordinal has no pod, though none of the others keeps it from
// being made.
func (d rollout) lacksPod() bool {
	if d.strategy.together && d.oldRemain() {
		return false
	}
	unavailable := func(ordinal int32) bool { return d.at[ordinal] != nil && !d.serving(d.at[ordinal]) }
	atOnce := d.Spec.Parallel && d.Spec.ScaleMaxUnavailable == 0
	waits := d.Spec.Parallel && !atOnce && slices.ContainsFunc(d.owned, unavailable)
	for _, ordinal := range d.owned {
		if d.at[ordinal] == nil && (atOnce || !waits) {
			return true
		}
		waits = waits || unavailable(ordinal)
	}
	return false
}
