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
// current revision, because it may be scaled up again (kubernetes/kubernetes#121534). A failed update revision never does.
func (d rollout) completed(s Status) bool {
	replicas := d.Spec.Replicas
	if d.Revisions.Failed || replicas == 0 && d.partition() > d.Spec.Start {
		return false
	}
	inPlace := func(pod *Pod) bool { return pod.InPlace != nil }
	return s.Updated == replicas && s.Ready == replicas && s.Replicas == replicas && !slices.ContainsFunc(d.pods, inPlace)
}

// complete reports whether nothing is left to roll out. Without a roll-out the availability of pods is not recorded, so all
// pods must exist.
func (d rollout) complete(s Status, p Progress) bool {
	old := func(pod *Pod) bool { return !pod.Terminating && pod.Revision != d.Revisions.Update }
	leaves := func(pod *Pod) bool { return d.ours[pod.Ordinal] && pod.Terminating }
	switch {
	case d.Revisions.Blocked != "", s.CurrentRevision != d.Revisions.Update || slices.ContainsFunc(d.pods, old):
		return false
	case p.Revision != "":
		return p.Complete
	default:
		return d.missing == 0 && !slices.ContainsFunc(d.pods, leaves) && !slices.ContainsFunc(d.pods, d.toGrow)
	}
}

// rolledOut reports whether every pod in scope has the update, including its claims, and is available.
func (d rollout) rolledOut() bool {
	return d.missingInScope() == 0 && !slices.ContainsFunc(d.pods, func(pod *Pod) bool {
		return d.inScope(pod.Ordinal) && (!d.available(pod) || d.outdated(pod) || d.toGrow(pod))
	})
}

// scope returns the number of ordinals that the update applies to.
func (d *facts) scope() int32 { return d.size - d.Spec.Below(d.partition()) }

// missingInScope returns the number of ordinals that the update applies to and that have no pod.
func (d *facts) missingInScope() int32 {
	missing := d.scope()
	for _, pod := range d.pods {
		missing -= one(d.inScope(pod.Ordinal))
	}
	return missing
}
