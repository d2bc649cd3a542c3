package move

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// verify rejects a record that does not match the observed clusters. Any user that may write ConfigMaps in the namespace
// can forge a record, and the engine acts on it with the permissions of the user who runs this command.
func verify(store records.ConfigMap, m *api.Migration, s plan.Snapshot) error {
	if err := verifySource(store, s.Source.Kubectl(), m); err != nil {
		return err
	}
	if why := planner.Unbelievable(s); why != "" {
		return distrust(store, s.Source.Cluster, s.Source.Kubectl(), why)
	}
	return nil
}

// verifySource rejects a record of another StatefulSet than the one in its name. It is called before that StatefulSet is
// read.
func verifySource(store records.ConfigMap, kubectl shell.Kubectl, m *api.Migration) error {
	source := m.Spec.Source
	if source.Name == store.Name && cmp.Or(source.Namespace, store.Namespace) == store.Namespace {
		return nil
	}
	return distrust(store, "", kubectl, fmt.Sprintf("it is of StatefulSet %s/%s", cmp.Or(source.Namespace, store.Namespace), source.Name))
}

// distrust returns the error for a rejected record: the reason and the remedy.
func distrust(store records.ConfigMap, cluster string, kubectl shell.Kubectl, why string) error {
	in := ""
	if cluster != "" {
		in = " in cluster " + cluster
	}
	return command.Refusedf("the record of the move of StatefulSet %s/%s%s, ConfigMap %s/%s, is not believed: %s; nothing has been changed\n"+
		"See who wrote it, and write the former values back: %s\n"+
		"If no ordinal has left the source, keep a copy, delete it and begin again: %s",
		store.Namespace, store.Name, in, store.Namespace, store.ObjectName(), why,
		kubectl.Do("get", "configmap", "-n", store.Namespace, store.ObjectName(), "--show-managed-fields", "-o", "yaml"), kubectl.Remove("configmap", store.Namespace, store.ObjectName()))
}

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
	m.Status.Baseline, m.Status.Handoff, m.Status.FurtherHandoffs = record.Baseline, record.Handoff, record.Further
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
	all, err := records.List(served, func(list client.ObjectList, options ...client.ListOption) error {
		if err := listed(ctx, at.Live(), list, t.store.Namespace, options...); !apierrors.IsForbidden(err) {
			return err
		}
		return nil
	})
	for _, other := range all {
		if other.UID == t.resume {
			return other.Title(), nil
		}
	}
	return "", err
}
