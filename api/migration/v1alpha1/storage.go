package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// StorageSpec makes the migration one in place: the volumes of the source are replaced under its own name, one ordinal at
// a time. spec.volumes lists the claim templates that change. The driver changes the size and the attributes of a volume
// where it can, while the pod runs. For other changes method Copy and method Snapshot fill new volumes, and method Rebind
// makes none. The StatefulSet is recreated once with the new templates, while its pods run.
type StorageSpec struct {
	// marginPercent is the minimum share of a new volume that is free after its data are in it. It counts if the volume is
	// smaller than the old one: an ordinal whose data need more is not stopped. Default: 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=90
	MarginPercent *int32 `json:"marginPercent,omitempty"`
}

// Margin returns marginPercent, or its default.
func (s *StorageSpec) Margin() int32 {
	const standard = 10
	if s.MarginPercent == nil {
		return standard
	}
	return *s.MarginPercent
}

// Target returns the destination. With spec.storage that is the source.
func (m *Migration) Target() DestinationReference {
	if m.Spec.Storage == nil {
		return m.Spec.Destination
	}
	from := m.Spec.Source
	return DestinationReference{KubeConfigSecretRef: from.KubeConfigSecretRef, Namespace: from.Namespace, Name: from.Name, APIVersion: from.APIVersion}
}

// StorageStatus is the record of a migration in place. It is written before each write that relies on it.
type StorageStatus struct {
	// former is the StatefulSet before it was first recreated. A rollback returns to its claim templates.
	// +optional
	Former *StorageManifest `json:"former,omitempty"`
	// replace is the recreation in progress.
	// +optional
	Replace *StorageReplacement `json:"replace,omitempty"`
	// reached is the mode whose claim templates the StatefulSet has had.
	// +optional
	Reached Mode `json:"reached,omitempty"`
	// written are the claim templates that it then had.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Written []StorageTemplate `json:"written,omitempty"`
	// handoff holds what status.handoff lacks about the ordinal whose volumes are being replaced.
	// +optional
	Handoff *StorageHandoff `json:"handoff,omitempty"`
	// back is why the last ordinal returned to its old volumes, and backIn is the mode at that time. No ordinal is stopped
	// until spec.mode has had another value.
	// +optional
	Back string `json:"back,omitempty"`
	// +optional
	BackIn Mode `json:"backIn,omitempty"`
}

// StorageManifest is a StatefulSet as it can be created.
type StorageManifest struct {
	// set is the StatefulSet in JSON, without its status and the metadata that the API server sets.
	Set string `json:"set"`
	// templates are its claim templates, with the classes that they meant when it was recorded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Templates []StorageTemplate `json:"templates,omitempty"`
}

// StorageTemplate holds the fields of a claim template that decide about its volume.
type StorageTemplate struct {
	// name of the claim template.
	Name string `json:"name"`
	// class is the name of the storage class; the default class if the template names none.
	// +optional
	Class string `json:"class,omitempty"`
	// bytes is the requested size.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// block is true for a block volume.
	// +optional
	Block bool `json:"block,omitempty"`
	// attributes is the VolumeAttributesClass.
	// +optional
	Attributes string `json:"attributes,omitempty"`
	// accessModes are joined by +, in alphabetical order.
	// +optional
	AccessModes string `json:"accessModes,omitempty"`
}

// StorageReplacement is a recreation of the StatefulSet with other claim templates. Its pods keep running.
type StorageReplacement struct {
	// uid of the StatefulSet that is deleted.
	UID types.UID `json:"uid"`
	// next is the StatefulSet that is created.
	Next StorageManifest `json:"next"`
}

// StorageHandoff is the replacement of the volumes of one ordinal, or the restart of its pod.
type StorageHandoff struct {
	// return is true if the new volumes have the former claim templates.
	// +optional
	Return bool `json:"return,omitempty"`
	// claims are the claims that are replaced. Without any, the pod is restarted so that its node grows a file system.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	// +kubebuilder:validation:MaxItems=64
	Claims []StorageClaim `json:"claims,omitempty"`
	// sealed is true once all new volumes equal the old ones. The ordinal then goes on with them.
	// +optional
	Sealed bool `json:"sealed,omitempty"`
	// turned is true if the ordinal returns to its old volumes, and why is the reason.
	// +optional
	Turned bool `json:"turned,omitempty"`
	// +optional
	Why string `json:"why,omitempty"`
}

// StorageClaim is a claim that is replaced, with the volumes before and after that.
type StorageClaim struct {
	// claimTemplate is the volumeClaimTemplate of the claim.
	ClaimTemplate string `json:"claimTemplate"`
	// uid of the claim that is replaced.
	UID types.UID `json:"uid"`
	// old is its PersistentVolume, and new is the one that replaces it.
	Old string `json:"old"`
	// +optional
	New string `json:"new,omitempty"`
	// seal is the digest that both volumes had.
	// +optional
	Seal string `json:"seal,omitempty"`
}
