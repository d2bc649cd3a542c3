package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StatefulSetStatus has every field of apps/v1, and more.
//
// +kubebuilder:validation:XValidation:rule="self.?readyReplicas.orValue(0) <= self.?replicas.orValue(0)",message="status.readyReplicas must not be greater than status.replicas",fieldPath=".readyReplicas"
// +kubebuilder:validation:XValidation:rule="self.?currentReplicas.orValue(0) <= self.?replicas.orValue(0)",message="status.currentReplicas must not be greater than status.replicas",fieldPath=".currentReplicas"
// +kubebuilder:validation:XValidation:rule="self.?updatedReplicas.orValue(0) <= self.?replicas.orValue(0)",message="status.updatedReplicas must not be greater than status.replicas",fieldPath=".updatedReplicas"
// +kubebuilder:validation:XValidation:rule="self.?availableReplicas.orValue(0) <= self.?replicas.orValue(0)",message="status.availableReplicas must not be greater than status.replicas",fieldPath=".availableReplicas"
// +kubebuilder:validation:XValidation:rule="self.?availableReplicas.orValue(0) <= self.?readyReplicas.orValue(0)",message="status.availableReplicas must not be greater than status.readyReplicas",fieldPath=".availableReplicas"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.collisionCount) || has(self.collisionCount) && self.collisionCount >= oldSelf.collisionCount",message="status.collisionCount must not become lower",fieldPath=".collisionCount"
type StatefulSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// replicas is the number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
	// readyReplicas is the number of pods that are Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas"`
	// currentReplicas is the number of pods at the current revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentReplicas int32 `json:"currentReplicas"`
	// updatedReplicas is the number of pods at the update revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// availableReplicas is the number of pods that have been Ready for minReadySeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AvailableReplicas int32 `json:"availableReplicas"`
	// updatedReadyReplicas is the number of pods at the update revision that are Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
	// updatedAvailableReplicas is the number of pods at the update revision that are available.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`
	// currentRevision is the revision of the pods below the partition.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`
	// updateRevision is the revision of the template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// failedRevision is the update revision if its roll-out has failed and updateStrategy has onFailure: Rollback. Pods then
	// return to currentRevision, and new pods get it, until spec.template changes or onFailure is Halt. Applying the same
	// template again does not restart the roll-out.
	// +optional
	FailedRevision string `json:"failedRevision,omitempty"`
	// lastProgressTime is the time at which the current roll-out last made progress, or the later time at which a pod of its
	// revision became late. progressDeadlineSeconds counts from it. It is empty while no roll-out is in progress.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`
	// collisionCount distinguishes the names of revisions whose hashes are equal.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// observedMaxUnavailable is the value of the annotation apps.sliceshift.io/max-unavailable that the controller applies
	// now. The effect of everything that it began under the previous value is visible in the pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedMaxUnavailable *int32 `json:"observedMaxUnavailable,omitempty"`
	// labelSelector is the selector as text, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
	// volumeClaims counts, for each template, the claims that match it.
	// +optional
	// +listType=map
	// +listMapKey=volumeClaimName
	VolumeClaims []VolumeClaimStatus `json:"volumeClaims,omitempty"`
	// conditions are Ready, Reconciling, Stalled, Progressing, Held, ClaimsBehind, Split, FailedCreatePod and FailedUpdatePod.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VolumeClaimStatus counts the claims of a template that match it.
type VolumeClaimStatus struct {
	// volumeClaimName is the name of the claim template.
	VolumeClaimName string `json:"volumeClaimName"`
	// compatibleReplicas is the number of claims that request the size in the template.
	// +optional
	CompatibleReplicas int32 `json:"compatibleReplicas"`
	// compatibleReadyReplicas is the number of those claims that have that size.
	// +optional
	CompatibleReadyReplicas int32 `json:"compatibleReadyReplicas"`
}
