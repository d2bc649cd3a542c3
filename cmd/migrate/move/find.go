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

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// storedMigration is a migration and where it is stored.
type storedMigration struct {
	*api.Migration
	connection *clusters.Connection
	store      records.Store
	// where names the object that holds it.
	where string
	// record is true when it is a run's, not a manager's.
	record bool
	// lost is told whether the migration could be read again, while it is followed; nil: nobody asks.
	lost func(error)
}

// named are the options of a command for one migration.
type named struct {
	*command.Common
	name string
}

// Complete takes the name.
func (o *named) Complete(cmd *cobra.Command, args []string) (err error) {
	o.name, err = command.Argument(cmd, args, "migration")
	return err
}

// dryRunnable are the options of a command for one migration that can show what it would do, and
// wait until it is done.
type dryRunnable struct {
	named
	output       *command.Choice
	dryRun, wait bool
	timeout      time.Duration
}

func newDryRunnable(c *command.Common) dryRunnable {
	return dryRunnable{named: named{Common: c}, output: command.NewChoice("table", "table", "wide", "json", "yaml")}
}

// Validate refuses what cannot be meant.
func (o *dryRunnable) Validate() error {
	if o.output.Value != "table" && !o.dryRun {
		return command.Usagef("-o %s is for --dry-run", o.output.Value)
	}
	return command.ValidateTimeout(o.timeout)
}

// find looks for the migration: the resource first, then the record of a run.
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
	if all, err := storedIn(ctx, connection, namespace); err == nil {
		var names []string
		for _, k := range all {
			names = append(names, k.Name)
		}
		if meant := command.DidYouMean(o.name, names); meant != "" {
			return nil, &missingError{short: fmt.Sprintf("no migration %s/%s in cluster %s", namespace, o.name, connection.Name()), more: meant}
		}
	}
	return nil, &missingError{
		short: fmt.Sprintf("no migration %s/%s in cluster %s", namespace, o.name, connection.Name()),
		more: fmt.Sprintf(": neither a Migration nor a ConfigMap %s, the record of a run; look for it: %s",
			record.ObjectName(), plan.Kubectl(connection.Name(), connection.Flags()).Do("get", "configmaps", "-A", "-l", records.LabelKey)),
	}
}

// missingError is that there is no migration of a name: in few words, and where else to look.
type missingError struct{ short, more string }

// Error implements error.
func (e *missingError) Error() string { return e.short + e.more }

// appearsWithin is how long a migration that is not there yet is waited for, unless a timeout says otherwise: a run writes its
// record once it has looked at both clusters.
const appearsWithin = time.Minute

// lookEvery is how often one that is not there yet is looked for.
const lookEvery = time.Second

// appear finds the migration, and waits for one that is not there yet.
func (o *named) appear(ctx context.Context, timeout time.Duration) (*storedMigration, error) {
	k, err := o.find(ctx)
	missing, is := errors.AsType[*missingError](err)
	if !is {
		return k, err
	}
	fmt.Fprintf(o.ErrOut, "%s yet; waiting until it appears\n", missing.short)
	within := cmp.Or(timeout, appearsWithin)
	late := command.WithCode(command.ExitTimeout, fmt.Errorf("%w; it has not appeared within %s", missing, within))
	limit := o.Clock.NewTimer(within)
	defer limit.Stop()
	ticker := o.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if cause := command.Cause(ctx); errors.Is(cause, command.ErrInterrupted) {
				return nil, cause
			}
			return nil, late
		case <-limit.C():
			return nil, late
		case <-ticker.C():
		}
		k, err = o.find(ctx)
		if _, still := errors.AsType[*missingError](err); !still {
			return k, err
		}
	}
}

// title names the migration, for people.
func (k *storedMigration) title() string { return "migration " + k.Namespace + "/" + k.Name }

// kubectl begins a command for the cluster that keeps it.
func (k *storedMigration) kubectl() shell.Kubectl {
	return plan.Kubectl(k.connection.Name(), k.connection.Flags())
}

// undriven describes a migration that no process drives; nil: one does, or none needs to.
func (k *storedMigration) undriven(c *command.Common) *records.Undriven {
	return records.UndrivenAt(k.Migration, k.record, k.connection.ServerTime(c.Clock.Now()))
}

// refuseUndriven is the error of a migration that no process drives, with the command that continues it; nil: one does, or none needs to.
func (o *named) refuseUndriven(k *storedMigration) error {
	u := k.undriven(o.Common)
	if u == nil {
		return nil
	}
	return command.Refusedf("%s: %s; %s", k.title(), u.Text(), o.howOn(k))
}

// howOn is the way to continue a migration that no process drives.
func (o *named) howOn(k *storedMigration) string {
	if k.record {
		return "to go on: " + o.goOn(k.Migration)
	}
	return "see why its manager does not act: " + k.kubectl().Do("logs", "-n", "sliceshift-system", "deployment/sliceshift-manager")
}

// change writes some fields of its spec.
func (k *storedMigration) change(ctx context.Context, change records.Change) error {
	if err := k.store.Change(ctx, change); err != nil {
		return fmt.Errorf("cluster %s: writing %s: %w", k.connection.Name(), k.where, err)
	}
	return nil
}

// follow calls look with the migration now and after each change, until look says
// that it is enough, or ctx ends.
func (k *storedMigration) follow(ctx context.Context, ticks clock.WithTicker, look func(*api.Migration) (bool, error)) error {
	return command.Watched[*api.Migration]{
		Title: k.where, Cluster: k.connection.Name(), Now: k.Migration, Refresh: k.store.Load, Lost: k.lost,
		Changes: func(ctx context.Context) (<-chan *api.Migration, func(), error) {
			return records.Follow(ctx, k.connection, k.store)
		},
	}.Follow(ctx, ticks, look)
}
