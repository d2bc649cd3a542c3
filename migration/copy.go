package migration

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// copyMeta takes over labels and annotations, less what belongs to one object.
func copyMeta(from metav1.ObjectMeta, namespace, name string, owner types.UID) metav1.ObjectMeta {
	annotations := maps.Clone(from.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	delete(annotations, api.FenceAnnotationKey)
	labels := maps.Clone(from.Labels)
	for _, key := range trackers {
		delete(annotations, key) // whoever tracks the source would prune the copy
		delete(labels, key)
	}
	annotations[api.OwnerAnnotationKey] = string(owner)
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations}
}

// copySet makes the destination's StatefulSet: the source's without replicas, with
// the storage classes that the user mapped.
func copySet(from *appsv1.StatefulSet, meta metav1.ObjectMeta, start int32, classes map[string]*string) *appsv1.StatefulSet {
	none := int32(0)
	set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: *from.Spec.DeepCopy()}
	set.Spec.Replicas = &none
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start}
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		template.Status = corev1.PersistentVolumeClaimStatus{}
		if class := classes[template.Name]; class != nil {
			template.Spec.StorageClassName = class
		}
	}
	return set
}

// copyService makes the destination's governing Service, less what a cluster
// assigns.
func copyService(from *corev1.Service, meta metav1.ObjectMeta) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: *from.Spec.DeepCopy()}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil
	}
	service.Spec.HealthCheckNodePort = 0
	service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = nil, nil
	for i := range service.Spec.Ports {
		service.Spec.Ports[i].NodePort = 0
	}
	return service
}

// storageClasses are the destination's classes by claim template.
func storageClasses(m *api.Migration) map[string]*string {
	classes := map[string]*string{}
	for _, volume := range m.Spec.Volumes {
		classes[volume.ClaimTemplate] = volume.StorageClassName
	}
	return classes
}
