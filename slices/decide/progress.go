package decide

import (
	"slices"
	"time"
)

// rollout computes the progress of the update.
type rollout struct{ *decider }

// deadline returns the time that the roll-out may make no progress. While an updated pod is Ready but not available yet,
// minReadySeconds is added.
func (d rollout) deadline() time.Duration {
	if slices.ContainsFunc(d.pods, func(pod *Pod) bool { return d.rolled(pod) && ready(pod) && !d.available(pod) }) {
		return d.Spec.Deadline + d.Spec.MinReady
	}
	return d.Spec.Deadline
}

// got counts the pods that the roll-out has reached: those with the revision, and of them the Ready and the available ones.
// Surge pods that are about to be removed do not count, because their removal would hide progress.
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

// rolled reports whether a pod that stays has the update.
func (d rollout) rolled(pod *Pod) bool {
	return (d.inScope(pod.Ordinal) || d.stands[pod.Ordinal]) && !pod.Terminating && !d.outdated(pod)
}

// waitedUntil returns until when the roll-out waited for something that the template did not cause. It returns zero if there
// was no such wait, or if an updated pod is late as well.
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

// waitsUntil returns until when a roll-out waits for a pod: one that is Terminating, is delayed by its hooks, claims or
// images, or must be available before others are updated.
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

// lacksPod reports whether an ordinal has no pod although no other pod delays its creation.
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
