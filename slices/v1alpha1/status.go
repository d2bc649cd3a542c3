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
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// replicas is how many pods there are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
	// readyReplicas is how many of them are Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas"`
	// currentReplicas is how many have the current revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentReplicas int32 `json:"currentReplicas"`
	// updatedReplicas is how many have the update revision.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// availableReplicas is how many have been Ready for minReadySeconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AvailableReplicas int32 `json:"availableReplicas"`
	// updatedReadyReplicas is how many with the update revision are Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
	// updatedAvailableReplicas is how many with the update revision are available.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`
	// currentRevision is the revision that pods below the partition have.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`
	// updateRevision is the revision of the template.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// lastProgressTime is when the roll-out under way last got on: progressDeadlineSeconds
	// count from it. Without one, none is under way.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`
	// collisionCount keeps the names of revisions apart whose hashes are equal.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// observedMaxUnavailable is the value of the annotation apps.sliceshift.io/max-unavailable
	// that the controller acts under: what it had begun before is to be seen in the pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedMaxUnavailable *int32 `json:"observedMaxUnavailable,omitempty"`
	// labelSelector is the selector as text, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
	// volumeClaims says how many claims follow their template.
	// +optional
	// +listType=map
	// +listMapKey=volumeClaimName
	VolumeClaims []VolumeClaimStatus `json:"volumeClaims,omitempty"`
	// conditions: Ready, Reconciling, Stalled, Progressing, Held, FailedCreatePod, FailedUpdatePod.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VolumeClaimStatus says how many claims of a template follow it.
type VolumeClaimStatus struct {
	// volumeClaimName is the name of the claim template.
	VolumeClaimName string `json:"volumeClaimName"`
	// compatibleReplicas is how many claims request what the template does.
	// +optional
	CompatibleReplicas int32 `json:"compatibleReplicas"`
	// compatibleReadyReplicas is how many of them have it.
	// +optional
	CompatibleReadyReplicas int32 `json:"compatibleReadyReplicas"`
}
