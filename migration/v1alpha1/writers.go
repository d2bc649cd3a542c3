package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// WritersSpec says what is done about who else writes the source.
type WritersSpec struct {
	// pause sets the documented pause of each writer of the source that has one, before the first ordinal
	// is stopped, and takes it back at the end: an operator that owns the StatefulSet, a ScaledObject of
	// KEDA over it, and the Application, Kustomization or HelmRelease that it is part of.
	// +optional
	Pause bool `json:"pause,omitempty"`
	// pausedByHand names writers that somebody has paused where the migration cannot see them, as in the cluster of Argo CD or of Flux,
	// each as KIND/NAMESPACE/NAME. One that a mark of the source leads to, and that is not found, is refused unless it is named here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z][A-Za-z0-9]*/[^/]+/[^/]+$`
	PausedByHand []string `json:"pausedByHand,omitempty"`
}

// Path names a writer as pausedByHand does.
func (w WriterReference) Path() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// WriterReference names a resource whose controller writes a StatefulSet.
type WriterReference struct {
	// group of the resource.
	Group string `json:"group"`
	// version in which it is written.
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
	// before is the setting as it was, in JSON; absent: there was none.
	// +optional
	Before *string `json:"before,omitempty"`
	// done is true once the setting was given back.
	// +optional
	Done bool `json:"done,omitempty"`
}
