package preflight

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// TestDifferences: a default that an API server sets for one kind only is not a difference; a value that a user wrote
// is.
func TestDifferences(t *testing.T) {
	written := appsv1.StatefulSetSpec{
		Replicas: new(int32(3)), ServiceName: "web", UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		Template:             corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}},
	}
	stored := *written.DeepCopy()
	stored.Replicas = nil
	stored.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))}
	stored.Template.Spec.RestartPolicy, stored.Template.Spec.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
	stored.Template.Spec.Containers[0].TerminationMessagePath = corev1.TerminationMessagePathDefault
	stored.VolumeClaimTemplates[0].Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	stored.VolumeClaimTemplates[0].Status.Phase = corev1.ClaimPending
	stored.VolumeClaimTemplates[0].Kind = "PersistentVolumeClaim"
	for name, tc := range map[string]struct {
		change func(*appsv1.StatefulSetSpec)
		want   int
	}{
		"filled in":     {func(*appsv1.StatefulSetSpec) {}, 0},
		"another image": {func(s *appsv1.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" }, 1},
		"a block volume": {func(s *appsv1.StatefulSetSpec) {
			s.VolumeClaimTemplates[0].Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		}, 1},
		"another strategy": {func(s *appsv1.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(2)) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			spec := *stored.DeepCopy()
			tc.change(&spec)
			found := differences(endpoint.Endpoint{}, &api.Migration{}, &appsv1.StatefulSet{Spec: written}, &appsv1.StatefulSet{Spec: spec})
			if len(found) != tc.want {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestOnlyAnEmptyDestinationIsDeleted: the remedy deletes a StatefulSet of the destination only if it has no replicas, and never
// its claims.
func TestOnlyAnEmptyDestinationIsDeleted(t *testing.T) {
	source := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
	for name, tc := range map[string]struct {
		replicas *int32
		deletes  bool
	}{
		"by default one replica": {nil, false},
		"two replicas":           {new(int32(2)), false},
		"no replicas":            {new(int32(0)), true},
	} {
		t.Run(name, func(t *testing.T) {
			there := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{ServiceName: "other", Replicas: tc.replicas}}
			found := differences(endpoint.Endpoint{Namespace: "shop", Set: "web"}, &api.Migration{}, source, there)
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			remedy := found[0].Remedy
			if strings.Contains(remedy, " delete ") != tc.deletes || strings.Contains(remedy, "--cascade=orphan") != tc.deletes {
				t.Errorf("it says: %s", remedy)
			}
		})
	}
}
