package main

import (
	"cmp"
	"fmt"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// believe refuses a record that is not of this move: whoever may write ConfigMaps in the
// namespace can forge one, and it is acted on with the rights of the one who runs this.
func believe(store records.ConfigMap, m *api.Migration, s plan.Snapshot) error {
	if err := ofItsSource(store, m); err != nil {
		return err
	}
	if why := plan.Unbelievable(s); why != "" {
		return unbelieved(store, s.Source.Cluster, why)
	}
	return nil
}

// ofItsSource says whether a record is of the StatefulSet that it is named after. It is asked
// before that one is looked at.
func ofItsSource(store records.ConfigMap, m *api.Migration) error {
	source := m.Spec.Source
	if source.Name == store.Name && cmp.Or(source.Namespace, store.Namespace) == store.Namespace {
		return nil
	}
	return unbelieved(store, "", fmt.Sprintf("it is of StatefulSet %s/%s", cmp.Or(source.Namespace, store.Namespace), source.Name))
}

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
