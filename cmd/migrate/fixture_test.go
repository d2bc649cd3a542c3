package main

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// application describes the snapshot of a healthy StatefulSet shop/web in cluster
// east, which is to move to cluster west.
type application struct {
	replicas  int32
	templates []string
	spec      migration.Spec
}

func (a application) snapshot() migration.Snapshot {
	spec := a.spec
	if spec.Mode == "" {
		spec.Mode = api.ModeRun
	}
	spec.Order, spec.Deadline = api.HighestFirst, 10*time.Minute
	s := migration.Snapshot{
		Now: noon, UID: "migration", Spec: spec,
		Source: migration.Side{
			Cluster: "east", Namespace: "shop", Reach: migration.Seen, NamespaceFound: true,
			Set: migration.Set{
				Presence: migration.Seen, Name: "web", UID: "source", ResourceVersion: "1", Replicas: a.replicas,
				Observed: true, RolledOut: true, Templates: a.templates,
			},
			Budgets: []migration.Budget{{Name: "web", UID: "budget", ResourceVersion: "1", Observed: true, Form: pdb.Unavailable(1)}},
		},
		Destination: migration.Side{
			Cluster: "west", Namespace: "shop", Reach: migration.Seen, NamespaceFound: true,
			Set: migration.Set{Presence: migration.Absent, Name: "web"},
		},
	}
	for ordinal := range a.replicas {
		s.Source.Pods = append(s.Source.Pods, migration.Pod{
			Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: noon.Add(-time.Hour), Owned: true,
		})
		for _, template := range a.templates {
			s.Volumes = append(s.Volumes, boundVolume(ordinal, template))
		}
	}
	return s
}

func boundVolume(ordinal int32, template string) migration.OrdinalVolume {
	claim := fmt.Sprintf("%s-web-%d", template, ordinal)
	ref := volumes.Ref{Namespace: "shop", Name: claim}
	bound := ref
	bound.UID = types.UID("claim-" + claim)
	return migration.OrdinalVolume{
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

// moving is a migration of shop/web with so many of its ordinals moved.
func moving(moved, total int32) *api.Migration {
	m := &api.Migration{}
	m.Namespace, m.Name, m.UID = "shop", "web", "migration"
	m.Spec.Source.Name, m.Spec.Mode = "web", api.ModeRun
	m.Spec.Destination = api.DestinationReference{Namespace: "shop", Name: "web"}
	m.Status = api.MigrationStatus{
		Baseline:    &api.Baseline{Replicas: total, Budget: 1},
		Claim:       &api.Claim{Epoch: 1, Holder: "machine-abc", Direction: api.Forward},
		Source:      &api.SliceStatus{Slice: fmt.Sprintf("east/shop/web [0,%d)", total-moved), Replicas: total - moved, Available: total - moved, MaxUnavailable: ptr.To[int32](0)},
		Destination: &api.SliceStatus{Slice: fmt.Sprintf("west/shop/web [%d,%d)", total-moved, total), Start: total - moved, Replicas: moved, Available: moved},
		Moved:       moved, Total: total,
	}
	return m
}

// offline is a connection that nobody answers at.
func offline(t *testing.T, name string) *clusters.Connection {
	t.Helper()
	connection, err := clusters.Connect(name, &rest.Config{Host: "https://" + name + ".invalid:1"})
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func conditions(ago time.Duration, all ...metav1.Condition) []metav1.Condition {
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(noon.Add(-ago))
	}
	return all
}

// onItsWay is a migration with an ordinal on its way.
func onItsWay() *api.Migration {
	m := moving(2, 4)
	m.Status.Handoff = &api.Handoff{
		Ordinal: 2, Step: api.StepAwaitReadiness, Attempts: 2,
		StepTime: metav1.NewMicroTime(noon.Add(-12 * time.Second)), StartTime: metav1.NewMicroTime(noon.Add(-95 * time.Second)),
	}
	m.Status.Conditions = conditions(2*time.Minute,
		metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady, Message: "source, destination and rights were checked"},
		metav1.Condition{Type: api.ConditionStalled, Status: metav1.ConditionFalse, Reason: api.ReasonReady},
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-2 in cluster west is Ready"},
	)
	return m
}

func stalledMigration() *api.Migration {
	m := onItsWay()
	m.Status.Conditions[1] = metav1.Condition{
		Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, LastTransitionTime: metav1.NewTime(noon),
		Message: "ordinal 2 has been at AwaitReadiness for longer than 10s. To mend it: kubectl describe pod -n shop web-2",
	}
	m.Status.Conditions[2].Status = metav1.ConditionFalse
	return m
}

func completedMigration() *api.Migration {
	m := moving(4, 4)
	m.Status.Conditions = conditions(time.Hour,
		metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonMoved},
		metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved, Message: "every ordinal that was asked for runs at the destination"},
	)
	return m
}

func rolledBack() *api.Migration {
	m := moving(0, 4)
	m.Spec.Mode = api.ModeRollback
	m.Status.Conditions = conditions(0, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack})
	return m
}

func inMode(mode api.Mode) *api.Migration {
	m := onItsWay()
	m.Spec.Mode = mode
	return m
}
