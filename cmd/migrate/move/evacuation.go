package move

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/evacuate"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// evacuationIn returns the name of an Evacuation, if the argument has the form evacuation/NAME; empty if it does not.
func evacuationIn(args []string) (name string, err error) {
	if len(args) != 1 {
		return "", nil
	}
	name, is := strings.CutPrefix(args[0], "evacuation/")
	if problems := validation.IsDNS1123Subdomain(name); is && len(problems) > 0 {
		return "", command.Usagef("no Evacuation can be called %q: %s", name, problems[0])
	}
	return map[bool]string{true: name}[is], nil
}

// evacuationModes are the modes of an Evacuation for those of a migration.
var evacuationModes = map[api.Mode]api.EvacuationMode{
	api.ModeRun: api.EvacuationRun, api.ModePause: api.EvacuationPause, api.ModeRollback: api.EvacuationRollback,
}

// steerAll sets the mode of an Evacuation, and names the ways back of the Migrations that a rollback does not turn.
func (o *modeOptions) steerAll(ctx context.Context) error {
	connection, namespace, err := o.ConnectTo()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: o.evacuation}
	e, err := evacuate.Read(ctx, connection, key)
	if err != nil {
		return err
	}
	if e.Status.State == api.EvacuationCompleted && e.Status.ObservedGeneration == e.Generation {
		return o.afterAllMoved(ctx, connection, e)
	}
	if mode := evacuationModes[o.mode]; cmp.Or(e.Spec.Mode, api.EvacuationRun) == mode {
		state := o.state()
		if e.Status.State == api.EvacuationRolledBack {
			state = "rolled back"
		}
		fmt.Fprintf(o.Out, "evacuation %s is %s already\n", key, state)
	} else {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": e.UID}, "spec": map[string]any{"mode": mode}})
		if err == nil {
			err = connection.Live().Patch(ctx, e, client.RawPatch(types.MergePatchType, patch))
		}
		if err != nil {
			return fmt.Errorf("cluster %s: writing Evacuation %s: %w", connection.Name(), key, err)
		}
		fmt.Fprintf(o.Out, "evacuation %s %s\n", key, o.done)
	}
	unnoticed := o.expectManager(ctx, connection, key)
	if o.mode != api.ModeRollback {
		return unnoticed
	}
	return cmp.Or(o.offerWaysBack(ctx, connection, e), unnoticed)
}

// expectManager waits until the manager acts upon the mode of an Evacuation.
func (o *modeOptions) expectManager(ctx context.Context, connection *clusters.Connection, key client.ObjectKey) error {
	var failed error
	err := command.Poll(ctx, o.Clock, lookEvery, managerNoticeFor, func() bool {
		var e *api.Evacuation
		e, failed = evacuate.Read(ctx, connection, key)
		return failed == nil && e.Status.ObservedGeneration >= e.Generation
	})
	if !errors.Is(err, command.ErrLate) {
		return err
	}
	return cmp.Or(failed, refuseUnnoticed("evacuation "+key.String(), managerNoticeFor, view.WhyIdle(plan.Kubectl(connection.Name(), connection.Flags()))))
}

// afterAllMoved handles a mode for an Evacuation whose Migrations have all completed: none of them can be turned any more.
func (o *modeOptions) afterAllMoved(ctx context.Context, connection *clusters.Connection, e *api.Evacuation) error {
	key := client.ObjectKeyFromObject(e)
	if o.mode != api.ModeRollback {
		fmt.Fprintf(o.Out, "evacuation %s is completed: there is nothing to do\n", key)
		return nil
	}
	return errors.Join(o.offerWaysBack(ctx, connection, e), fmt.Errorf("evacuation %s is completed, so none of its Migrations is rolled back", key))
}

// offerWaysBack prints the commands that plan the reverse of the moves that have completed: a rollback turns none of them.
func (o *modeOptions) offerWaysBack(ctx context.Context, connection *clusters.Connection, e *api.Evacuation) error {
	var all api.MigrationList
	if err := connection.Live().List(ctx, &all, client.InNamespace(e.Namespace)); err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	listed := map[string]bool{}
	for _, each := range e.Spec.Migrations {
		listed[each.Name] = true
	}
	var ways []string
	for i := range all.Items {
		m := &all.Items[i]
		if listed[m.Name] && records.Completed(m) == api.ReasonMoved {
			ways = append(ways, o.otherWay(&storedMigration{Migration: m, connection: connection}))
		}
	}
	if len(ways) > 0 {
		fmt.Fprintf(o.Out, "%d of its %d Migrations completed before: their StatefulSets stay at the destination. To take one back, move it the other way:\n  %s\n", len(ways), len(e.Spec.Migrations), strings.Join(ways, "\n  "))
	}
	return nil
}
