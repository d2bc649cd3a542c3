package migration

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// readNames reads the Services and ServiceExports that bear the names of ordinals,
// when the migration asks for them: of one ordinal, or of the whole namespace.
func readNames(ctx context.Context, m *api.Migration, source, destination *found, sc plan.Reads) {
	if m.Spec.Services.PerOrdinal != api.PerOrdinalExport {
		return
	}
	both(source, destination, func(f *found) error {
		if neverServed(m, f.place) {
			return nil
		}
		if sc.Ordinal != nil {
			return f.readName(ctx, m, plan.PodName(f.place.set, *sc.Ordinal))
		}
		return together(
			func() error {
				var list corev1.ServiceList
				err := f.place.live.List(ctx, &list, client.InNamespace(f.place.namespace))
				f.services = make(map[string]*corev1.Service, len(list.Items))
				for i := range list.Items {
					f.services[list.Items[i].Name] = &list.Items[i]
				}
				return err
			},
			func() (err error) {
				f.exports, err = listExports(ctx, m, f.place)
				return err
			},
		)
	})
}

func (f *found) readName(ctx context.Context, m *api.Migration, name string) error {
	return together(
		func() (err error) {
			f.services, err = getAll[corev1.Service](ctx, f.place.live, f.place.namespace, []string{name})
			return err
		},
		func() error {
			export, err := readExport(ctx, m, f.place, name)
			f.exports = map[string]plan.Export{name: export}
			return err
		},
	)
}

// names are the names of ordinals as they were read.
func (f *found) names(m *api.Migration, ordinals []int32) []plan.Name {
	names := make([]plan.Name, 0, len(ordinals))
	for _, ordinal := range ordinals {
		pod := plan.PodName(f.place.set, ordinal)
		n := plan.Name{Ordinal: ordinal, Export: f.exports[pod]}
		if service := f.services[pod]; service != nil {
			n.Service = plan.PodService{
				Found: true, UID: service.UID, ResourceVersion: service.ResourceVersion,
				Selects: maps.Equal(service.Spec.Selector, selectPod(pod)),
				Ours:    service.Annotations[api.OwnerAnnotationKey] == string(m.UID), Fence: service.Annotations[api.FenceAnnotationKey],
			}
		}
		names = append(names, n)
	}
	return names
}

// selectPod selects one pod of a StatefulSet by the label that its controller gives it.
func selectPod(name string) map[string]string {
	return map[string]string{appsv1.StatefulSetPodNameLabel: name}
}

// podService is the headless Service of one pod. It has the ports of the governing
// Service, and publishes the pod as early as that one does.
func podService(governing *corev1.Service, meta metav1.ObjectMeta) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: selectPod(meta.Name)}}
	if governing == nil {
		return service
	}
	service.Spec.PublishNotReadyAddresses = governing.Spec.PublishNotReadyAddresses
	for _, port := range governing.Spec.Ports {
		port.NodePort = 0
		service.Spec.Ports = append(service.Spec.Ports, port)
	}
	return service
}
