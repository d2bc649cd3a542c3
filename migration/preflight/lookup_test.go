package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// claimedSet returns a StatefulSet shop/web of three ordinals with a claim each, on a CSI driver.
func claimedSet(change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Replicas, set.Spec.ServiceName = new(int32(3)), "web"
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast")}}}
	if change != nil {
		change(set)
	}
	return set
}

// claimsAndVolumes returns the claims and volumes of its ordinals.
func claimsAndVolumes(change func(*corev1.PersistentVolume)) (objects []client.Object) {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	for ordinal := range 3 {
		name := fmt.Sprintf("data-web-%d", ordinal)
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{
			Capacity: size, ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: name}},
		}}
		if change != nil {
			change(pv)
		}
		objects = append(objects, pv, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: pv.Name, Resources: corev1.VolumeResourceRequirements{Requests: size}},
		})
	}
	return objects
}

func readyNode(name string, labels map[string]string) client.Object {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

func inZone(pv *corev1.PersistentVolume) {
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"1"}}},
	}}}}
}

// TestPlacement: the nodes must be able to take the pods and their volumes, and the pods of a required pod affinity
// must exist.
func TestPlacement(t *testing.T) {
	first, second := map[string]string{"zone": "1"}, map[string]string{"zone": "2"}
	choose := func(zone string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.NodeSelector = map[string]string{"zone": zone} }
	}
	nearDB := func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
		}}}
	}
	db := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: map[string]string{"app": "db"}}}
	for name, tc := range map[string]struct {
		change func(*appsv1.StatefulSet)
		volume func(*corev1.PersistentVolume)
		there  []client.Object
		reason string
		says   string
	}{
		"they fit":                     {nil, nil, []client.Object{readyNode("a", nil)}, "", ""},
		"there are no nodes":           {choose("1"), nil, nil, "", ""},
		"no node for the pods":         {choose("3"), nil, []client.Object{readyNode("a", first)}, api.ReasonNoNodeFits, "nodeSelector"},
		"the volumes are there, too":   {choose("1"), inZone, []client.Object{readyNode("a", first), readyNode("b", second)}, "", ""},
		"the volumes are elsewhere":    {choose("2"), inZone, []client.Object{readyNode("a", first), readyNode("b", second)}, volumes.ReasonVolumeOutOfReach, "cannot take a pod"},
		"the volumes are nowhere":      {choose("2"), inZone, []client.Object{readyNode("b", second)}, "", ""}, // reported by the check of the volumes
		"nobody to be near to":         {nearDB, nil, []client.Object{readyNode("a", first)}, api.ReasonNoNodeFits, "near to pods with app=db"},
		"somebody is there to be near": {nearDB, nil, []client.Object{readyNode("a", first), db}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Inspector{Pair: endpointtest.Pair(clustertest.New(claimsAndVolumes(tc.volume)...), clustertest.New(tc.there...))}
			found, err := e.placement(t.Context(), &api.Migration{}, claimedSet(tc.change), nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.reason == "" && len(found) > 0 || tc.reason != "" && (len(found) != 1 || found[0].Reason != tc.reason || !strings.Contains(found[0].Message, tc.says)) {
				t.Errorf("found %+v, want %s", found, tc.reason)
			}
			e.Destination.ID = e.Source.ID
			if found, err := e.placement(t.Context(), &api.Migration{}, claimedSet(tc.change), nil); err != nil || len(found) > 0 {
				t.Errorf("within a cluster: %+v, %v", found, err)
			}
		})
	}
}

// TestAdvisoryRights: a missing right that only a check needs is reported, and refuses nothing; without an answer
// there is an error.
func TestAdvisoryRights(t *testing.T) {
	withMap := func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Volumes = []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "keys", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "keys.example.com"}}},
		}
	}
	away := errors.New("no route to host")
	for right, look := range map[string]func(*Inspector) ([]plan.Finding, error){
		"list nodes": func(e *Inspector) ([]plan.Finding, error) {
			return e.placement(t.Context(), &api.Migration{}, claimedSet(withMap), nil)
		},
		"list storageclasses": func(e *Inspector) ([]plan.Finding, error) {
			return e.classes(t.Context(), &api.Migration{}, claimedSet(withMap))
		},
		"get configmaps": func(e *Inspector) ([]plan.Finding, error) {
			return e.addresses(t.Context(), &api.Migration{}, claimedSet(withMap))
		},
		"get csidrivers": func(e *Inspector) ([]plan.Finding, error) {
			return e.inline(t.Context(), &api.Migration{}, claimedSet(withMap))
		},
	} {
		t.Run(right, func(t *testing.T) {
			for _, answer := range []error{apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right")), away} {
				refuses := clustertest.Failing(answer, "get", "list")
				e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(refuses), clustertest.Hooked(refuses))}
				found, err := look(e)
				if errors.Is(answer, away) {
					if !errors.Is(err, away) {
						t.Errorf("nobody answered, and it says %v, %v", found, err)
					}
					continue
				}
				if err != nil || len(found) != 1 || !found[0].Warning || found[0].Reason != api.ReasonPermissionMissing || !strings.Contains(found[0].Message, "may not "+right) || !strings.Contains(found[0].Remedy, right) {
					t.Errorf("found %+v, %v", found, err)
				}
			}
		})
	}
	t.Run("hooks need none", func(t *testing.T) {
		e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(clustertest.Failing(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right")), "get")), nil)}
		if found, err := e.hooks(t.Context(), &api.Migration{}, claimedSet(withMap)); err != nil || len(found) > 0 {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}

// TestFreeVolumes: if new volumes have a class without a provisioner, the destination needs a free volume for each
// moving ordinal. A copy is written to a claim of another name than the ordinal's; an existing claim of method Empty
// needs none.
func TestFreeVolumes(t *testing.T) {
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	mode := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	set := claimedSet(func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.AccessModes = mode
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = size("1Gi")
	})
	by := func(method api.VolumeMethod, change func(*api.Migration)) *api.Migration {
		m := &api.Migration{}
		m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: method}}
		if change != nil {
			change(m)
		}
		return m
	}
	class := func(provisioner string) client.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: provisioner}
	}
	const byHand = "kubernetes.io/no-provisioner"
	var disks []client.Object
	for i := range 2 {
		disks = append(disks, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("disk-%d", i)}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
			Spec: corev1.PersistentVolumeSpec{Capacity: size("1Gi"), StorageClassName: "fast", AccessModes: mode},
		})
	}
	third := disks[1].DeepCopyObject().(*corev1.PersistentVolume)
	third.Name, third.Spec.ClaimRef = "disk-2", &corev1.ObjectReference{Namespace: "shop", Name: "data-web-2"}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}}
	for name, tc := range map[string]struct {
		m     *api.Migration
		there []client.Object
		says  string
	}{
		"copied, one too few":           {by(api.MethodCopy, nil), append(slices.Clone(disks), class(byHand)), "needs 3 new volumes for claim template data, but StorageClass fast in cluster west provisions none (kubernetes.io/no-provisioner): of the volumes that exist there, 2 are free"},
		"copied, reserved for ordinals": {by(api.MethodCopy, nil), append(slices.Clone(disks), third, class(byHand)), "2 are free"},
		"copied, two of them":           {by(api.MethodCopy, func(m *api.Migration) { m.Spec.Ordinals.Count = new(int32(2)) }), append(slices.Clone(disks), class(byHand)), ""},
		"copied, too large":             {by(api.MethodCopy, func(m *api.Migration) { m.Spec.Volumes[0].Copy.Size = new(resource.MustParse("2Gi")) }), append(slices.Clone(disks), class(byHand)), "0 are free and fit (at least 2Gi"},
		"empty, one is reserved":        {by(api.MethodEmpty, nil), append(slices.Clone(disks), third, class(byHand)), ""},
		"empty, a claim is there":       {by(api.MethodEmpty, nil), append(slices.Clone(disks), claim, class(byHand)), ""},
		"a class that makes them":       {by(api.MethodCopy, nil), []client.Object{class("disks.example.com")}, ""},
		"restored by a driver":          {by(api.MethodSnapshot, nil), []client.Object{class(byHand)}, ""},
		"carried over":                  {by(api.MethodRebind, nil), []client.Object{class(byHand)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(clustertest.Hooks{}), clustertest.Hooked(clustertest.Hooks{}, tc.there...))}
			found, err := e.classes(t.Context(), tc.m, set)
			if err != nil || tc.says == "" && len(found) > 0 {
				t.Fatalf("found %+v, %v", found, err)
			}
			if tc.says != "" && (len(found) != 1 || found[0].Reason != volumes.ReasonVolumesTooFew || found[0].Warning || !strings.Contains(found[0].Message, tc.says)) {
				t.Errorf("found %+v, want %q", found, tc.says)
			}
		})
	}
	t.Run("they may not be listed", func(t *testing.T) {
		refuses := clustertest.Hooks{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*corev1.PersistentVolumeList); is {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))
			}
			return c.List(ctx, list, options...)
		}}
		e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(clustertest.Hooks{}), clustertest.Hooked(refuses, class(byHand)))}
		found, err := e.classes(t.Context(), by(api.MethodCopy, nil), set)
		if err != nil || len(found) != 1 || !found[0].Warning || !strings.Contains(found[0].Message, "may not list persistentvolumes") {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}

// TestEachThingIsReadOnce: a driver is read once for all its volumes, and nodes, volumes and ConfigMaps are read once
// for all checks.
func TestEachThingIsReadOnce(t *testing.T) {
	var mu sync.Mutex
	read := map[string]int{}
	hooks := clustertest.Before(func(verb string, o runtime.Object) error {
		mu.Lock()
		defer mu.Unlock()
		read[fmt.Sprintf("%s %T", verb, o)]++
		return nil
	})
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.example.com"}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}}
	set := claimedSet(func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	})
	e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(hooks, append(claimsAndVolumes(nil), driver, settings)...), clustertest.Hooked(hooks, readyNode("a", nil))), shared: &shared{}}
	pvs, err := e.claimed(t.Context(), &api.Migration{}, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []func(*Inspector) ([]plan.Finding, error){
		func(e *Inspector) ([]plan.Finding, error) { return e.release(t.Context(), &api.Migration{}, set) },
		func(e *Inspector) ([]plan.Finding, error) {
			return e.placement(t.Context(), &api.Migration{}, set, nil)
		},
		func(e *Inspector) ([]plan.Finding, error) { return e.hooks(t.Context(), &api.Migration{}, set) },
		func(e *Inspector) ([]plan.Finding, error) { return e.addresses(t.Context(), &api.Migration{}, set) },
		func(e *Inspector) ([]plan.Finding, error) { return e.classes(t.Context(), &api.Migration{}, set) },
		func(e *Inspector) ([]plan.Finding, error) { return e.resizing(t.Context(), &api.Migration{}, set) },
		func(e *Inspector) ([]plan.Finding, error) { return e.hosts(t.Context(), pvs) },
	} {
		if _, err := look(e); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := e.firstClaims(t.Context(), &api.Migration{}, set)
	if err != nil || len(objects) != 2 || objects[0].GetName() != "data-web-2" || objects[1].GetName() != "pv-data-web-2" {
		t.Errorf("the first ordinal gets %v: %v", objects, err)
	}
	for what, n := range read {
		if n != 1 || strings.HasPrefix(what, "get *v1.PersistentVolume") {
			t.Errorf("%d times: %s", n, what)
		}
	}
	if len(read) < 8 {
		t.Errorf("only %v were read", read)
	}
}

// TestP1DriverWithoutCSIDriver: a CSIDriver object is optional; a node that runs the driver is enough.
func TestP1DriverWithoutCSIDriver(t *testing.T) {
	node := func(driver string) client.Object {
		return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver}}}}
	}
	volume := corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: "h"},
	}}}
	for name, tc := range map[string]struct {
		there   client.Object
		missing bool
	}{
		"it has a CSIDriver":  {&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.example.com"}}, false},
		"a node runs it":      {node("disks.example.com"), false},
		"no node runs it":     {node("others.example.com"), true},
		"there are no nodes":  {readyNode("node-1", nil), true},
		"a driver's own name": {node("x.disks.example.com"), true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Inspector{Pair: endpointtest.Pair(clustertest.New(), clustertest.New(tc.there))}
			findings, err := e.drivers(t.Context(), []corev1.PersistentVolume{volume})
			if err != nil {
				t.Fatal(err)
			}
			if missing := len(findings) == 1 && findings[0].Reason == volumes.ReasonDriverMissing; missing != tc.missing {
				t.Errorf("found %+v, missing: %t", findings, tc.missing)
			}
		})
	}
}
