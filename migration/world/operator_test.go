package world

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/workload"
)

// TestOperatorOf: an operator counts as paused if the resource that owns the set has the setting. What is not known, or may
// not be read, is not paused.
func TestOperatorOf(t *testing.T) {
	rabbit := schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
	for name, tc := range map[string]struct {
		owner     schema.GroupVersionKind
		uid       string
		paused    string
		forbidden bool
		field     bool
		want      bool
		way       string
	}{
		"no owner":                         {},
		"it runs":                          {owner: rabbit, uid: "7", field: true, way: "kubectl --context east patch rabbitmqcluster.rabbitmq.com -n shop main"},
		"it is paused":                     {owner: rabbit, uid: "7", paused: "true", field: true, want: true, way: "pause it"},
		"it is set to no pause":            {owner: rabbit, uid: "7", paused: "false", field: true, way: "pause it"},
		"another of that name is paused":   {owner: rabbit, uid: "8", paused: "true", field: true, way: "pause it"},
		"it may not be read":               {owner: rabbit, uid: "7", paused: "true", forbidden: true, field: true, way: "sliceshift-mover-writers"},
		"it has its own way":               {owner: schema.GroupVersionKind{Group: "elasticsearch.k8s.elastic.co", Version: "v1", Kind: "Elasticsearch"}, uid: "7", way: "node set"},
		"it is not known":                  {owner: schema.GroupVersionKind{Group: "db.example.com", Version: "v1", Kind: "Database"}, uid: "7", way: "change the storage in Database main"},
		"a known pause, and nothing known": {owner: schema.GroupVersionKind{Group: "stackgres.io", Version: "v1", Kind: "SGCluster"}, uid: "7", way: "change the storage in SGCluster main"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(rabbit)
			object.SetNamespace("shop")
			object.SetName("main")
			object.SetUID("7")
			if tc.paused != "" {
				object.SetLabels(map[string]string{"rabbitmq.com/pauseReconciliation": tc.paused})
			}
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{rabbit.GroupVersion()})
			mapper.Add(rabbit, meta.RESTScopeNamespace)
			live := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithRuntimeObjects(object).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{Group: rabbit.Group}, key.Name, nil)
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			if tc.owner.Kind != "" {
				owner := &unstructured.Unstructured{}
				owner.SetName("main")
				owner.SetUID(types.UID(tc.uid))
				set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, tc.owner)}
			}
			at := endpoint.Endpoint{Cluster: "east", Flags: "--context east", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: live}
			got, err := operatorOf(t.Context(), at, set)
			if err != nil || got.Paused != tc.want || (got.Field != "") != tc.field || !strings.Contains(got.Way, tc.way) || (got.Way == "") != (tc.way == "") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
