package move

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// movedOnAt names a Migration or the record of a run, of those that a cluster shows, that may have moved on what m has
// brought to its destination; empty: none does. It looks in all namespaces, or where that is forbidden in one.
func movedOnAt(ctx context.Context, at *clusters.Connection, namespace string, m *api.Migration) (string, error) {
	served, err := at.Serves(ctx, &api.Migration{})
	if err != nil {
		return "", err
	}
	if served {
		all := &api.MigrationList{}
		if err := listed(ctx, at.Live(), all, namespace); err != nil {
			return "", fmt.Errorf("listing the Migrations of cluster %s: %w", at.Name(), err)
		}
		for i := range all.Items {
			if other := &all.Items[i]; migration.MovesOn(m, other) {
				return fmt.Sprintf("Migration %s/%s in cluster %s", other.Namespace, other.Name, at.Name()), nil
			}
		}
	}
	kept := &corev1.ConfigMapList{}
	if err := listed(ctx, at.Live(), kept, namespace, client.HasLabels{records.LabelKey}); err != nil {
		return "", fmt.Errorf("listing the records of runs in cluster %s: %w", at.Name(), err)
	}
	for i := range kept.Items {
		other, err := records.Decode(&kept.Items[i])
		if err == nil && migration.MovesOn(m, other) {
			return fmt.Sprintf("a run of cluster %s (ConfigMap %s/%s)", at.Name(), other.Namespace, kept.Items[i].Name), nil
		}
	}
	return "", nil
}

// listed lists in all namespaces, or where that is forbidden in one.
func listed(ctx context.Context, from client.Reader, list client.ObjectList, namespace string, options ...client.ListOption) error {
	err := from.List(ctx, list, options...)
	if !apierrors.IsForbidden(err) {
		return err
	}
	return from.List(ctx, list, append(options, client.InNamespace(namespace))...)
}
