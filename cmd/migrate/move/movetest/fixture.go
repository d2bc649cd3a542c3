// Package movetest makes migrations and snapshots for the tests of a move.
package movetest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Application describes the snapshot of a healthy StatefulSet shop/web in cluster
// east, which is to move to cluster west.
type Application struct {
	Replicas  int32
	Templates []string
	Spec      plan.Spec
}

// Snapshot is what both sides show of it.
func (a Application) Snapshot() plan.Snapshot {
	spec := a.Spec
	if spec.Mode == "" {
		spec.Mode = api.ModeRun
	}
	spec.Order, spec.Deadline = api.HighestFirst, 10*time.Minute
	s := plan.Snapshot{
		Now: commandtest.Noon, UID: "migration", Spec: spec,
		Source: plan.Side{
			Cluster: "east", Flags: "--context east", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
			Set: plan.Set{
				Presence: plan.Seen, Name: "web", UID: "source", ResourceVersion: "1", Replicas: a.Replicas,
				Observed: true, RolledOut: true, Templates: a.Templates,
			},
			Budgets: []plan.Budget{{Name: "web", UID: "budget", ResourceVersion: "1", Observed: true, Form: pdb.Unavailable(1)}},
		},
		Destination: plan.Side{
			Cluster: "west", Flags: "--context west", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
			Set: plan.Set{Presence: plan.Absent, Name: "web"},
		},
	}
	for ordinal := range a.Replicas {
		s.Source.Pods = append(s.Source.Pods, plan.Pod{
			Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: commandtest.Noon.Add(-time.Hour), Owned: true, Node: "a",
		})
		for _, template := range a.Templates {
			s.Volumes = append(s.Volumes, boundVolume(ordinal, template))
		}
	}
	return s
}

func boundVolume(ordinal int32, template string) plan.OrdinalVolume {
	claim := fmt.Sprintf("%s-web-%d", template, ordinal)
	ref := volumes.Ref{Namespace: "shop", Name: claim}
	bound := ref
	bound.UID = types.UID("claim-" + claim)
	return plan.OrdinalVolume{
		Ordinal: ordinal, Template: template,
		Source: volumes.Holding{
			Ref:   ref,
			Claim: volumes.Claim{Found: true, UID: bound.UID, ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pvc-" + claim},
			Volume: volumes.Volume{
				Found: true, Name: "pvc-" + claim, UID: types.UID("pvc-" + claim), ResourceVersion: "1",
				Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: bound, Handle: "disk-" + claim,
			},
		},
		Destination: volumes.Holding{Ref: ref},
	}
}

// Moving is a migration of shop/web with so many of its ordinals moved.
func Moving(moved, total int32) *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name, m.UID = "shop", "web", "migration"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRun
	m.Spec.Destination = api.DestinationReference{Namespace: "shop", Name: "web"}
	m.Status = api.MigrationStatus{
		Baseline:    &api.Baseline{Replicas: total, Budget: 1},
		Fence:       &api.Fence{Epoch: 1, Holder: "machine-abc", Direction: api.Forward},
		Source:      &api.SliceStatus{Slice: fmt.Sprintf("east/shop/web [0,%d)", total-moved), Replicas: total - moved, Available: total - moved, MaxUnavailable: ptr.To[int32](0)},
		Destination: &api.SliceStatus{Slice: fmt.Sprintf("west/shop/web [%d,%d)", total-moved, total), Start: total - moved, Replicas: moved, Available: moved},
		Moved:       moved, Total: total,
	}
	return m
}

// Offline is a connection that nobody answers at.
func Offline(t *testing.T, name string) *clusters.Connection {
	t.Helper()
	connection, err := clusters.Connect(name, &rest.Config{Host: "https://" + name + ".invalid:1"})
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// Conditions are conditions that have changed so long ago.
func Conditions(ago time.Duration, all ...metav1.Condition) []metav1.Condition {
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(commandtest.Noon.Add(-ago))
	}
	return all
}

// InFlight is a migration with an ordinal on its way.
func InFlight() *api.Migration {
	m := Moving(2, 4)
	m.Status.Handoff = &api.Handoff{
		Ordinal: 2, Step: api.StepAwaitReadiness, Attempts: 2,
		StepTime: metav1.NewMicroTime(commandtest.Noon.Add(-12 * time.Second)), StartTime: metav1.NewMicroTime(commandtest.Noon.Add(-95 * time.Second)),
	}
	m.Status.Conditions = Conditions(2*time.Minute,
		metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady, Message: "source, destination and rights were checked"},
		metav1.Condition{Type: api.ConditionStalled, Status: metav1.ConditionFalse, Reason: api.ReasonReady},
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-2 in cluster west is Ready"},
	)
	return m
}

// Stalled is one whose ordinal has been on its way for too long.
func Stalled() *api.Migration {
	m := InFlight()
	m.Status.Conditions[1] = metav1.Condition{
		Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, LastTransitionTime: metav1.NewTime(commandtest.Noon),
		Message: "ordinal 2 has been at AwaitReadiness for longer than 10s. To mend it: kubectl describe pod -n shop web-2",
	}
	m.Status.Conditions[2].Status = metav1.ConditionFalse
	return m
}

// Completed is one that has moved every ordinal.
func Completed() *api.Migration {
	m := Moving(4, 4)
	m.Status.Conditions = Conditions(time.Hour,
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonMoved},
		metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, Message: "every ordinal that was asked for runs at the destination"},
	)
	return m
}

// RolledBack is one that has taken every ordinal back.
func RolledBack() *api.Migration {
	m := Moving(0, 4)
	m.Spec.Mode = api.ModeRollback
	m.Status.Conditions = Conditions(0, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack})
	return m
}

// InMode is one with an ordinal on its way, in this mode.
func InMode(mode api.Mode) *api.Migration {
	m := InFlight()
	m.Spec.Mode = mode
	return m
}
