package world

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// TestExportsThatAreNotServed: before a migration has started, the read of a cluster without the kind ServiceExport
// continues, so that the refusal names what is missing. During a move the read fails: a kind that is no longer served
// is not absent.
func TestExportsThatAreNotServed(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "multicluster.x-k8s.io", Kind: "ServiceExport"}}
	live := clustertest.Hooked(clustertest.Before(func(_ string, object runtime.Object) error {
		switch object.(type) {
		case *corev1.Service, *corev1.ServiceList:
			return nil
		}
		return missing
	}))
	for name, services := range map[string]api.ServicesSpec{"the governing Service": {Export: true}, "each ordinal": {PerOrdinal: api.PerOrdinalExport}} {
		for _, begun := range []bool{false, true} {
			m := &api.Migration{Spec: api.MigrationSpec{Services: services}}
			if begun {
				m.Status.Baseline = &api.Baseline{}
			}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
			source, destination := &observed{endpoint: endpoint.Endpoint{Live: live}, set: set}, &observed{endpoint: endpoint.Endpoint{Live: live}}
			readExports(t.Context(), m, source, destination)
			readNames(t.Context(), m, source, destination, planner.Reads{})
			if unread := source.err != nil && destination.err != nil; unread != begun {
				t.Errorf("export of %s, begun: %t: %v, %v", name, begun, source.err, destination.err)
			}
		}
	}
}

// TestAcceptedServicesAreRead: during a move the names and exports from acceptance are read, even if spec.services
// has changed, because the migration must carry or delete those that it has created.
func TestAcceptedServicesAreRead(t *testing.T) {
	live := clustertest.Hooked(clustertest.Before(func(string, runtime.Object) error { return errors.New("it is read") }))
	all, none := api.ServicesSpec{Export: true, PerOrdinal: api.PerOrdinalExport}, api.ServicesSpec{}
	for name, tc := range map[string]struct {
		accepted, asked api.ServicesSpec
		reads           bool
	}{
		"it is turned off": {all, none, true}, "it is turned on": {none, all, false},
	} {
		m := &api.Migration{Spec: api.MigrationSpec{Services: tc.asked}, Status: api.MigrationStatus{Baseline: &api.Baseline{Services: &tc.accepted}}}
		for what, read := range map[string]func(source, destination *observed){
			"exports": func(source, destination *observed) { readExports(t.Context(), m, source, destination) },
			"names":   func(source, destination *observed) { readNames(t.Context(), m, source, destination, planner.Reads{}) },
		} {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
			at := endpoint.Endpoint{Live: live, ExportVersion: "v1beta1"}
			source, destination := &observed{endpoint: at, set: set}, &observed{endpoint: at}
			read(source, destination)
			if (source.err != nil) != tc.reads || (destination.err != nil) != tc.reads {
				t.Errorf("%s, %s: %v, %v", name, what, source.err, destination.err)
			}
		}
	}
}

// TestExportOfAReceiver: a receiver with an exported Service is reached by its clusterset name, after the Service is
// exported.
func TestExportOfAReceiver(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "in"}, Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.4", Ports: []corev1.ServicePort{{Port: 8722}},
	}}
	of := func(owner, made string) *corev1.Service {
		other := service.DeepCopy()
		other.Annotations = map[string]string{api.OwnerAnnotationKey: owner, manifest.ServiceTypeAnnotationKey: made}
		return other
	}
	goes := service.DeepCopy()
	goes.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	const name = "in.shop.svc.clusterset.local:8722"
	for title, tc := range map[string]struct {
		part copyPart
		want volumes.Entrance
	}{
		"not to be exported": {copyPart{}, volumes.Entrance{Found: true, Address: "10.96.0.4:8722"}},
		"not exported yet":   {copyPart{kind: api.ServiceTypeExport}, volumes.Entrance{Found: true}},
		"exported":           {copyPart{kind: api.ServiceTypeExport, export: plan.Export{Found: true}}, volumes.Entrance{Found: true, Exported: true, Address: name}},
		"not valid":          {copyPart{kind: api.ServiceTypeExport, export: plan.Export{Found: true, Invalid: "NoService"}}, volumes.Entrance{Found: true, Exported: true, Refused: "NoService"}},
		"of another type":    {copyPart{service: of("1", "NodePort")}, volumes.Entrance{Found: true, Other: true, Address: "10.96.0.4:8722"}},
		"not ours":           {copyPart{service: of("2", "NodePort")}, volumes.Entrance{Found: true, Address: "10.96.0.4:8722"}},
		"on its way out":     {copyPart{service: goes}, volumes.Entrance{Found: true, Leaving: time.Unix(1, 0), Address: "10.96.0.4:8722"}},
		"against another":    {copyPart{kind: api.ServiceTypeExport, export: plan.Export{Found: true, Conflict: "TypeConflict"}}, volumes.Entrance{Found: true, Exported: true, Refused: "TypeConflict"}},
	} {
		tc.part.owner = "1"
		if tc.part.service == nil {
			tc.part.service = service
		}
		if diff := cmp.Diff(tc.want, tc.part.entrance()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}
