// Package viewtest provides migrations for tests of user interfaces: one in each state.
package viewtest

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Noon is the time of every test.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Moving returns a migration of shop/web with a number of its ordinals moved.
func Moving(moved, total int32) *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name, m.UID = "shop", "web", "migration"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRun
	m.Spec.Destination = api.DestinationReference{Namespace: "shop", Name: "web"}
	m.Status = api.MigrationStatus{
		Baseline:    &api.Baseline{Replicas: total, Budget: 1},
		Fence:       &api.Fence{Epoch: 1, Holder: "machine-abc", Direction: api.Forward},
		Source:      &api.SliceStatus{Slice: fmt.Sprintf("east/shop/web [0,%d)", total-moved), Replicas: total - moved, Available: total - moved, MaxUnavailable: new(int32)},
		Destination: &api.SliceStatus{Slice: fmt.Sprintf("west/shop/web [%d,%d)", total-moved, total), Start: total - moved, Replicas: moved, Available: moved},
		Moved:       moved, Total: total,
	}
	return m
}

// Conditions returns conditions that have changed at a time before Noon.
func Conditions(ago time.Duration, all ...metav1.Condition) []metav1.Condition {
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(Noon.Add(-ago))
	}
	return all
}

// InFlight returns a migration with an ordinal in flight.
func InFlight() *api.Migration {
	m := Moving(2, 4)
	m.Status.Moved = 1
	m.Status.Handoff = &api.Handoff{
		Ordinal: 2, Step: api.StepAwaitReadiness, Attempts: 2,
		StepTime: metav1.NewMicroTime(Noon.Add(-12 * time.Second)), StartTime: metav1.NewMicroTime(Noon.Add(-95 * time.Second)),
	}
	m.Status.Destination.Available = 1
	m.Status.Conditions = Conditions(2*time.Minute,
		metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady, Message: "source, destination and rights were checked"},
		metav1.Condition{Type: api.ConditionStalled, Status: metav1.ConditionFalse, Reason: api.ReasonReady},
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-2 in cluster west is Ready"},
	)
	return m
}

// Stalled returns a migration whose ordinal has been in flight for too long.
func Stalled() *api.Migration {
	m := InFlight()
	m.Status.Conditions[1] = metav1.Condition{
		Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, LastTransitionTime: metav1.NewTime(Noon),
		Message: "ordinal 2 has been at AwaitReadiness for longer than 10s. What to do: kubectl describe pod -n shop web-2",
	}
	m.Status.Conditions[2].Status = metav1.ConditionFalse
	return m
}

// Completed returns a migration that has moved every ordinal.
func Completed() *api.Migration {
	m := Moving(4, 4)
	m.Status.Conditions = Conditions(time.Hour,
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonMoved},
		metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, Message: "every ordinal that was asked for runs at the destination"},
	)
	return m
}

// RolledBack returns a migration that has moved every ordinal back.
func RolledBack() *api.Migration {
	m := Moving(0, 4)
	m.Spec.Mode = api.ModeRollback
	m.Status.Conditions = Conditions(0, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack})
	return m
}

// InMode returns a migration with an ordinal in flight, in a mode.
func InMode(mode api.Mode) *api.Migration {
	m := InFlight()
	m.Spec.Mode = mode
	return m
}
