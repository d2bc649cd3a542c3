package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// kept is a migration and where it is stored.
type kept struct {
	*api.Migration
	connection *clusters.Connection
	store      records.Store
	// where names the object that holds it.
	where string
	// record is true when it is a run's, not a manager's.
	record bool
}

// named are the options of a command for one migration.
type named struct {
	*common
	name string
}

// Complete takes the name.
func (o *named) Complete(cmd *cobra.Command, args []string) (err error) {
	o.name, err = oneArg(cmd, args, "migration")
	return err
}

// find looks for the migration: the resource first, then the record of a run.
func (o *named) find(ctx context.Context) (*kept, error) {
	namespace, err := o.namespace()
	if err != nil {
		return nil, err
	}
	connection, err := o.connect()
	if err != nil {
		return nil, err
	}
	served, err := connection.Serves(ctx, &api.Migration{})
	if err != nil {
		return nil, unreachable(connection.Name(), err)
	}
	record := records.ConfigMap{Client: connection.Live(), Namespace: namespace, Name: o.name}
	candidates := []*kept{
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
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("cluster %s: reading %s: %w", connection.Name(), k.where, err)
		}
	}
	return nil, fmt.Errorf("no migration %s/%s in cluster %s: neither a Migration nor a ConfigMap %s, the record of a run; "+
		"look for it: kubectl get configmaps -A -l %s", namespace, o.name, connection.Name(), record.ObjectName(), records.LabelKey)
}

// title names the migration, for people.
func (k *kept) title() string { return "migration " + k.Namespace + "/" + k.Name }

// change writes some fields of its spec.
func (k *kept) change(ctx context.Context, change records.Change) error {
	if err := k.store.Change(ctx, change); err != nil {
		return fmt.Errorf("cluster %s: writing %s: %w", k.connection.Name(), k.where, err)
	}
	return nil
}

// follow calls look with the migration now and after each change, until look says
// that it is enough, or ctx ends.
func (k *kept) follow(ctx context.Context, ticks clock.WithTicker, look func(*api.Migration) (bool, error)) error {
	return watched[*api.Migration]{
		title: k.where, cluster: k.connection.Name(), now: k.Migration, refresh: k.store.Load,
		changes: func(ctx context.Context) (<-chan *api.Migration, func(), error) {
			return records.Follow(ctx, k.connection, k.store)
		},
	}.follow(ctx, ticks, look)
}
