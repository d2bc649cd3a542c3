package evacuate

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/workload"
)

// serve returns a connection to a server with these objects.
func serve(t *testing.T, objects ...client.Object) (*apitest.Server, *clusters.Connection) {
	t.Helper()
	s := apitest.Serve(t, map[schema.GroupVersion]map[string]string{
		corev1.SchemeGroupVersion: {"nodes": "Node", "pods": "Pod", "resourcequotas": "ResourceQuota", "services": "Service", "configmaps": "ConfigMap", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "persistentvolumes": "PersistentVolume", "namespaces": "Namespace"},
		api.GroupVersion:          {"evacuations": "Evacuation", "migrations": "Migration"},
		appsv1.SchemeGroupVersion: {"deployments": "Deployment"}, coordinationv1.SchemeGroupVersion: {"leases": "Lease"},
		storagev1.SchemeGroupVersion: {
			"storageclasses": "StorageClass", "csinodes": "CSINode", "volumeattachments": "VolumeAttachment", "csistoragecapacities": "CSIStorageCapacity",
		},
	}, objects...)
	connection, err := clusters.Connect("west", &rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s, connection
}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

// furnished are the objects of a destination: node a has a pod and two volumes, and node b is cordoned.
func furnished() []client.Object {
	node := func(name string, cordoned bool) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *quantity("4"), corev1.ResourceMemory: *quantity("8Gi"), corev1.ResourcePods: *quantity("10")}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		return n
	}
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{Phase: phase}}
		p.Spec.NodeName = "a"
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity("500m"), corev1.ResourceMemory: *quantity("1Gi")}}}}
		return p
	}
	attached := func(name, node, driver string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: node, Attacher: driver}}
	}
	capacity := func(name, class, free, largest string) *storagev1.CSIStorageCapacity {
		return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, StorageClassName: class, Capacity: quantity(free), MaximumVolumeSize: quantity(largest)}
	}
	quota := func(name string, scopes ...corev1.ResourceQuotaScope) *corev1.ResourceQuota {
		hard := corev1.ResourceList{corev1.ResourcePods: *quantity("5")}
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ResourceQuotaSpec{Scopes: scopes}, Status: corev1.ResourceQuotaStatus{Hard: hard}}
	}
	driver := storagev1.CSINodeDriver{Name: "disks", NodeID: "a", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(5))}}
	return []client.Object{
		node("a", false), node("b", true), pod("runs", corev1.PodRunning), pod("ended", corev1.PodSucceeded),
		&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver, {Name: "unlimited"}}}},
		attached("one", "a", "disks"), attached("two", "a", "disks"), attached("three", "b", "disks"), attached("four", "a", "unlimited"),
		capacity("east", "fast", "1Gi", "512Mi"), capacity("west", "fast", "2Gi", "1Gi"), capacity("slow", "slow", "4Gi", "4Gi"),
		quota("all"), quota("best", corev1.ResourceQuotaScopeBestEffort),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks"},
	}
}

// TestReadDestination: what the nodes, the classes and the quotas have left.
func TestReadDestination(t *testing.T) {
	_, connection := serve(t, furnished()...)
	r := &reader{options: &options{}, destination: connection}
	got, err := r.readDestination(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := evacuate.Destination{
		Nodes:   []evacuate.Node{{Name: "a", Free: evacuate.Amounts{MilliCPU: 3500, Memory: 7 << 30, Pods: 9}, Attach: map[string]int64{"disks": 3}}},
		Classes: []evacuate.Class{{Name: "fast", Free: 3 << 30, Largest: 1 << 30}, {Name: "slow", Free: 4 << 30, Largest: 4 << 30}},
		Quotas:  []evacuate.Quota{{Name: evacuate.Name{Namespace: "shop", Name: "all"}, Hard: corev1.ResourceList{corev1.ResourcePods: *quantity("5")}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.notes) > 0 || len(r.nodes) != 1 || len(r.classes) != 1 {
		t.Errorf("notes %q, %d nodes, %d classes", r.notes, len(r.nodes), len(r.classes))
	}
}

// TestReadWithoutRights: a list that may not be read leaves a note, and other errors end the command.
func TestReadWithoutRights(t *testing.T) {
	for name, tc := range map[string]struct {
		resource string
		err      error
		notes    int
		fails    bool
	}{
		"nodes":             {"nodes", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"pods":              {"pods", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"attachments":       {"volumeattachments", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"capacities":        {"csistoragecapacities", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"quotas":            {"resourcequotas", apierrors.NewForbidden(schema.GroupResource{}, "", nil), 1, false},
		"an error of a pod": {"pods", apierrors.NewInternalError(errors.New("broken")), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, connection := serve(t, furnished()...)
			s.Before = func(r *http.Request) error {
				if r.PathValue("resource") == tc.resource {
					return tc.err
				}
				return nil
			}
			r := &reader{options: &options{}, destination: connection}
			got, err := r.readDestination(t.Context())
			if (err != nil) != tc.fails || len(r.notes) != tc.notes {
				t.Errorf("error %v, notes %q", err, r.notes)
			}
			if unknown := tc.resource == "nodes" || tc.resource == "pods"; unknown && len(got.Nodes) > 0 {
				t.Errorf("nodes %+v", got.Nodes)
			}
		})
	}
}

// TestReadSource: the Services with the sets whose pods they select, and the ConfigMaps that pods name.
func TestReadSource(t *testing.T) {
	service := func(name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"DB_HOST": "db"}}
	_, connection := serve(t, service("db", map[string]string{"app": "db"}), service("bare", nil), service("other", map[string]string{"app": "other"}), settings)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	set.Spec.Template.Labels = map[string]string{"app": "db"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}}},
	}}}
	o := &options{namespaces: []string{"shop"}}
	r := &reader{options: o, source: connection, services: evacuate.Services{}, configMaps: map[evacuate.Name]*corev1.ConfigMap{}, measured: map[bool]measured{}}
	from := sets.Of(connection)
	found := []sets.Found{{StatefulSet: set, Kind: workload.Native{}, Object: set}}
	if err := r.readSource(t.Context(), &from, found, found); err != nil {
		t.Fatal(err)
	}
	shop := func(name string) evacuate.Name { return evacuate.Name{Namespace: "shop", Name: name} }
	want := evacuate.Services{shop("db"): {shop("db")}, shop("bare"): nil, shop("other"): nil}
	if diff := cmp.Diff(want, r.services); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.configMaps) != 1 || !strings.Contains(r.configMaps[shop("settings")].Data["DB_HOST"], "db") || len(r.notes) > 0 {
		t.Errorf("ConfigMaps %v, notes %q", r.configMaps, r.notes)
	}
}

// TestLeftWithoutRights: a report lists the StatefulSets for a user who may not list volumes. Another error ends it.
func TestLeftWithoutRights(t *testing.T) {
	for situation, tc := range map[string]struct {
		err   error
		fails bool
		known bool
	}{
		"may list volumes":     {nil, false, true},
		"may not list volumes": {apierrors.NewForbidden(schema.GroupResource{}, "", nil), false, false},
		"broken":               {apierrors.NewInternalError(errors.New("broken")), true, false},
	} {
		t.Run(situation, func(t *testing.T) {
			s, connection := serve(t)
			s.Before = func(r *http.Request) error {
				if r.PathValue("resource") == "persistentvolumes" {
					return tc.err
				}
				return nil
			}
			r := course{Migrations: []moved{{Source: name{Namespace: "shop", Name: "web"}}}}
			err := r.readLeft(t.Context(), connection)
			if (err != nil) != tc.fails || err == nil && (len(r.Left) != 1 || (r.Left[0].Volumes != nil) != tc.known) {
				t.Errorf("%v: %+v", err, r.Left)
			}
		})
	}
}
