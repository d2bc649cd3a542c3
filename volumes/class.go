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

// NameClass lets a claim that names no class name this one. An empty name changes nothing.
func NameClass(claim *corev1.PersistentVolumeClaim, name string) {
	if name != "" && ClassNamed(claim) == nil {
		claim.Spec.StorageClassName = &name
	}
}

// Provides reports whether a class provisions volumes that a node with these labels reaches, as far as its allowed topologies
// show.
func Provides(class *storagev1.StorageClass, labels map[string]string) bool {
	within := func(term corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(e corev1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(e.Values, labels[e.Key])
		})
	}
	return len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, within)
}

func isDefault(class *storagev1.StorageClass) bool {
	return slices.ContainsFunc(defaultClass, func(key string) bool { return class.Annotations[key] == "true" })
}
