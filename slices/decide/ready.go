package decide

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
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
	var available, outdated, leaving int32
	for _, pod := range d.pods {
		if !d.ours[pod.Ordinal] {
			leaving++
			continue
		}
		available += one(d.available(pod))
		outdated += one(d.strategy.order != nil && d.inScope(pod.Ordinal) && (d.outdated(pod) || d.toGrow(pod)))
	}
	message := fmt.Sprintf("%d of %d pods are available", available, d.size)
	if outdated > 0 {
		message += fmt.Sprintf(", %d need an update to revision %s", outdated, d.target)
	}
	if leaving > 0 {
		message += fmt.Sprintf(", %d must be deleted", leaving)
	}
	not := func(reason string) Readiness { return Readiness{Reason: reason, Message: message} }
	if reason, why := d.failure(p); reason != "" {
		message += "; " + why
		return not(reason)
	}
	switch {
	case outdated == 0 && leaving == 0 && available == d.size:
		return Readiness{Ready: true, Reason: reasonAvailable, Message: message}
	case d.Spec.Deleting:
		return Readiness{Waiting: true, Reason: reasonDeleted, Message: message}
	case outdated > 0 && !d.Spec.Paused:
		return not(reasonOutdated)
	case leaving > 0:
		return not(reasonLeaving)
	case available < d.size:
		return not(reasonUnavailable)
	default:
		return Readiness{Waiting: true, Reason: ReasonRolloutPaused, Message: message}
	}
}

// failure returns why the roll-out does not continue and the message about it, or an empty reason.
func (d rollout) failure(p Progress) (reason, message string) {
	switch {
	case d.Revisions.Blocked != "" && !d.Spec.Deleting && (p.Blocked || !p.Failed):
		return api.ReasonRevisionInput, "no pod is updated: " + d.Revisions.Blocked
	case !p.Failed:
		return "", ""
	case d.failedRevision() != "":
		return api.ReasonRevisionFailed, p.Message
	default:
		return ReasonRolloutDeadline, p.Message
	}
}
