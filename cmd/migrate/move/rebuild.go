package move

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// rebuild returns the migration whose record was lost, as its marks on the objects show it. It writes nothing.
func (t *task) rebuild(ctx context.Context) (*api.Migration, error) {
	if t.store.Name != t.requested.Spec.Source.Name {
		return nil, command.Usagef("--resume-uid is for the StatefulSet at the source")
	}
	if err := t.exists(ctx); err != nil {
		return nil, err
	}
	m := t.requested.DeepCopy()
	m.UID = t.resume
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, records.ResumedUIDAnnotationKey, string(t.resume))
	snapshot, err := t.observe(ctx, m)
	if err != nil {
		return nil, err
	}
	record, err := planner.Rebuild(snapshot)
	if err != nil {
		return nil, command.Refusedf("the record of the migration with UID %s cannot be rebuilt: %w; nothing has been changed", t.resume, err)
	}
	m.Status.Baseline, m.Status.Handoff = record.Baseline, record.Handoff
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady, Message: "its record was lost, and rebuilt from its marks on the objects",
	})
	return m, nil
}

// exists returns an error if the record still exists, because two processes would drive the same ordinals.
func (t *task) exists(ctx context.Context) error {
	for _, at := range []*clusters.Connection{t.source, t.destination} {
		name, err := t.recordAt(ctx, at)
		switch {
		case err != nil:
			return command.Unreachable(at.Name(), err)
		case name != "":
			return command.Refusedf("the migration with UID %s exists: %s in cluster %s; go on with that; nothing has been changed", t.resume, name, at.Name())
		}
	}
	return nil
}

// recordAt returns the name of the Migration or ConfigMap with the UID, as far as a cluster shows it, or an empty
// string.
func (t *task) recordAt(ctx context.Context, at *clusters.Connection) (string, error) {
	served, err := at.Serves(ctx, &api.Migration{})
	if err != nil {
		return "", err
	}
	if served {
		all := &api.MigrationList{}
		if err := listed(ctx, at.Live(), all, t.store.Namespace); err != nil && !apierrors.IsForbidden(err) {
			return "", err
		}
		for i := range all.Items {
			if other := &all.Items[i]; other.UID == t.resume {
				return fmt.Sprintf("Migration %s/%s", other.Namespace, other.Name), nil
			}
		}
	}
	kept := &corev1.ConfigMapList{}
	if err := listed(ctx, at.Live(), kept, t.store.Namespace, client.HasLabels{records.LabelKey}); err != nil && !apierrors.IsForbidden(err) {
		return "", err
	}
	for i := range kept.Items {
		if other, err := records.Decode(&kept.Items[i]); err == nil && other.UID == t.resume {
			return fmt.Sprintf("ConfigMap %s/%s", other.Namespace, kept.Items[i].Name), nil
		}
	}
	return "", nil
}
