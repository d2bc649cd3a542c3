// Package slim removes fields from objects that no decision reads.
package slim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/workload"
)

// Down removes the fields of an object that no decision reads, before it is kept. The result does not depend on the reader,
// so that every view can share it. Objects that are copied to another cluster are read in full from the API server, never
// from here.
func Down(object client.Object) {
	switch object := object.(type) {
	case *corev1.Pod:
		slimPod(object)
	case *corev1.PersistentVolumeClaim:
		*object = corev1.PersistentVolumeClaim{
			ObjectMeta: slimMeta(object.ObjectMeta),
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: object.Spec.VolumeName},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: object.Status.Phase},
		}
	case *corev1.PersistentVolume:
		slimVolume(object)
	case *storagev1.VolumeAttachment:
		source := storagev1.VolumeAttachmentSource{PersistentVolumeName: object.Spec.Source.PersistentVolumeName}
		*object = storagev1.VolumeAttachment{ObjectMeta: slimMeta(object.ObjectMeta), Spec: storagev1.VolumeAttachmentSpec{NodeName: object.Spec.NodeName, Source: source}}
	case *corev1.Service:
		*object = corev1.Service{ObjectMeta: slimMeta(object.ObjectMeta)}
	case *policyv1.PodDisruptionBudget:
		object.ManagedFields = append(writers(object.ManagedFields), timesOfOurs(object.ManagedFields)...)
		object.Status.Conditions = nil
		delete(object.Annotations, corev1.LastAppliedConfigAnnotation)
	default:
		if workload.Is(object) {
			object.SetManagedFields(writers(object.GetManagedFields()))
			annotations := object.GetAnnotations()
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			object.SetAnnotations(annotations)
		}
	}
}

// ours are the annotations with which migrations coordinate.
var ours = []string{api.OwnerAnnotationKey, api.FenceAnnotationKey, api.OriginalReclaimPolicyAnnotationKey, api.ReleasedAnnotationKey, api.SealAnnotationKey, api.VolumeThereAnnotationKey, api.LeftOutAnnotationKey}

// slimMeta keeps identity, owners and the annotations of migrations.
func slimMeta(of metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name: of.Name, Namespace: of.Namespace, UID: of.UID, ResourceVersion: of.ResourceVersion,
		CreationTimestamp: of.CreationTimestamp, DeletionTimestamp: of.DeletionTimestamp, OwnerReferences: of.OwnerReferences, Finalizers: finalizers(of),
	}
	for _, key := range ours {
		if value, found := of.Annotations[key]; found {
			metav1.SetMetaDataAnnotation(&kept, key, value)
		}
	}
	return kept
}

// finalizers returns the finalizers that a deletion may wait for: all of them if the object is being deleted. Otherwise it
// omits those of Kubernetes itself, which nearly all claims and volumes have.
func finalizers(of metav1.ObjectMeta) []string {
	if of.DeletionTimestamp != nil {
		return of.Finalizers
	}
	var kept []string
	for _, finalizer := range of.Finalizers {
		if !strings.HasPrefix(finalizer, "kubernetes.io/") {
			kept = append(kept, finalizer)
		}
	}
	return kept
}

// slimPod keeps the labels, which PodDisruptionBudgets select, the annotations, which kinds of StatefulSets use, the
// finalizers, which deletions wait for, the mounted claims and the status.
func slimPod(pod *corev1.Pod) {
	kept := corev1.Pod{ObjectMeta: slimMeta(pod.ObjectMeta), Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName}}
	delete(pod.Annotations, corev1.LastAppliedConfigAnnotation)
	kept.Labels, kept.Annotations, kept.Finalizers = pod.Labels, pod.Annotations, pod.Finalizers
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.ClaimName}
			kept.Spec.Volumes = append(kept.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
		}
	}
	kept.Status = corev1.PodStatus{
		Phase: pod.Status.Phase, Conditions: pod.Status.Conditions,
		InitContainerStatuses: slimStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: slimStatuses(pod.Status.ContainerStatuses),
	}
	*pod = kept
}

// slimVolume keeps the identity of the disk, because a volume of any claim may be the same disk, and the time of the last
// phase transition.
func slimVolume(volume *corev1.PersistentVolume) {
	kept := corev1.PersistentVolume{
		ObjectMeta: slimMeta(volume.ObjectMeta),
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: volume.Spec.PersistentVolumeSource, PersistentVolumeReclaimPolicy: volume.Spec.PersistentVolumeReclaimPolicy,
			StorageClassName: volume.Spec.StorageClassName, AccessModes: volume.Spec.AccessModes, VolumeAttributesClassName: volume.Spec.VolumeAttributesClassName,
		},
		Status: corev1.PersistentVolumeStatus{Phase: volume.Status.Phase, LastPhaseTransitionTime: volume.Status.LastPhaseTransitionTime},
	}
	if ref := volume.Spec.ClaimRef; ref != nil {
		kept.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	}
	if csi := kept.Spec.CSI; csi != nil {
		csi.VolumeAttributes = disk.Locating(csi.VolumeAttributes)
	}
	*volume = kept
}

// slimStatuses keeps the reasons why a container does not run.
func slimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range statuses {
		s := &statuses[i]
		kept = append(kept, corev1.ContainerStatus{
			Name:                 s.Name,
			State:                corev1.ContainerState{Waiting: slimWait(s.State.Waiting), Terminated: slimEnd(s.State.Terminated)},
			LastTerminationState: corev1.ContainerState{Terminated: slimEnd(s.LastTerminationState.Terminated)},
		})
	}
	return kept
}

func slimWait(waiting *corev1.ContainerStateWaiting) *corev1.ContainerStateWaiting {
	if waiting == nil {
		return nil
	}
	return &corev1.ContainerStateWaiting{Reason: waiting.Reason}
}

func slimEnd(ended *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if ended == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{Reason: ended.Reason, ExitCode: ended.ExitCode}
}

// writers returns the managed fields that may show a foreign writer of a spec. It omits those of this product and those of a
// status.
func writers(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range fields {
		if entry.Manager != api.FieldManager && entry.Subresource != "status" && entry.FieldsV1 != nil {
			kept = append(kept, entry)
		}
	}
	return kept
}

// timesOfOurs returns the times at which a migration wrote an object, without the fields.
func timesOfOurs(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range fields {
		if entry.Manager == api.FieldManager && entry.Subresource == "" && entry.Time != nil {
			kept = append(kept, metav1.ManagedFieldsEntry{Manager: entry.Manager, Time: entry.Time})
		}
	}
	return kept
}
