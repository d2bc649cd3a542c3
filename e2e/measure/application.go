package measure

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Template is the claim template of every application here.
const Template = "data"

// Application returns an application to move, of which one pod may be down at a time.
func Application(namespace, name string, replicas int32) fixture.App {
	return fixture.App{
		Namespace: namespace, Name: name, Replicas: replicas, Claims: []string{Template},
		MaxUnavailable: new(intstr.FromInt32(1)),
	}
}

// Migration returns the Migration of an application.
func Migration(app fixture.App) *api.Migration {
	m := fixture.NewMigration(app.Namespace, app.Name)
	m.Spec.Destination.CreateNamespace = true
	fixture.SharePaths(m, app.Claims...)
	return m
}
