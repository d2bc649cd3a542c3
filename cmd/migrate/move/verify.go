package move

import (
	"cmp"
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
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
