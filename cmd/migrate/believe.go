package main

import (
	"cmp"
	"fmt"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// believe refuses a record that does not match what both clusters say. Anybody who may write
// ConfigMaps in the namespace can forge one, and the engine acts on it with the rights of the
// user who runs this command.
func believe(store records.ConfigMap, m *api.Migration, s migration.Snapshot) error {
	if err := ofItsSource(store, m); err != nil {
		return err
	}
	if why := migration.Unbelievable(s); why != "" {
		return unbelieved(store, s.Source.Cluster, why)
	}
	return nil
}

// ofItsSource refuses a record of another StatefulSet than the one it is named after. It is
// called before that StatefulSet is read.
func ofItsSource(store records.ConfigMap, m *api.Migration) error {
	source := m.Spec.Source
	if source.Name == store.Name && cmp.Or(source.Namespace, store.Namespace) == store.Namespace {
		return nil
	}
	return unbelieved(store, "", fmt.Sprintf("it is of StatefulSet %s/%s", cmp.Or(source.Namespace, store.Namespace), source.Name))
}

// unbelieved says why a record is refused, and what to do about it.
func unbelieved(store records.ConfigMap, cluster, why string) error {
	in := ""
	if cluster != "" {
		in = " in cluster " + cluster
	}
	object := fmt.Sprintf("-n %s %s", store.Namespace, store.ObjectName())
	return refusedf("the record of the move of StatefulSet %s/%s%s, ConfigMap %s/%s, is not believed: %s; nothing has been changed\n"+
		"See who wrote it, and write the former values back: kubectl get configmap %s --show-managed-fields -o yaml\n"+
		"If no ordinal has left the source, delete it and begin anew: kubectl delete configmap %s",
		store.Namespace, store.Name, in, store.Namespace, store.ObjectName(), why, object, object)
}
