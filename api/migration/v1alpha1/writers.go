package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// WritersSpec configures how other controllers that write the source are paused.
type WritersSpec struct {
	// pause sets the documented pause of each writer of the source that has one, before the first ordinal is stopped,
	// and restores the setting at the end. Writers are an operator that owns the StatefulSet, a KEDA ScaledObject
	// over it, and the Application, Kustomization or HelmRelease that it is part of.
	// +optional
	Pause bool `json:"pause,omitempty"`
	// pausedByHand lists writers that a user has paused where the migration cannot see them, such as in the cluster
	// of Argo CD or Flux, each as KIND/NAMESPACE/NAME. If an annotation or label of the source refers to a writer
	// that is not found, the migration is refused unless the writer is listed here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z][A-Za-z0-9]*/[^/]+/[^/]+$`
	PausedByHand []string `json:"pausedByHand,omitempty"`
}

// Path returns the name of a writer in the form of pausedByHand.
func (w WriterReference) Path() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// WriterReference names a resource whose controller writes a StatefulSet.
type WriterReference struct {
	// group of the resource.
	Group string `json:"group"`
	// version of the API in which it is written.
	Version string `json:"version"`
	// kind of the resource.
	Kind string `json:"kind"`
	// namespace of the resource.
	Namespace string `json:"namespace"`
	// name of the resource.
	Name string `json:"name"`
	// uid of the resource.
	UID types.UID `json:"uid"`
}

// PausedWriter is a writer that was paused for the move, or is about to be.
type PausedWriter struct {
	WriterReference `json:",inline"`
	// before is the original setting, in JSON; absent if there was none.
	// +optional
	Before *string `json:"before,omitempty"`
	// done is true after the setting was restored.
	// +optional
	Done bool `json:"done,omitempty"`
}
