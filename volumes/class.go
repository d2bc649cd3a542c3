package volumes

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// defaultClass lists the annotations of the default StorageClass (kubernetes pkg/volume/util/storageclass.go).
var defaultClass = []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}

// ClassNamed returns the storage class that a claim names; nil for the default class. The annotation that precedes
// spec.storageClassName has priority, like in Kubernetes.
func ClassNamed(claim *corev1.PersistentVolumeClaim) *string {
	if name, beta := claim.Annotations[corev1.BetaStorageClassAnnotation]; beta {
		return &name
	}
	return claim.Spec.StorageClassName
}

// ClassOf returns the storage class of a volume; empty if it has none.
func ClassOf(volume *corev1.PersistentVolume) string {
	if name, beta := volume.Annotations[corev1.BetaStorageClassAnnotation]; beta {
		return name
	}
	return volume.Spec.StorageClassName
}

// FindClass returns the class that a claim gets that names this one: of that name, or the default class for nil. It
// returns nil if there is none. Of several default classes Kubernetes takes the newest, and of the same age the first by
// name.
func FindClass(name *string, classes []storagev1.StorageClass) *storagev1.StorageClass {
	var found *storagev1.StorageClass
	for i := range classes {
		class := &classes[i]
		switch {
		case name != nil && class.Name == *name:
			return class
		case name != nil || !isDefault(class):
		case found == nil || cmp.Or(found.CreationTimestamp.Compare(class.CreationTimestamp.Time), cmp.Compare(class.Name, found.Name)) < 0:
			found = class
		}
	}
	return found
}

func isDefault(class *storagev1.StorageClass) bool {
	return slices.ContainsFunc(defaultClass, func(key string) bool { return class.Annotations[key] == "true" })
}
