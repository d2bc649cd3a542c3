package decide

import (
	"fmt"
	"time"
)

// Reasons of the condition Ready that are those of Progressing as well.
const (
	// ReasonRolloutDeadline: the roll-out has made no progress until its deadline.
	ReasonRolloutDeadline = "ProgressDeadlineExceeded"
	// ReasonRolloutPaused: the set is paused.
	ReasonRolloutPaused = "StatefulSetPaused"
)

// Reasons of the condition Ready alone.
const (
	reasonAvailable   = "PodsAvailable"
	reasonOutdated    = "PodsOutdated"
	reasonLeaving     = "PodsLeaving"
	reasonUnavailable = "PodsUnavailable"
	reasonDeleted     = "StatefulSetDeleted"
)

// Readiness is whether a slice is as it was asked for: every ordinal has a pod that is available
// and has the revision that it shall have, claims included, and no other pod is left.
type Readiness struct {
	Ready bool
	// Waiting is true when it is not Ready, and nothing is done about it: others must act.
	Waiting         bool
	Reason, Message string
}

func (d rollout) readiness(p Progress) Readiness {
	available, outdated, leaving := 0, 0, len(d.pods)
	for _, ordinal := range d.owned {
		pod := d.at[ordinal]
		if pod == nil {
			continue
		}
		leaving--
		available += int(one(d.available(pod)))
		outdated += int(one(d.strategy.order != nil && d.inScope(ordinal) && (d.outdated(pod) || d.toGrow(pod))))
	}
	message := fmt.Sprintf("%d of %d pods are available", available, len(d.owned))
	if outdated > 0 {
		message += fmt.Sprintf(", %d are to be updated to revision %s", outdated, d.Revisions.Update)
	}
	if leaving > 0 {
		message += fmt.Sprintf(", %d are to go", leaving)
	}
	not := func(reason string) Readiness { return Readiness{Reason: reason, Message: message} }
	switch {
	case p.Failed:
		message = fmt.Sprintf("the roll-out of revision %s has made no progress since %s: %s", d.Revisions.Update, p.Since.UTC().Format(time.RFC3339), message)
		return not(ReasonRolloutDeadline)
	case outdated == 0 && leaving == 0 && available == len(d.owned):
		return Readiness{Ready: true, Reason: reasonAvailable, Message: message}
	case d.Spec.Deleting:
		return Readiness{Waiting: true, Reason: reasonDeleted, Message: message}
	case outdated > 0 && !d.Spec.Paused:
		return not(reasonOutdated)
	case leaving > 0:
		return not(reasonLeaving)
	case available < len(d.owned):
		return not(reasonUnavailable)
	default:
		return Readiness{Waiting: true, Reason: ReasonRolloutPaused, Message: message}
	}
}
