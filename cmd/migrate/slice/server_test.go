package slice

import (
	"context"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// newConsole returns a process with the commands for StatefulSets of our kind.
func newConsole(args ...string) *commandtest.Console { return commandtest.New(Commands, args...) }

// servedResources lists the served resources, by group and version.
var servedResources = map[schema.GroupVersion]map[string]string{
	appsv1.SchemeGroupVersion:             {"statefulsets": "StatefulSet", "controllerrevisions": "ControllerRevision"},
	slicesapi.GroupVersion:                {"statefulsets": "StatefulSet"},
	{Group: "autoscaling", Version: "v2"}: {"horizontalpodautoscalers": "HorizontalPodAutoscaler"},
}

// kruiseResources returns the resources of a cluster with OpenKruise.
func kruiseResources() map[schema.GroupVersion]map[string]string {
	served := maps.Clone(servedResources)
	served[schema.GroupVersion{Version: "v1"}] = map[string]string{"pods": "Pod"}
	served[kruiseVersion] = map[string]string{"statefulsets": "StatefulSet"}
	return served
}

// podResources returns the resources of a cluster whose pods and Services a command uses.
func podResources() map[schema.GroupVersion]map[string]string {
	served := maps.Clone(servedResources)
	served[schema.GroupVersion{Version: "v1"}] = map[string]string{"pods": "Pod", "services": "Service"}
	return served
}

func newServer(t *testing.T, objects ...client.Object) *apitest.Server {
	t.Helper()
	return apitest.Serve(t, servedResources, objects...)
}

// storedSlice returns the stored shop/web of our kind.
func storedSlice(t *testing.T, s *apitest.Server) *slicesapi.StatefulSet {
	t.Helper()
	set := &slicesapi.StatefulSet{}
	if err := s.Store.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: "shop", Name: "web"}, set); err != nil {
		t.Fatal(err)
	}
	return set
}
