package v1alpha1

// RevisionInputKind is the kind of a revision input.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type RevisionInputKind string

// The kinds of revision inputs.
const (
	// InputConfigMap is a ConfigMap. Its data and binaryData count.
	InputConfigMap RevisionInputKind = "ConfigMap"
	// InputSecret is a Secret. Its data and type count.
	InputSecret RevisionInputKind = "Secret"
)

// InputAbsent is the content of an input that does not exist. All references to it are optional.
const InputAbsent = "absent"

// RevisionInput names an object in the namespace of the StatefulSet whose content belongs to the revision.
type RevisionInput struct {
	// kind is ConfigMap or Secret.
	// +required
	Kind RevisionInputKind `json:"kind"`
	// name is the name that the template uses.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// rolledBack replaces the content of the object by that of an earlier revision. kubectl migrate rollout undo sets it. It
	// has no effect once the object has another content, which is rolled out.
	// +optional
	RolledBack *RolledBackInput `json:"rolledBack,omitempty"`
}

// RolledBackInput replaces one content of an object by another one. A content is identified by the hash that
// kubectl migrate rollout history shows, or by absent.
//
// +kubebuilder:validation:XValidation:rule="self.from != self.to",message="rolledBack.to must differ from rolledBack.from"
type RolledBackInput struct {
	// from is the content of the object that pods do not get.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{16}|absent)$`
	From string `json:"from"`
	// to is the content that pods get instead. A revision must have it.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{16}|absent)$`
	To string `json:"to"`
}
