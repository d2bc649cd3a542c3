package v1alpha1

// TerminationReasonPolicy says which pods are told why they are deleted.
// +kubebuilder:validation:Enum=IfRead;Always;Never
type TerminationReasonPolicy string

// The policies.
const (
	// AnnounceIfRead announces it to the pods that can read it.
	AnnounceIfRead TerminationReasonPolicy = "IfRead"
	// AnnounceAlways announces it to all pods.
	AnnounceAlways TerminationReasonPolicy = "Always"
	// AnnounceNever announces it to none.
	AnnounceNever TerminationReasonPolicy = "Never"
)

// Lifecycle lets others hold a pod back.
type Lifecycle struct {
	// preDelete holds before a pod is deleted for an update or a scale-down.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`
	// inPlaceUpdate holds before a pod is updated in place.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`
}

// LifecycleHook holds a pod back for as long as it has all of the labels and
// finalizers.
type LifecycleHook struct {
	// labelsHandler are labels, all of which the pod has.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`
	// finalizersHandler are finalizers, all of which the pod has.
	// +optional
	// +listType=atomic
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`
	// markPodNotReady makes the pod not Ready while it is held back.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}
