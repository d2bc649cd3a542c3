package preflight

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestCopying: a copy needs a claim on each side, a Service at the destination, and for its pods only what exceeds
// the requests of the ordinal's own pod, which is stopped.
func TestCopying(t *testing.T) {
	const own, class = "64Mi", "fast"
	source := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(own)}},
		}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
		}},
	}}
	large := resource.MustParse("3Gi")
	spec := api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(class), Copy: api.CopySpec{ServiceType: corev1.ServiceTypeLoadBalancer, Size: &large}}
	m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{spec}}}
	claims, storage := string(corev1.ResourcePersistentVolumeClaims), string(corev1.ResourceRequestsStorage)
	pod := map[string]string{"cpu": "100m", "requests.cpu": "100m", "memory": "64Mi", "requests.memory": "64Mi", "limits.memory": "512Mi"}
	for name, tc := range map[string]struct {
		roles []volumes.Role
		want  map[string]string
	}{
		"at the source": {[]volumes.Role{volumes.RoleSender}, map[string]string{claims: "1", "count/" + claims: "1", storage: "1Gi"}},
		"at the destination": {[]volumes.Role{volumes.RoleReceiver}, map[string]string{
			claims: "1", "count/" + claims: "1", storage: "3Gi", class + ".storageclass.storage.k8s.io/" + claims: "1", class + ".storageclass.storage.k8s.io/" + storage: "3Gi",
			"services": "1", "count/services": "1", "services.loadbalancers": "1", "services.nodeports": "1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			need := demand{of: corev1.ResourceList{}}
			need.filling(filledTemplates(m, source), source, tc.roles...)
			got := map[string]string{}
			for kind, amount := range need.of {
				got[string(kind)] = amount.String()
			}
			maps.Copy(tc.want, pod)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	both := demand{of: corev1.ResourceList{}}
	both.filling(filledTemplates(m, source), source, volumes.RoleReceiver, volumes.RoleSender)
	for name, want := range map[corev1.ResourceName]string{corev1.ResourcePods: "1", corev1.ResourcePersistentVolumeClaims: "2", corev1.ResourceRequestsStorage: "4Gi", corev1.ResourceRequestsMemory: "192Mi"} {
		if got := both.of[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("in one namespace a copy takes %s of %s, want %s", got.String(), name, want)
		}
	}
	three := demand{of: corev1.ResourceList{}}
	three.fillingAtOnce(3, filledTemplates(m, source), source, volumes.RoleReceiver, volumes.RoleSender)
	for name, one := range both.of {
		want := one.DeepCopy()
		want.Add(one)
		want.Add(one)
		if got := three.of[name]; got.Cmp(want) != 0 {
			t.Errorf("three ordinals at once take %s of %s, want %s", got.String(), name, want.String())
		}
	}
	m.Spec.Volumes[0].Copy.Prefetch = 2
	early := demand{of: corev1.ResourceList{}}
	early.filling(filledTemplates(m, source), source, volumes.RoleReceiver, volumes.RoleSender)
	for name, want := range map[corev1.ResourceName]string{corev1.ResourcePods: "5", corev1.ResourcePersistentVolumeClaims: "4", corev1.ResourceRequestsStorage: "10Gi", corev1.ResourceRequestsMemory: "704Mi"} {
		if got := early.of[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("two ordinals before their turn, and one whose turn it is, take %s of %s, want %s", got.String(), name, want)
		}
	}
}

// TestSnapshotting: a snapshot needs a VolumeSnapshot and a claim on each side. The pod that a restored volume waits
// for has the requests and limits of the ordinal's own pod, which is stopped. With two claims, the first pod takes
// the ordinal's place.
func TestSnapshotting(t *testing.T) {
	const class = "fast"
	template := func(name, size string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}},
		}
	}
	source := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}},
		}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template("data", "1Gi"), template("logs", "2Gi"), template("spool", "9Gi")},
	}}
	large := resource.MustParse("3Gi")
	m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{
		{ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: new(class), Snapshot: api.SnapshotSpec{Size: &large}},
		{ClaimTemplate: "logs", Method: api.MethodSnapshot},
		{ClaimTemplate: "spool", Method: api.MethodEmpty},
	}}}
	claims, storage := string(corev1.ResourcePersistentVolumeClaims), string(corev1.ResourceRequestsStorage)
	taken := map[string]string{claims: "2", "count/" + claims: "2", "count/volumesnapshots.snapshot.storage.k8s.io": "2"}
	second := map[string]string{"pods": "1", "count/pods": "1", "memory": "64Mi", "requests.memory": "64Mi", "limits.memory": "128Mi"}
	for name, tc := range map[string]struct {
		roles []volumes.Role
		want  map[string]string
	}{
		"at the source, both claims": {[]volumes.Role{volumes.RoleSender}, map[string]string{storage: "3Gi"}},
		"at the destination, as large as asked for, in its class": {[]volumes.Role{volumes.RoleReceiver}, map[string]string{
			storage: "5Gi", class + ".storageclass.storage.k8s.io/" + claims: "1", class + ".storageclass.storage.k8s.io/" + storage: "3Gi",
		}},
		"in one namespace, both": {[]volumes.Role{volumes.RoleReceiver, volumes.RoleSender}, map[string]string{
			storage: "8Gi", class + ".storageclass.storage.k8s.io/" + claims: "1", class + ".storageclass.storage.k8s.io/" + storage: "3Gi",
			claims: "4", "count/" + claims: "4", "count/volumesnapshots.snapshot.storage.k8s.io": "4",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			need := demand{of: corev1.ResourceList{}}
			need.filling(filledTemplates(m, source), source, tc.roles...)
			got := map[string]string{}
			for kind, amount := range need.of {
				got[string(kind)] = amount.String()
			}
			want := maps.Clone(taken)
			if slices.Contains(tc.roles, volumes.RoleReceiver) {
				maps.Copy(want, second)
			}
			maps.Copy(want, tc.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestWaysOfFilling: the finding names the objects that exceed the quota.
func TestWaysOfFilling(t *testing.T) {
	copied, snapshot := filledTemplate{asked: api.VolumeSpec{Method: api.MethodCopy}}, filledTemplate{asked: api.VolumeSpec{Method: api.MethodSnapshot}}
	for want, filled := range map[string][]filledTemplate{
		"the copying":                   {copied, copied},
		"the snapshots":                 {snapshot},
		"the copying and the snapshots": {snapshot, copied},
	} {
		if got := waysOf(filled); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
