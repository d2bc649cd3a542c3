package observe

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/scope"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// readNames reads the Services and ServiceExports that bear the names of ordinals,
// when the migration asks for them: of one ordinal, or of the whole namespace.
func readNames(ctx context.Context, m *api.Migration, source, destination *observed, sc scope.Reads) {
	if m.Spec.Services.PerOrdinal != api.PerOrdinalExport {
		return
	}
	both(source, destination, func(f *observed) error {
		if neverServed(m, f.endpoint) {
			return nil
		}
		if sc.Ordinal != nil {
			return f.readName(ctx, m, plan.PodName(f.endpoint.Set, *sc.Ordinal))
		}
		return endpoint.Together(
			func() error {
				var list corev1.ServiceList
				err := f.endpoint.Live.List(ctx, &list, client.InNamespace(f.endpoint.Namespace))
				f.services = make(map[string]*corev1.Service, len(list.Items))
				for i := range list.Items {
					f.services[list.Items[i].Name] = &list.Items[i]
				}
				return err
			},
			func() (err error) {
				f.exports, err = listExports(ctx, m, f.endpoint)
				return err
			},
		)
	})
}

func (f *observed) readName(ctx context.Context, m *api.Migration, name string) error {
	return endpoint.Together(
		func() (err error) {
			f.services, err = endpoint.GetAll[corev1.Service](ctx, f.endpoint.Live, f.endpoint.Namespace, []string{name})
			return err
		},
		func() error {
			export, err := readExport(ctx, m, f.endpoint, name)
			f.exports = map[string]plan.Export{name: export}
			return err
		},
	)
}

// names are the names of ordinals as they were read.
func (f *observed) names(m *api.Migration, ordinals []int32) []plan.Name {
	names := make([]plan.Name, 0, len(ordinals))
	for _, ordinal := range ordinals {
		pod := plan.PodName(f.endpoint.Set, ordinal)
		n := plan.Name{Ordinal: ordinal, Export: f.exports[pod]}
		if service := f.services[pod]; service != nil {
			n.Service = plan.PodService{
				Found: true, UID: service.UID, ResourceVersion: service.ResourceVersion,
				Selects: maps.Equal(service.Spec.Selector, SelectPod(pod)),
				Ours:    service.Annotations[api.OwnerAnnotationKey] == string(m.UID), Fence: service.Annotations[api.FenceAnnotationKey],
			}
		}
		names = append(names, n)
	}
	return names
}

// SelectPod selects one pod of a StatefulSet by the label that its controller gives it.
func SelectPod(name string) map[string]string {
	return map[string]string{appsv1.StatefulSetPodNameLabel: name}
}
