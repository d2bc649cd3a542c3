package volumes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// boundByController marks a claimRef that the binder has set.
const boundByController = "pv.kubernetes.io/bound-by-controller"

// bookkeeping lists the annotations in which the controllers of one cluster record their own work. In another
// cluster they would be wrong.
var bookkeeping = []string{
	"pv.kubernetes.io/bind-completed",
	boundByController,
	"pv.kubernetes.io/migrated-to",
	"volume.kubernetes.io/selected-node",
	"volume.kubernetes.io/storage-resizer",
	corev1.LastAppliedConfigAnnotation,
}

// Form is the requested form of claims on the side where they are created.
type Form struct {
	// StorageClass is their class; nil for the class of the other side.
	StorageClass *string
	// AccessModes are those of claims with new volumes; empty for the modes of the other side.
	AccessModes []corev1.PersistentVolumeAccessMode
}

// FormOf returns the requested form of a template's claims at the destination.
func FormOf(asked api.VolumeSpec) Form {
	return Form{StorageClass: asked.StorageClassName, AccessModes: asked.AccessModes}
}

// Give applies that form to a claim. With a named class the claim gets no VolumeAttributesClass, because that of the
// other side belongs to the driver of the former class, and no annotation that precedes spec.storageClassName.
func (f Form) Give(claim *corev1.PersistentVolumeClaim) {
	if f.StorageClass != nil {
		claim.Spec.StorageClassName, claim.Spec.VolumeAttributesClassName = f.StorageClass, nil
		claim.Annotations = maps.Clone(claim.Annotations)
		delete(claim.Annotations, corev1.BetaStorageClassAnnotation)
	}
	if len(f.AccessModes) > 0 {
		claim.Spec.AccessModes = f.AccessModes
	}
}

// CopyVolume returns a volume for the same disk in another cluster. It has the same source and attributes,
// policy Retain, and is reserved for a claim. It keeps the annotation pv.kubernetes.io/provisioned-by, so that
// the destination's provisioner can delete the disk later at its owner's request. If its name differs from the
// original's, an annotation records the original's name.
func CopyVolume(from *corev1.PersistentVolume, name string, ref Ref, owner types.UID, form Form) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(from.Labels), Annotations: carried(harmless(from.Annotations), owner)},
		Spec:       *from.Spec.DeepCopy(),
	}
	if name != from.Name {
		volume.Annotations[api.VolumeThereAnnotationKey] = from.Name
	}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	if form.StorageClass != nil {
		volume.Spec.StorageClassName = *form.StorageClass
	}
	return volume
}

// CopyClaim returns the other side's claim, bound to a volume by name if one is given. It has no data source, because
// the volume has the data. A disk that is carried over keeps its attributes under any class.
func CopyClaim(from *corev1.PersistentVolumeClaim, ref Ref, volume string, owner types.UID, form Form) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, Labels: maps.Clone(from.Labels), Annotations: carried(from.Annotations, owner)},
		Spec:       *from.Spec.DeepCopy(),
	}
	claim.Spec.VolumeName = volume
	claim.Spec.DataSource, claim.Spec.DataSourceRef = nil, nil
	form.Give(claim)
	if volume != "" {
		claim.Spec.VolumeAttributesClassName = from.Spec.VolumeAttributesClassName
	}
	return claim
}

// deletionSecretNamespace is the annotation with the namespace of the Secret with which a provisioner deletes
// the disk.
const deletionSecretNamespace = "volume.kubernetes.io/provisioner-deletion-secret-namespace"

// volumeAnnotations lists the annotations that are copied with a volume: its provisioner, and the Secret with
// which that provisioner deletes it. The policy judges that Secret. Any other annotation may instruct a
// controller of the other cluster.
var volumeAnnotations = []string{
	"pv.kubernetes.io/provisioned-by", "volume.kubernetes.io/provisioner-deletion-secret-name", deletionSecretNamespace, api.OriginalReclaimPolicyAnnotationKey,
}

// harmless returns the annotations of a volume that are copied.
func harmless(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, _ string) bool { return !slices.Contains(volumeAnnotations, key) })
	return kept
}

func carried(annotations map[string]string, owner types.UID) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range bookkeeping {
		delete(out, key)
	}
	delete(out, api.FenceAnnotationKey)
	delete(out, api.ReleasedAnnotationKey)
	out[api.OwnerAnnotationKey] = string(owner)
	return out
}
