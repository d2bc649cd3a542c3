package endpointtest

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/dependencies"
)

// Serving returns the client of an API server that has objects. It serves all kinds that pods depend on, except
// for some.
func Serving(hooks clustertest.Hooks, without []string, objects ...client.Object) client.WithWatch {
	scheme := clusters.NewScheme()
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	utilruntime.Must(networkingv1.AddToScheme(scheme))
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	devices, _ := dependencies.KindOf(dependencies.DeviceClass)
	for _, kind := range append(dependencies.Copied(), devices) {
		scope := meta.RESTScope(meta.RESTScopeNamespace)
		if kind.Cluster {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(kind.GroupKind().WithVersion(kind.Versions[0]), scope)
	}
	served := leaving{mapper, without}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(served).WithInterceptorFuncs(clustertest.Known(hooks)).WithReturnManagedFields().WithObjects(objects...).Build()
}

// ServingAlso returns the client of an API server that also serves the kinds of these objects, in addition to
// those of Kubernetes.
func ServingAlso(hooks clustertest.Hooks, objects ...*unstructured.Unstructured) client.WithWatch {
	scheme := clusters.NewScheme()
	var versions []schema.GroupVersion
	for _, object := range objects {
		versions = append(versions, object.GroupVersionKind().GroupVersion())
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	builder := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithInterceptorFuncs(clustertest.Known(hooks))
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	for _, object := range objects {
		mapper.Add(object.GroupVersionKind(), meta.RESTScopeNamespace)
		builder = builder.WithObjects(object)
	}
	return builder.Build()
}

// Object decodes an object from YAML.
func Object(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	utilruntime.Must(yaml.Unmarshal([]byte(text), &object.Object))
	return object
}

// leaving is a mapper that does not know some kinds.
type leaving struct {
	meta.RESTMapper
	without []string
}

// RESTMapping implements meta.RESTMapper.
func (l leaving) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if slices.Contains(l.without, kind.Kind) {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return l.RESTMapper.RESTMapping(kind, versions...)
}
