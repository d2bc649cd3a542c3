package decide

import (
	"fmt"
	"time"
)

// Reasons that the conditions Ready and Progressing share.
const (
	// ReasonRolloutDeadline means that the roll-out made no progress within its deadline.
	ReasonRolloutDeadline = "ProgressDeadlineExceeded"
	// ReasonRolloutPaused means that the set is paused.
	ReasonRolloutPaused = "StatefulSetPaused"
)

// Reasons that only the condition Ready has.
const (
	reasonAvailable   = "PodsAvailable"
	reasonOutdated    = "PodsOutdated"
	reasonLeaving     = "PodsLeaving"
	reasonUnavailable = "PodsUnavailable"
	reasonDeleted     = "StatefulSetDeleted"
)

// Readiness reports whether a slice is in its desired state: every ordinal has an available pod at the desired revision,
// including its claims, and no other pod remains.
type Readiness struct {
	Ready bool
	// Waiting is true when the slice is not Ready and the controller does not act, because the set is paused or being
	// deleted.
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
