package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// DependencyMode selects how objects that pods need, other than their volumes, reach the destination.
//
// +kubebuilder:validation:Enum=Check;Copy
type DependencyMode string

// The modes.
const (
	// DependenciesCheck refuses a migration if an object is missing at the destination.
	DependenciesCheck DependencyMode = "Check"
	// DependenciesCopy copies them to the destination before the first handoff.
	DependenciesCopy DependencyMode = "Copy"
)

// ConflictPolicy selects the action if the destination has a different object under the name of an object to copy.
//
// +kubebuilder:validation:Enum=Stall;Keep;Overwrite
type ConflictPolicy string

// The policies for conflicts.
const (
	// ConflictStall shows the difference and waits.
	ConflictStall ConflictPolicy = "Stall"
	// ConflictKeep keeps the destination's object unchanged.
	ConflictKeep ConflictPolicy = "Keep"
	// ConflictOverwrite replaces its content with that of the source's object.
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// ChangePolicy selects the action if an object changes at the source during the move.
//
// +kubebuilder:validation:Enum=Follow;Stall
type ChangePolicy string

// The policies for changes.
const (
	// ChangeFollow applies the change to the copy.
	ChangeFollow ChangePolicy = "Follow"
	// ChangeStall waits for the decision of a user.
	ChangeStall ChangePolicy = "Stall"
)

// SelectsOthersPolicy selects the action for a Service or a NetworkPolicy that also selects other pods.
//
// +kubebuilder:validation:Enum=Stall;Leave;Copy
type SelectsOthersPolicy string

// The policies for objects that also select other pods.
const (
	// SelectsOthersStall reports it and waits.
	SelectsOthersStall SelectsOthersPolicy = "Stall"
	// SelectsOthersLeave does not copy it.
	SelectsOthersLeave SelectsOthersPolicy = "Leave"
	// SelectsOthersCopy copies it like the others.
	SelectsOthersCopy SelectsOthersPolicy = "Copy"
)

// DependenciesSpec configures the objects that pods need, other than their volumes. These are the objects that the
// pod template references, the rights of its ServiceAccount, and the Services and NetworkPolicies that select the
// pods.
type DependenciesSpec struct {
	// mode is Check, where the destination must have the objects, or Copy. It may be changed at any time.
	// +optional
	// +kubebuilder:default=Check
	Mode DependencyMode `json:"mode,omitempty"`
	// onConflict applies to an object that differs from the source's and is not its copy, or is a copy that was
	// changed at the destination.
	// +optional
	// +kubebuilder:default=Stall
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`
	// onChange applies to an object that changes at the source after the first ordinal has moved and before the
	// migration is completed.
	// +optional
	// +kubebuilder:default=Follow
	OnChange ChangePolicy `json:"onChange,omitempty"`
	// selectsOthers applies to Services and NetworkPolicies that would also select pods of other applications at the
	// destination.
	// +optional
	// +kubebuilder:default=Stall
	SelectsOthers SelectsOthersPolicy `json:"selectsOthers,omitempty"`
	// cleanup selects whether the copies are deleted after every ordinal has returned to the source.
	// +optional
	// +kubebuilder:default=Retain
	Cleanup CleanupPolicy `json:"cleanup,omitempty"`
}

// OwedCopy is an object that must be recreated at the destination.
type OwedCopy struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
	// uid of the copy that is replaced.
	UID types.UID `json:"uid"`
}
