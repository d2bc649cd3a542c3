// Package look observes both sides of a migration without changing them.
package look

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// unrecorded is the UID of a migration that is not stored yet. An empty UID would match every object that no migration
// has touched.
const unrecorded = "unrecorded"

// Both observes both sides and writes nothing. It returns an error if a cluster cannot be read, unless the preflight
// already reports the cause.
func Both(ctx context.Context, source, destination *clusters.Connection, store records.Store, m *api.Migration) (plan.Snapshot, error) {
	if m.UID == "" {
		m = m.DeepCopy()
		m.UID = unrecorded
	}
	e := engine.NewEngine(m, engine.Options{Source: source, Destination: destination, Records: store, Holder: "dry-run", Policy: volumes.Unrestricted()})
	defer e.Close()
	snapshot, err := e.Look(ctx, m)
	if err != nil {
		return snapshot, Unread(err)
	}
	if len(snapshot.Preflight) > 0 && m.Status.Baseline == nil {
		return snapshot, nil // without permissions the sides cannot be read
	}
	if err := Seen(snapshot.Source, snapshot.Destination); err != nil {
		return snapshot, err
	}
	kept.Name(ctx, destination.Live(), &snapshot)
	return snapshot, nil
}

// Seen returns an error if one of the sides could not be read.
func Seen(sides ...plan.Side) error {
	for _, side := range sides {
		if side.Reach != plan.Seen {
			return fmt.Errorf("cluster %s cannot be read: %s; check that it runs and that the kubeconfig is right", side.Cluster, side.ReachError)
		}
	}
	return nil
}

// Unread adds to the error of a read what to check.
func Unread(err error) error {
	return fmt.Errorf("%w; check that the cluster runs and that the kubeconfig is right", err)
}

// InPlace returns what a migration in place would do, and writes nothing.
func InPlace(ctx context.Context, at *clusters.Connection, m *api.Migration) (outlook.Plan, error) {
	if m.UID == "" {
		m = m.DeepCopy()
		m.UID = unrecorded
	}
	e := looking(at, m)
	defer e.Close()
	p, err := e.Outlook(ctx, m)
	if err != nil {
		return p, Unread(err)
	}
	return p, nil
}

// Chosen returns the volumes of a migration in place with a method each. manifest has the wanted claim templates, if there is
// one.
func Chosen(ctx context.Context, at *clusters.Connection, m *api.Migration, manifest []corev1.PersistentVolumeClaim) ([]api.VolumeSpec, error) {
	e := looking(at, m)
	defer e.Close()
	return e.ChooseInPlace(ctx, m, manifest)
}

// looking returns an engine that only reads one cluster.
func looking(at *clusters.Connection, m *api.Migration) *engine.Engine {
	return engine.NewEngine(m, engine.Options{Source: at, Destination: at, Holder: "dry-run", Policy: volumes.Unrestricted()})
}
