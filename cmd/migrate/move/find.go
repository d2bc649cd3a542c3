package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// storedMigration is a migration together with its storage.
type storedMigration struct {
	*api.Migration
	connection *clusters.Connection
	store      records.Store
	// where names the object that stores it.
	where string
	// record is true if it is the record of a run; false for a Migration.
	record bool
	// lost is called with the result of each read while the migration is followed. It may be nil.
	lost func(error)
}

// named holds the options of a command for one migration.
type named struct {
	*command.Common
	name string
}

// Complete reads the name.
func (o *named) Complete(cmd *cobra.Command, args []string) (err error) {
	o.name, err = command.Argument(cmd, args, "migration")
	return err
}

// dryRunnable holds the options of a command for one migration that supports a dry run and can wait for completion.
type dryRunnable struct {
	named
	output       *command.Choice
	dryRun, wait bool
	timeout      time.Duration
}

func newDryRunnable(c *command.Common) dryRunnable {
	return dryRunnable{named: named{Common: c}, output: command.NewChoice("table", "table", "wide", "json", "yaml")}
}

// printer returns the printer of the dry run.
func (o *dryRunnable) printer() preview.Printer {
	return preview.Printer{Out: o.Out, Paint: o.Paint(), Wide: o.output.Value == "wide"}
}

// Validate rejects invalid combinations of flags.
func (o *dryRunnable) Validate() error {
	if o.output.Value != "table" && !o.dryRun {
		return command.Usagef("-o %s is for --dry-run", o.output.Value)
	}
	return command.ValidateTimeout(o.timeout)
}

// find returns the migration: the Migration resource if it exists, else the record of a run.
func (o *named) find(ctx context.Context) (*storedMigration, error) {
	connection, namespace, err := o.ConnectTo()
	if err != nil {
		return nil, err
	}
	served, err := connection.Serves(ctx, &api.Migration{})
	if err != nil {
		return nil, command.Unreachable(connection.Name(), err)
	}
	record := records.ConfigMap{Client: connection.Live(), Namespace: namespace, Name: o.name}
	candidates := []*storedMigration{
		{store: records.Resource{Client: connection.Live(), Namespace: namespace, Name: o.name}, where: fmt.Sprintf("Migration %s/%s", namespace, o.name)},
		{store: record, where: fmt.Sprintf("ConfigMap %s/%s", namespace, record.ObjectName()), record: true},
	}
	if !served {
		candidates = candidates[1:]
	}
	for _, k := range candidates {
		k.connection = connection
		k.Migration, err = k.store.Load(ctx)
		if err == nil {
			return k, nil
		}
		if malformed, is := errors.AsType[*records.NotAMigrationError](err); is {
			return nil, distrust(record, connection.Name(), plan.Kubectl(connection.Name(), connection.Flags()), malformed.Cause.Error())
		}
		if apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("cluster %s: reading %s: %w; the ClusterRole view lets you see it, and edit lets you steer it", connection.Name(), k.where, err)
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("cluster %s: reading %s: %w", connection.Name(), k.where, err)
		}
	}
	missing := &missingError{
		short: fmt.Sprintf("no migration %s/%s in cluster %s", namespace, o.name, connection.Name()),
		more: fmt.Sprintf(": neither a Migration nor a ConfigMap %s, the record of a run; look for it: %s",
			record.ObjectName(), plan.Kubectl(connection.Name(), connection.Flags()).Do("get", "configmaps", "-A", "-l", records.LabelKey)),
	}
	if all, err := storedIn(ctx, connection, namespace); err == nil {
		var names []string
		for _, k := range all {
			names = append(names, k.Name)
		}
		missing.more = cmp.Or(command.DidYouMean(o.name, names), missing.more)
	}
	return nil, missing
}

// missingError is the error if no migration has the name: a short form, and where else to look.
type missingError struct{ short, more string }

// Error implements error.
func (e *missingError) Error() string { return e.short + e.more }

// appearsWithin is how long to wait for a migration that does not exist yet, unless a timeout is set. A run writes its
// record only after it has read both clusters.
const appearsWithin = time.Minute

// lookEvery is the interval between attempts to find it.
const lookEvery = time.Second

// appear returns the migration, and waits if it does not exist yet.
func (o *named) appear(ctx context.Context, timeout time.Duration) (*storedMigration, error) {
	k, err := o.find(ctx)
	missing, is := errors.AsType[*missingError](err)
	if !is {
		return k, err
	}
	fmt.Fprintf(o.ErrOut, "%s yet; waiting until it appears\n", missing.short)
	within := cmp.Or(timeout, appearsWithin)
	ended := command.Poll(ctx, o.Clock, lookEvery, within, func() bool {
		k, err = o.find(ctx)
		_, still := errors.AsType[*missingError](err)
		return !still
	})
	switch {
	case ended == nil:
		return k, err
	case errors.Is(ended, command.ErrInterrupted):
		return nil, ended
	}
	return nil, command.WithCode(command.ExitTimeout, fmt.Errorf("%w; it has not appeared within %s", missing, within))
}

// title returns the name of the migration for messages.
func (k *storedMigration) title() string { return "migration " + k.Namespace + "/" + k.Name }

// kubectl returns the prefix of kubectl commands for the cluster that stores it.
func (k *storedMigration) kubectl() shell.Kubectl {
	return plan.Kubectl(k.connection.Name(), k.connection.Flags())
}

// undriven describes a migration that no process drives. It returns nil if a process drives it, or none is needed.
func (k *storedMigration) undriven(c *command.Common) *records.Undriven {
	return records.UndrivenAt(k.Migration, k.record, k.connection.ServerTime(c.Clock.Now()))
}

// refuseUndriven returns an error if no process drives the migration, with the command that continues it.
func (o *named) refuseUndriven(k *storedMigration) error {
	u := k.undriven(o.Common)
	if u == nil {
		return nil
	}
	return command.Refusedf("%s: %s; %s", k.title(), u.Text(), o.howOn(k))
}

// howOn returns how to continue a migration that no process drives.
func (o *named) howOn(k *storedMigration) string {
	if k.record {
		return "to go on: " + o.goOn(k.Migration)
	}
	return view.WhyIdle(k.kubectl())
}

// change writes fields of its spec.
func (k *storedMigration) change(ctx context.Context, change records.Change) error {
	if err := k.store.Change(ctx, change); err != nil {
		return fmt.Errorf("cluster %s: writing %s: %w", k.connection.Name(), k.where, err)
	}
	return nil
}

// follow calls look with the current migration and after each change, until look returns true or an error, or ctx ends.
func (k *storedMigration) follow(ctx context.Context, ticks clock.WithTicker, look func(*api.Migration) (bool, error)) error {
	return command.Watched[*api.Migration]{
		Title: k.where, Cluster: k.connection.Name(), Now: k.Migration, Refresh: k.store.Load, Lost: k.lost,
		Changes: func(ctx context.Context) (<-chan *api.Migration, func(), error) {
			return records.Follow(ctx, k.connection, k.store)
		},
	}.Follow(ctx, ticks, look)
}
