package decide

import (
	"slices"
)

// status counts the pods as apps/v1 does: a Terminating pod still counts as Ready, but has no revision.
func (d rollout) status() Status {
	s := Status{CurrentRevision: d.Revisions.Current}
	for _, pod := range d.pods {
		s.Replicas++
		isReady := ready(pod)
		isAvailable := isReady && d.minReadyLeft(pod) <= 0
		s.Ready += one(isReady)
		s.Available += one(isAvailable)
		if pod.Terminating {
			continue
		}
		updated := pod.Revision == d.Revisions.Update
		s.Current += one(pod.Revision == d.Revisions.Current)
		s.Updated += one(updated)
		s.UpdatedReady += one(updated && isReady)
		s.UpdatedAvailable += one(updated && isAvailable)
	}
	if d.completed(s) {
		s.CurrentRevision, s.Current = d.Revisions.Update, s.Updated
	}
	return s
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// completed reports whether the update revision becomes the current one. A slice with 0 replicas and a partition keeps its
// current revision, because it may be scaled up again (kubernetes/kubernetes#121534).
func (d rollout) completed(s Status) bool {
	replicas := d.Spec.Replicas
	if replicas == 0 && d.partition() > d.Spec.Start {
		return false
	}
	inPlace := func(pod *Pod) bool { return pod.InPlace != nil }
	return s.Updated == replicas && s.Ready == replicas && s.Replicas == replicas && !slices.ContainsFunc(d.pods, inPlace)
}

// progress returns the progress of the roll-out. Progress means more updated pods, or more Ready updated pods, than ever
// before. A pod that crashes and restarts is no progress, unless it stays Ready for minReadySeconds.
func (d rollout) progress() Progress {
	if d.Spec.Deleting {
		return d.Progress
	}
	if d.Spec.Paused || d.strategy.order == nil || !slices.ContainsFunc(d.owned, d.inScope) {
		return Progress{}
	}
	p := d.Progress
	updated, isReady, available := d.got()
	if p.Revision != d.Revisions.Update {
		p = Progress{Revision: d.Revisions.Update, Since: d.Now, Updated: updated, Ready: isReady, Available: available}
	}
	if p.Complete && slices.ContainsFunc(d.pods, d.unfinished) {
		p.Complete, p.Since = false, d.Now // more pods have to be updated
	}
	lasts := d.Spec.MinReady > 0 && available > p.Available
	// A roll-out that waits for a migration must not fail for it.
	if updated > p.Updated || isReady > p.Ready || lasts || d.Spec.MostUnavailable() == 0 && d.Spec.Share != nil {
		p.Since = d.Now
	} else if until := d.waitedUntil(); until.After(p.Since) {
		p.Since = until
	}
	// Fewer updated pods mean a scale-down, or pods that are recreated.
	p.Updated, p.Ready, p.Available = updated, min(max(p.Ready, isReady), updated), available
	p.Complete, p.Failed = p.Complete || d.rolledOut(), false
	if p.Complete || d.Spec.Deadline == 0 {
		return p
	}
	left := d.deadline() - d.Now.Sub(p.Since)
	if p.Failed = left <= 0; !p.Failed {
		p.Refused = ""
	}
	d.lookAgain(left)
	return p
}

// complete reports whether nothing is left to roll out. Without a roll-out the availability of pods is not recorded, so all
// pods must exist.
func (d rollout) complete(s Status, p Progress) bool {
	old := func(pod *Pod) bool { return !pod.Terminating && pod.Revision != d.Revisions.Update }
	missing := func(ordinal int32) bool { return d.at[ordinal] == nil || d.at[ordinal].Terminating }
	switch {
	case s.CurrentRevision != d.Revisions.Update || slices.ContainsFunc(d.pods, old):
		return false
	case p.Revision != "":
		return p.Complete
	default:
		return !slices.ContainsFunc(d.owned, missing) && !slices.ContainsFunc(d.pods, d.toGrow)
	}
}

// rolledOut reports whether every pod in scope has the update, including its claims, and is available.
func (d rollout) rolledOut() bool {
	return !slices.ContainsFunc(d.owned, func(ordinal int32) bool {
		pod := d.at[ordinal]
		return d.inScope(ordinal) && (!d.available(pod) || d.outdated(pod) || d.toGrow(pod))
	})
}
