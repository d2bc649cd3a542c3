package records

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Stored is a migration, with the object that stores it.
type Stored struct {
	*api.Migration
	// Record is the name of the ConfigMap of a run, or empty for a Migration.
	Record string
}

// Title returns the kind and name of the object.
func (s Stored) Title() string {
	if s.Record != "" {
		return "ConfigMap " + s.Namespace + "/" + s.Record
	}
	return "Migration " + s.Namespace + "/" + s.Name
}

// List returns the Migrations and the records of runs. list reads the objects of one kind. served is false if the cluster
// does not serve Migrations. A ConfigMap that holds no migration is left out. With an error it returns those that were found
// before.
func List(served bool, list func(client.ObjectList, ...client.ListOption) error) ([]Stored, error) {
	var all []Stored
	if served {
		var resources api.MigrationList
		if err := list(&resources); err != nil {
			return nil, err
		}
		for i := range resources.Items {
			all = append(all, Stored{Migration: &resources.Items[i]})
		}
	}
	var maps corev1.ConfigMapList
	err := list(&maps, client.HasLabels{LabelKey})
	for i := range maps.Items {
		if m, malformed := Decode(&maps.Items[i]); malformed == nil {
			all = append(all, Stored{m, maps.Items[i].Name})
		}
	}
	return all, err
}

// StoreOf returns the store of a Migration, or of the record of a run.
func StoreOf(c client.Client, namespace, name string, record bool) Store {
	if record {
		return ConfigMap{Client: c, Namespace: namespace, Name: name}
	}
	return Resource{Client: c, Namespace: namespace, Name: name}
}
