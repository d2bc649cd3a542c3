package migration

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// readExports reads the ServiceExports of the governing Service on both sides,
// when the migration asks for them.
func readExports(ctx context.Context, m *api.Migration, source, destination *found) {
	if !m.Spec.Services.Export || source.set == nil || source.set.Spec.ServiceName == "" {
		return
	}
	for _, f := range []*found{source, destination} {
		if f.err == nil {
			f.err = readExport(ctx, m, f, source.set.Spec.ServiceName)
		}
	}
}

func readExport(ctx context.Context, m *api.Migration, f *found, service string) error {
	key := f.place.key(service)
	var meta metav1.ObjectMeta
	var conditions []metav1.Condition
	switch f.place.exportVersion {
	case mcsv1beta1.GroupVersion.Version:
		export, err := get[mcsv1beta1.ServiceExport](ctx, f.place.live, key)
		if err != nil || export == nil {
			return err
		}
		meta, conditions = export.ObjectMeta, export.Status.Conditions
	default:
		export, err := get[mcsv1alpha1.ServiceExport](ctx, f.place.live, key)
		if err != nil || export == nil {
			return err
		}
		meta, conditions = export.ObjectMeta, export.Status.Conditions
	}
	f.export = Export{Found: true, Ours: meta.Annotations[api.OwnerAnnotationKey] == string(m.UID)}
	for _, condition := range conditions {
		switch {
		case condition.Type == string(mcsv1beta1.ServiceExportConditionConflict) && condition.Status == metav1.ConditionTrue:
			f.export.Conflict = condition.Reason + ": " + condition.Message
		case condition.Type == string(mcsv1beta1.ServiceExportConditionValid) && condition.Status == metav1.ConditionFalse:
			f.export.Invalid = condition.Reason + ": " + condition.Message
		}
	}
	return nil
}

// newExport makes a ServiceExport in the version that the cluster serves.
func newExport(version string, meta metav1.ObjectMeta) client.Object {
	if version == mcsv1beta1.GroupVersion.Version {
		return &mcsv1beta1.ServiceExport{ObjectMeta: meta}
	}
	return &mcsv1alpha1.ServiceExport{ObjectMeta: meta}
}
