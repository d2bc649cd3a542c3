package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// DependencyMode says what is done about the objects that pods need besides their volumes.
//
// +kubebuilder:validation:Enum=Check;Copy
type DependencyMode string

// The modes.
const (
	// DependenciesCheck refuses a migration whose destination lacks one.
	DependenciesCheck DependencyMode = "Check"
	// DependenciesCopy copies them to the destination before the first handoff.
	DependenciesCopy DependencyMode = "Copy"
)

// ConflictPolicy says what is done where the destination has something else under the name of
// an object that is to be copied.
//
// +kubebuilder:validation:Enum=Stall;Keep;Overwrite
type ConflictPolicy string

// The policies for conflicts.
const (
	// ConflictStall shows the difference and waits.
	ConflictStall ConflictPolicy = "Stall"
	// ConflictKeep leaves it as it is at the destination.
	ConflictKeep ConflictPolicy = "Keep"
	// ConflictOverwrite gives it the content that it has at the source.
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// ChangePolicy says what is done where an object changes at the source in mid-move.
//
// +kubebuilder:validation:Enum=Follow;Stall
type ChangePolicy string

// The policies for changes.
const (
	// ChangeFollow carries the change over to the copy.
	ChangeFollow ChangePolicy = "Follow"
	// ChangeStall waits until a person has decided.
	ChangeStall ChangePolicy = "Stall"
)

// SelectsOthersPolicy says what is done with a Service or a NetworkPolicy that selects other
// pods, too.
//
// +kubebuilder:validation:Enum=Stall;Leave;Copy
type SelectsOthersPolicy string

// The policies for what selects other pods, too.
const (
	// SelectsOthersStall names it and waits.
	SelectsOthersStall SelectsOthersPolicy = "Stall"
	// SelectsOthersLeave does not copy it.
	SelectsOthersLeave SelectsOthersPolicy = "Leave"
	// SelectsOthersCopy copies it like the others.
	SelectsOthersCopy SelectsOthersPolicy = "Copy"
)

// DependenciesSpec is about the objects that pods need besides their volumes: what the pod
// template names, the rights of its ServiceAccount, and the Services and NetworkPolicies that
// select the pods.
type DependenciesSpec struct {
	// mode is Check, where the destination must have them, or Copy. It may be changed at any time.
	// +optional
	// +kubebuilder:default=Check
	Mode DependencyMode `json:"mode,omitempty"`
	// onConflict is for an object that is not a copy of the source's, or that somebody has changed
	// at the destination, and differs.
	// +optional
	// +kubebuilder:default=Stall
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`
	// onChange is for an object that changes at the source once the first ordinal has moved, and
	// until the migration has been completed.
	// +optional
	// +kubebuilder:default=Follow
	OnChange ChangePolicy `json:"onChange,omitempty"`
	// selectsOthers is for Services and NetworkPolicies that select pods of others at the destination,
	// too.
	// +optional
	// +kubebuilder:default=Stall
	SelectsOthers SelectsOthersPolicy `json:"selectsOthers,omitempty"`
	// cleanup says what becomes of the copies when every ordinal has gone back to the source.
	// +optional
	// +kubebuilder:default=Retain
	Cleanup CleanupPolicy `json:"cleanup,omitempty"`
}

// OwedCopy is an object that the destination is to have again.
type OwedCopy struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
	// uid of the copy that makes way for it.
	UID types.UID `json:"uid"`
}
