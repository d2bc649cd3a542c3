package observe

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestExportsThatAreNotServed: before a migration has begun, a cluster without the kind
// ServiceExport is read as far as it goes, so that the refusal says what is missing. In
// mid-move it cannot be read: what is not served now is not absent.
func TestExportsThatAreNotServed(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "multicluster.x-k8s.io", Kind: "ServiceExport"}}
	live := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, service := object.(*corev1.Service); !service {
				return missing
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, services := list.(*corev1.ServiceList); !services {
				return missing
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	for name, services := range map[string]api.ServicesSpec{"the governing Service": {Export: true}, "each ordinal": {PerOrdinal: api.PerOrdinalExport}} {
		for _, begun := range []bool{false, true} {
			m := &api.Migration{Spec: api.MigrationSpec{Services: services}}
			if begun {
				m.Status.Baseline = &api.Baseline{}
			}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
			source, destination := &observed{endpoint: endpoint.Endpoint{Live: live}, set: set}, &observed{endpoint: endpoint.Endpoint{Live: live}}
			readExports(t.Context(), m, source, destination)
			readNames(t.Context(), m, source, destination, plan.Reads{})
			if unread := source.err != nil && destination.err != nil; unread != begun {
				t.Errorf("export of %s, begun: %t: %v, %v", name, begun, source.err, destination.err)
			}
		}
	}
}
