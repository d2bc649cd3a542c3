// Package movetest creates migrations and snapshots for the tests of a move.
package movetest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Application describes the snapshot of a healthy StatefulSet shop/web in cluster east, for a move to cluster west.
type Application struct {
	Replicas  int32
	Templates []string
	Spec      plan.Spec
}

// Snapshot returns the observed state of source and destination.
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

// The migrations of package viewtest.
var (
	Moving     = viewtest.Moving
	Conditions = viewtest.Conditions
	InFlight   = viewtest.InFlight
	Stalled    = viewtest.Stalled
	Completed  = viewtest.Completed
	RolledBack = viewtest.RolledBack
	InMode     = viewtest.InMode
)

// Offline returns a connection to an address that does not answer.
func Offline(t *testing.T, name string) *clusters.Connection {
	t.Helper()
	connection, err := clusters.Connect(name, &rest.Config{Host: "https://" + name + ".invalid:1"})
	if err != nil {
		t.Fatal(err)
	}
	return connection
}
