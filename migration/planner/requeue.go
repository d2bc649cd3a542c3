package planner

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Intervals after which a process reconciles although no watched object has changed: the events that it waits for
// cannot be watched.
const (
	// RequeueRefused is for a preflight or a write that was refused; see Patient.
	RequeueRefused = 5 * time.Second
	// RequeueUnreachable is for a cluster that does not answer.
	RequeueUnreachable = 2 * time.Second
	// RequeueUnobserved is for a write that the cache does not show yet, or an object that was changed since it
	// was judged.
	RequeueUnobserved = 20 * time.Millisecond
	// RequeueAtLatest is for everything else: a lost event must not stop a migration.
	RequeueAtLatest = 30 * time.Second
	// RequeueIdle is for a Migration that has not begun and is paused; see Patient.
	RequeueIdle = 5 * time.Minute

	// mostRefusals is the number of consecutive refusals that exceeds ordinary conflicts. The wait doubles from
	// RequeueUnobserved, so it is reached after about 2.5 seconds.
	mostRefusals = 8
	// reportAfter is the minimal duration of a wait that is written to the status.
	reportAfter = time.Second
	// awaitAtMost bounds how long a write is awaited in the cache.
	awaitAtMost = 2 * time.Second
)

// Patient doubles the wait of a Migration that stays refused or stalled, from pass to pass up to RequeueAtLatest: the
// Migrations of others share the API servers. Not so while ordinals may be down: with one in flight, or on the way back
// from a destination that may be lost. A change of a watched object starts a pass at once.
//
// A paused Migration that has not begun has no event to lose, and each of its passes is a whole preflight. An Evacuation
// has hundreds of them.
func Patient(m *api.Migration, after time.Duration, now time.Time) time.Duration {
	if after == RequeueAtLatest && m.Status.Baseline == nil && m.Spec.Mode == api.ModePause {
		return RequeueIdle
	}
	stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled)
	back := m.Spec.Mode == api.ModeRollback || m.Spec.Mode == api.ModeRecover
	if after != RequeueRefused || back || m.Status.Handoff != nil || stalled == nil || stalled.Status != metav1.ConditionTrue {
		return after
	}
	return min(max(after, now.Sub(stalled.LastTransitionTime.Time)), RequeueAtLatest)
}

// requeueAfter returns when to reconcile after a decision although no watched object has changed.
func requeueAfter(decision plan.Decision) time.Duration {
	hold := decision.Hold
	switch {
	case decision.Wait > 0:
		return min(RequeueAtLatest, decision.Wait)
	case hold == nil || !hold.Stalled:
		return RequeueAtLatest
	case hold.Reason == api.ReasonClusterUnreachable:
		return RequeueUnreachable
	default:
		return RequeueRefused
	}
}
