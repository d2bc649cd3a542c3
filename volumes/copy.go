package volumes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// boundByController marks a claimRef that the binder has chosen by itself.
const boundByController = "pv.kubernetes.io/bound-by-controller"

// bookkeeping are the annotations by which the controllers of one cluster keep
// track of their own work; they would lie in another.
var bookkeeping = []string{
	"pv.kubernetes.io/bind-completed",
	boundByController,
	"pv.kubernetes.io/migrated-to",
	"volume.kubernetes.io/selected-node",
	"volume.kubernetes.io/storage-resizer",
	corev1.LastAppliedConfigAnnotation,
}

// Form is what is asked for of claims at the side where they are made.
type Form struct {
	// StorageClass is their class; nil: as on the other side.
	StorageClass *string
	// AccessModes are those of claims with new volumes; none: as on the other side.
	AccessModes []corev1.PersistentVolumeAccessMode
}

// FormOf is what is asked for of the claims of a template at the destination.
func FormOf(asked api.VolumeSpec) Form {
	return Form{StorageClass: asked.StorageClassName, AccessModes: asked.AccessModes}
}

// Give gives that form to a claim.
func (f Form) Give(claim *corev1.PersistentVolumeClaimSpec) {
	if f.StorageClass != nil {
		claim.StorageClassName = f.StorageClass
	}
	if len(f.AccessModes) > 0 {
		claim.AccessModes = f.AccessModes
	}
}

// CopyVolume makes the volume of another cluster for the same disk: the source and
// its attributes word for word, policy Retain, reserved for a claim. The annotation
// pv.kubernetes.io/provisioned-by stays, so that the destination's provisioner can
// delete the disk one day when its owner asks for it. Under another name than the source has it says what that is called.
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

// CopyClaim makes the claim of the other side, bound to a volume by name. It has no
// data source: the volume has the data.
func CopyClaim(from *corev1.PersistentVolumeClaim, ref Ref, volume string, owner types.UID, form Form) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, Labels: maps.Clone(from.Labels), Annotations: carried(from.Annotations, owner)},
		Spec:       *from.Spec.DeepCopy(),
	}
	claim.Spec.VolumeName = volume
	claim.Spec.DataSource, claim.Spec.DataSourceRef = nil, nil
	form.Give(&claim.Spec)
	return claim
}

// deletionSecretNamespace is where the Secret is with which a provisioner deletes the disk.
const deletionSecretNamespace = "volume.kubernetes.io/provisioner-deletion-secret-namespace"

// volumeAnnotations are those that come along with a volume: who has made it, and with which Secret that deletes it one day, which
// the policy judges. Any other may tell a controller of the other cluster what to do.
var volumeAnnotations = []string{
	"pv.kubernetes.io/provisioned-by", "volume.kubernetes.io/provisioner-deletion-secret-name", deletionSecretNamespace, api.OriginalReclaimPolicyAnnotationKey,
}

// harmless are the annotations of a volume that come along.
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
