package evacuation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// StatusOf returns the status of an Evacuation after a decision. Conditions that have not changed keep their times.
func StatusOf(e *api.Evacuation, d Decision) api.EvacuationStatus {
	s := statusOf{ObservedGeneration: e.Generation, StartTime: e.Status.StartTime, Migrations: d.States, Conditions: slices.Clone(e.Status.Conditions)}
	if s.StartTime == nil && !d.Since.IsZero() {
		s.StartTime = new(metav1.NewTime(d.Since))
	}
	s.Total = int32(len(d.States)) //nolint:gosec // bounded by the resource definition
	for _, each := range d.States {
		switch each.State {
		case api.EvacuatedMoved:
			s.Moved++
		case api.EvacuatedMoving, api.EvacuatedRollingBack:
			s.Moving++
		case api.EvacuatedWaiting:
			s.Waiting++
		case api.EvacuatedStalled, api.EvacuatedHeld, api.EvacuatedMissing:
			s.Stalled++
		default:
		}
	}
	s.Progress = fmt.Sprintf("%d/%d", s.Moved, s.Total)
	s.State = s.stateOf(e.Spec.Mode, d)
	s.conditions(e.Generation)
	return api.EvacuationStatus(s)
}

// statusOf is a status that is being derived.
type statusOf api.EvacuationStatus

// stateOf returns the state in one word.
func (s *statusOf) stateOf(mode api.EvacuationMode, d Decision) string {
	switch {
	case s.Total > 0 && s.Moved == s.Total: // of an empty list nothing is known to have moved
		return api.EvacuationCompleted
	case mode == api.EvacuationPause:
		return api.EvacuationPaused
	case mode == api.EvacuationRollback:
		return s.stateBack(d)
	case s.Moving == 0 && d.Write == nil:
		return api.EvacuationStalled
	default:
		return api.EvacuationRunning
	}
}

// stateBack returns the state of an Evacuation in mode Rollback. Its end is that none is under way; those that have not
// begun stay paused, and those that have moved stay at the destination.
func (s *statusOf) stateBack(d Decision) string {
	stalls := func(each api.EvacuatedStatus) bool { return each.State == api.EvacuatedStalled }
	switch {
	case s.Moving > 0 || d.Write != nil:
		return api.EvacuationRollingBack
	case slices.ContainsFunc(s.Migrations, stalls):
		return api.EvacuationStalled
	default:
		return api.EvacuationRolledBack
	}
}

// unreadable returns the status of an Evacuation of which a field cannot be read. Nothing is done for it.
func unreadable(e *api.Evacuation, why error) api.EvacuationStatus {
	s := statusOf(*e.Status.DeepCopy())
	s.ObservedGeneration, s.State = e.Generation, api.EvacuationStalled
	meta.RemoveStatusCondition(&s.Conditions, api.ConditionReconciling)
	for kind, status := range map[string]metav1.ConditionStatus{api.ConditionReady: metav1.ConditionFalse, api.ConditionStalled: metav1.ConditionTrue} {
		s.set(kind, status, api.ReasonFieldUnreadable, why.Error(), e.Generation)
	}
	return api.EvacuationStatus(s)
}

// set sets a condition.
func (s *statusOf) set(kind string, status metav1.ConditionStatus, reason, message string, generation int64) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation})
}

// conditions sets the conditions for kstatus: it is Ready when all have moved, and Stalled when none can continue.
func (s *statusOf) conditions(generation int64) {
	said := fmt.Sprintf("%d of %d have moved, %d are under way, %d wait", s.Moved, s.Total, s.Moving, s.Waiting)
	reason := map[string]string{
		api.EvacuationRunning: api.ReasonMoving, api.EvacuationPaused: api.ReasonPaused, api.EvacuationRollingBack: api.ReasonRollingBack, api.EvacuationRolledBack: api.ReasonRolledBack, api.EvacuationStalled: api.ReasonMigrationsHeld, api.EvacuationCompleted: api.ReasonMoved,
	}[s.State]
	ready := metav1.ConditionFalse
	if s.State == api.EvacuationCompleted {
		ready = metav1.ConditionTrue
	}
	s.set(api.ConditionReady, ready, reason, said, generation)
	kept := map[string]string{api.EvacuationStalled: api.ConditionStalled, api.EvacuationRunning: api.ConditionReconciling, api.EvacuationPaused: api.ConditionReconciling, api.EvacuationRollingBack: api.ConditionReconciling}[s.State]
	for _, kind := range []string{api.ConditionReconciling, api.ConditionStalled} {
		if kind != kept {
			meta.RemoveStatusCondition(&s.Conditions, kind)
		}
	}
	switch kept {
	case api.ConditionStalled:
		s.set(kept, metav1.ConditionTrue, reason, said+"; "+s.first(), generation)
	case api.ConditionReconciling:
		s.set(kept, metav1.ConditionTrue, reason, said, generation)
	}
}

// first names the first Migration that does not continue, and why: a stalled one before those that wait for it.
func (s *statusOf) first() string {
	for _, state := range []api.EvacuatedState{api.EvacuatedStalled, api.EvacuatedMissing, api.EvacuatedBack, api.EvacuatedPaused, api.EvacuatedHeld} {
		for _, each := range s.Migrations {
			if each.State == state {
				return fmt.Sprintf("Migration %s is %s: %s", each.Name, each.State, each.Message)
			}
		}
	}
	return "status.migrations lists their states"
}
