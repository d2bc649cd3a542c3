package migration

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// copyMeta takes over labels and annotations, less what belongs to one object.
func copyMeta(from metav1.ObjectMeta, namespace, name string, owner types.UID) metav1.ObjectMeta {
	annotations := maps.Clone(from.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	delete(annotations, api.FenceAnnotationKey)
	delete(annotations, api.TemplateAnnotationKey)
	delete(annotations, slicesapi.MigratingAnnotationKey)
	delete(annotations, slicesapi.MaxUnavailableAnnotationKey)
	labels := maps.Clone(from.Labels)
	for _, key := range trackers {
		delete(annotations, key) // whoever tracks the source would prune the copy
		delete(labels, key)
	}
	annotations[api.OwnerAnnotationKey] = string(owner)
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: annotations}
}

// mapClasses gives claim templates the storage classes that the user mapped.
func mapClasses(templates []corev1.PersistentVolumeClaim, classes map[string]*string) {
	for i := range templates {
		templates[i].Status = corev1.PersistentVolumeClaimStatus{}
		if class := classes[templates[i].Name]; class != nil {
			templates[i].Spec.StorageClassName = class
		}
	}
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
