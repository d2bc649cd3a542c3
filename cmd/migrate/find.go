package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// kept is a migration and where it is kept.
type kept struct {
	*api.Migration
	connection *clusters.Connection
	store      records.Store
	// where names the object that holds it.
	where string
	// record is true when it is a run's, not a manager's.
	record bool
}

// find looks for a migration: the resource first, then the record of a run.
func (c *common) find(ctx context.Context, name string) (*kept, error) {
	namespace, err := c.namespace()
	if err != nil {
		return nil, err
	}
	where, err := c.source()
	if err != nil {
		return nil, err
	}
	connection, err := where.connect(nil)
	if err != nil {
		return nil, err
	}
	served, err := connection.Serves(ctx, &api.Migration{})
	if err != nil {
		return nil, unreachable(where.name, err)
	}
	record := records.ConfigMap{Client: connection.Live(), Namespace: namespace, Name: name}
	candidates := []*kept{
		{store: records.Resource{Client: connection.Live(), Namespace: namespace, Name: name}, where: fmt.Sprintf("Migration %s/%s", namespace, name)},
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
			return nil, fmt.Errorf("cluster %s: reading %s: %w", where.name, k.where, err)
		}
	}
	return nil, fmt.Errorf("no migration %s/%s in cluster %s: neither a Migration nor a ConfigMap %s, the record of a run; "+
		"look for it: kubectl get configmaps -A -l %s", namespace, name, where.name, record.ObjectName(), records.LabelKey)
}

// title names the migration, for people.
func (k *kept) title() string { return "migration " + k.Namespace + "/" + k.Name }
