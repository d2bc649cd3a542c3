package metrics

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// State is the state of a migration; it has exactly one at a time.
type State string

// The states.
const (
	// Checking means that nothing was written for it yet, and that it was not refused.
	Checking State = "checking"
	// Queued means that it waits in line for its destination.
	Queued State = "queued"
	// Active means that it moves, or waits for a condition that resolves without an action.
	Active State = "active"
	// Paused means that its user has paused it, or that its window is closed.
	Paused State = "paused"
	// StateStalled means that an external change is required first.
	StateStalled State = "stalled"
	// Completed means that nothing is left to do.
	Completed State = "completed"
)

// facts are the values of one migration's gauges, from its status.
type facts struct {
	destination    string
	state          State
	total, moved   int32
	accepted       bool
	budget, left   int32
	longestSeconds int32
	// down is the downtime of the ordinal in flight; nil if it is not down, or if that is unknown.
	down *view.Down
	// reason is the reason why it waits, stalled or not; empty if it does not wait.
	reason string
	// since is when the wait began according to the status; zero if unknown.
	since time.Time
}

// factsOf returns the facts of a migration. destination is the name of its destination cluster.
func factsOf(m *api.Migration, destination string) facts {
	status := m.Status
	f := facts{destination: destination, state: stateOf(m), total: status.Total, moved: status.Moved, down: view.DownOf(m)}
	if pace := status.Pace; pace != nil {
		f.longestSeconds = pace.LongestSeconds
	}
	if base := status.Baseline; base != nil && status.Source != nil && status.Destination != nil {
		f.accepted, f.budget = true, base.Budget
		f.left = base.Budget - max(0, base.Replicas-status.Source.Available-status.Destination.Available)
	}
	f.reason, f.since = waitOf(m, f.state)
	return f
}

func stateOf(m *api.Migration) State {
	conditions := m.Status.Conditions
	progressing := meta.FindStatusCondition(conditions, api.ConditionProgressing)
	reason := ""
	if progressing != nil {
		reason = progressing.Reason
	}
	switch {
	case meta.IsStatusConditionTrue(conditions, api.ConditionCompleted):
		return Completed
	case meta.IsStatusConditionTrue(conditions, api.ConditionStalled):
		return StateStalled
	case reason == api.ReasonQueued:
		return Queued
	case reason == api.ReasonPaused, reason == api.ReasonOutsideWindow:
		return Paused
	case m.Status.Baseline == nil:
		return Checking
	default:
		return Active
	}
}

// waitOf returns the reason why a migration waits, and since when it has been stalled or paused.
func waitOf(m *api.Migration, state State) (reason string, since time.Time) {
	progressing := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing)
	switch {
	case state == Completed || progressing == nil:
		return "", time.Time{}
	case state == StateStalled:
		is := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled)
		return is.Reason, is.LastTransitionTime.Time
	case progressing.Reason == api.ReasonMoving, progressing.Reason == api.ReasonRollingBack:
		return "", time.Time{}
	case progressing.Status == metav1.ConditionFalse:
		return progressing.Reason, progressing.LastTransitionTime.Time
	default:
		return progressing.Reason, time.Time{}
	}
}
