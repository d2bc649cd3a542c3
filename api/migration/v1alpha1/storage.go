package v1alpha1

// StorageSpec makes the migration one in place: the volumes of the source are replaced under its own name, one ordinal at
// a time. spec.volumes lists the claim templates that change. Method Rebind keeps the volumes, and changes their size or
// attributes where the driver can. Method Copy and method Snapshot fill new volumes. The StatefulSet is recreated once
// with the new templates, while its pods run.
type StorageSpec struct {
	// marginPercent is the minimum share of a new volume that is free after its data are in it. It counts if the volume is
	// smaller than the old one: an ordinal whose data need more is not stopped. Default: 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=90
	MarginPercent *int32 `json:"marginPercent,omitempty"`
}
