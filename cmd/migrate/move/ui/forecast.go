package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// forecast runs the planner on the current state of source and destination.
func (o *options) forecast(ctx context.Context, m board.Migration) (server.Forecast, error) {
	if completed := records.Completed(m.Migration); completed != "" {
		return server.Forecast{}, fmt.Errorf("it is completed (%s): nothing is left to do", completed)
	}
	destination, err := o.destination(ctx, m)
	if err != nil {
		return server.Forecast{}, err
	}
	asked := m.DeepCopy()
	snapshot, err := look.Both(ctx, o.connection, destination, o.store(m.Namespace, m.Name, m.Record), asked)
	if err != nil {
		return server.Forecast{}, err
	}
	if asked.Status.Baseline != nil {
		if why := planner.Unbelievable(snapshot); why != "" {
			return server.Forecast{}, fmt.Errorf("the status is not believed: %s", why)
		}
		return server.Forecast{Page: preview.NewPlan(asked, preview.Underway, snapshot).Page()}, nil
	}
	found := server.Forecast{Page: preview.NewPlan(asked, preview.Beginning, snapshot).Page()}
	snapshot.Record.Fence = nil // an epoch of an earlier move belongs to no other process
	checks := preflight.NewReport(preflight.Findings(snapshot))
	found.Checks = &checks
	return found, nil
}

// destination returns the connection to the destination of a migration. It does not use a Secret with the manager's
// kubeconfig, because the page shows only what the user may see.
func (o *options) destination(ctx context.Context, m board.Migration) (*clusters.Connection, error) {
	if m.Spec.Mode == api.ModeRecover {
		return nil, fmt.Errorf("it is being recovered; to see each step: %s --dry-run", o.Again("recover", m.Name, m.Namespace))
	}
	if m.Spec.Source.KubeConfigSecretRef != nil {
		return nil, fmt.Errorf("its source is in another cluster than the Migration: start kubectl migrate preflight -f there, with the Migration %s/%s in a file", m.Namespace, m.Name)
	}
	known := types.UID(m.Annotations[records.DestinationAnnotationKey])
	if m.Status.Baseline != nil {
		known = cmp.Or(m.Status.Baseline.DestinationCluster, known)
	}
	here, err := o.connection.ID(ctx)
	if err != nil {
		return nil, command.Unreachable(o.connection.Name(), err)
	}
	elsewhere := m.Spec.Destination.KubeConfigSecretRef != nil
	if known == here || known == "" && !elsewhere {
		return o.connection, nil
	}
	if o.to.Empty() {
		return nil, errors.New("its destination is in another cluster: start this command with --to-context or --to-kubeconfig, which say how you reach it")
	}
	to, err := o.reach()
	if err != nil {
		return nil, err
	}
	return to, command.Verify(ctx, to, known, "its destination", "--to-context or --to-kubeconfig")
}
