package world

import (
	"context"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// readNames reads the Services and ServiceExports with the names of ordinals, if the migration uses them: those of
// one ordinal, or of the whole namespace.
func readNames(ctx context.Context, m *api.Migration, source, destination *observed, sc planner.Reads) {
	if !m.AcceptedServices().NamesOrdinals() {
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
			export, err := readExport(ctx, m.UID, f.endpoint, name)
			f.exports = map[string]plan.Export{name: export}
			return err
		},
	)
}

// names returns the state of the names of ordinals.
func (f *observed) names(m *api.Migration, ordinals []int32) []plan.Name {
	names := make([]plan.Name, 0, len(ordinals))
	for _, ordinal := range ordinals {
		pod := plan.PodName(f.endpoint.Set, ordinal)
		n := plan.Name{Ordinal: ordinal, Export: f.exports[pod]}
		n.Export.DeletedAt = f.ours(n.Export.DeletedAt)
		if service := f.services[pod]; service != nil {
			n.Service = plan.PodService{
				Found: true, UID: service.UID, ResourceVersion: service.ResourceVersion,
				Selects: maps.Equal(service.Spec.Selector, SelectPod(pod)),
				Ours:    service.Annotations[api.OwnerAnnotationKey] == string(m.UID), Fence: service.Annotations[api.FenceAnnotationKey],
			}
			n.Service.Terminating, n.Service.Keeps, n.Service.DeletedAt = deletionOf(service.ObjectMeta)
			n.Service.DeletedAt = f.ours(n.Service.DeletedAt)
		}
		names = append(names, n)
	}
	return names
}

// SelectPod returns the selector of one pod of a StatefulSet, by the label that the controller sets.
func SelectPod(name string) map[string]string {
	return map[string]string{appsv1.StatefulSetPodNameLabel: name}
}

// readExports reads the ServiceExports of the governing Service on both sides, if the migration uses them.
func readExports(ctx context.Context, m *api.Migration, source, destination *observed) {
	if !m.AcceptedServices().Export || source.set == nil || source.set.Spec.ServiceName == "" {
		return
	}
	both(source, destination, func(f *observed) (err error) {
		if neverServed(m, f.endpoint) {
			return nil
		}
		f.export, err = readExport(ctx, m.UID, f.endpoint, source.set.Spec.ServiceName)
		return err
	})
}

// neverServed reports whether a cluster does not serve ServiceExports and the migration has not started. Such a
// migration is refused with a reason of its own. After the start, a kind that is not served any more counts as
// unreadable, and unreadable objects are not absent.
func neverServed(m *api.Migration, at endpoint.Endpoint) bool {
	return m.Status.Baseline == nil && at.ExportVersion == ""
}

// readExport reads the ServiceExport of a Service of a side. owner is the Migration that may have created it.
func readExport(ctx context.Context, owner types.UID, at endpoint.Endpoint, service string) (plan.Export, error) {
	if at.ExportVersion == mcsv1beta1.GroupVersion.Version {
		export, err := endpoint.Get[mcsv1beta1.ServiceExport](ctx, at.Live, at.Key(service))
		if err != nil || export == nil {
			return plan.Export{}, err
		}
		return exportOf(owner, export.ObjectMeta, export.Status.Conditions), nil
	}
	export, err := endpoint.Get[mcsv1alpha1.ServiceExport](ctx, at.Live, at.Key(service))
	if err != nil || export == nil {
		return plan.Export{}, err
	}
	return exportOf(owner, export.ObjectMeta, export.Status.Conditions), nil
}

// listExports reads all ServiceExports of a side's namespace, by name.
func listExports(ctx context.Context, m *api.Migration, at endpoint.Endpoint) (map[string]plan.Export, error) {
	exports := map[string]plan.Export{}
	if at.ExportVersion == mcsv1beta1.GroupVersion.Version {
		var list mcsv1beta1.ServiceExportList
		err := at.Live.List(ctx, &list, client.InNamespace(at.Namespace))
		for i := range list.Items {
			exports[list.Items[i].Name] = exportOf(m.UID, list.Items[i].ObjectMeta, list.Items[i].Status.Conditions)
		}
		return exports, err
	}
	var list mcsv1alpha1.ServiceExportList
	err := at.Live.List(ctx, &list, client.InNamespace(at.Namespace))
	for i := range list.Items {
		exports[list.Items[i].Name] = exportOf(m.UID, list.Items[i].ObjectMeta, list.Items[i].Status.Conditions)
	}
	return exports, err
}

// deletionOf returns whether an object is being deleted, its finalizers, and since when.
func deletionOf(meta metav1.ObjectMeta) (terminating bool, keeps string, at int64) {
	if meta.DeletionTimestamp == nil {
		return false, "", 0
	}
	return true, strings.Join(meta.Finalizers, ", "), meta.DeletionTimestamp.Unix()
}

func exportOf(owner types.UID, meta metav1.ObjectMeta, conditions []metav1.Condition) plan.Export {
	export := plan.Export{
		Found: true, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Ours: meta.Annotations[api.OwnerAnnotationKey] == string(owner), Fence: meta.Annotations[api.FenceAnnotationKey],
	}
	export.Terminating, export.Keeps, export.DeletedAt = deletionOf(meta)
	for _, condition := range conditions {
		switch {
		case condition.Type == string(mcsv1beta1.ServiceExportConditionConflict) && condition.Status == metav1.ConditionTrue:
			export.Conflict = condition.Reason + ": " + condition.Message
		case condition.Type == string(mcsv1beta1.ServiceExportConditionValid) && condition.Status == metav1.ConditionFalse:
			export.Invalid = condition.Reason + ": " + condition.Message
		}
	}
	return export
}
