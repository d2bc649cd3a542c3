package evacuation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// The states of an Evacuation.
const (
	stateRunning     = "Running"
	statePaused      = "Paused"
	stateRollingBack = "RollingBack"
	stateStalled     = "Stalled"
	stateCompleted   = "Completed"
)

// StatusOf returns the status of an Evacuation after a decision. Conditions that have not changed keep their times.
func StatusOf(e *api.Evacuation, d Decision) api.EvacuationStatus {
	s := statusOf{ObservedGeneration: e.Generation, Migrations: d.States, Conditions: slices.Clone(e.Status.Conditions)}
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
		return stateCompleted
	case mode == api.EvacuationPause:
		return statePaused
	case mode == api.EvacuationRollback:
		return stateRollingBack
	case s.Moving+s.Waiting == 0 && d.Write == nil:
		return stateStalled
	default:
		return stateRunning
	}
}

// unreadable returns the status of an Evacuation of which a field cannot be read. Nothing is done for it.
func unreadable(e *api.Evacuation, why error) api.EvacuationStatus {
	s := statusOf(*e.Status.DeepCopy())
	s.ObservedGeneration, s.State = e.Generation, stateStalled
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
		stateRunning: api.ReasonMoving, statePaused: api.ReasonPaused, stateRollingBack: api.ReasonRollingBack, stateStalled: api.ReasonMigrationsHeld, stateCompleted: api.ReasonMoved,
	}[s.State]
	ready := metav1.ConditionFalse
	if s.State == stateCompleted {
		ready = metav1.ConditionTrue
	}
	s.set(api.ConditionReady, ready, reason, said, generation)
	kept := map[string]string{stateStalled: api.ConditionStalled, stateRunning: api.ConditionReconciling, statePaused: api.ConditionReconciling, stateRollingBack: api.ConditionReconciling}[s.State]
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

// first names the first Migration that does not continue, and why.
func (s *statusOf) first() string {
	for _, each := range s.Migrations {
		if each.Message != "" {
			return fmt.Sprintf("Migration %s is %s: %s", each.Name, each.State, each.Message)
		}
	}
	return "status.migrations lists their states"
}
