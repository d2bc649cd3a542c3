package v1alpha1

// TerminationReasonPolicy selects the pods that get the termination reason before they are deleted.
// +kubebuilder:validation:Enum=IfRead;Always;Never
type TerminationReasonPolicy string

// The policies.
const (
	// AnnounceIfRead writes the reason on the pods that can read it.
	AnnounceIfRead TerminationReasonPolicy = "IfRead"
	// AnnounceAlways writes the reason on all pods.
	AnnounceAlways TerminationReasonPolicy = "Always"
	// AnnounceNever writes no reason.
	AnnounceNever TerminationReasonPolicy = "Never"
)

// Lifecycle has the hooks that delay a change of a pod.
type Lifecycle struct {
	// preDelete delays the deletion of a pod for an update, a scale-down or a specified delete.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`
	// inPlaceUpdate delays the in-place update of a pod.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`
}

// LifecycleHook delays a change of a pod for as long as the pod has all of the labels and finalizers.
type LifecycleHook struct {
	// labelsHandler are the labels that the pod must have.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`
	// finalizersHandler are the finalizers that the pod must have.
	// +optional
	// +listType=atomic
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`
	// markPodNotReady makes the pod not Ready while the hook delays the change.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}
