package v1alpha1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimTemplate has the fields of a claim template that a manifest has.
type claimTemplate struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              corev1.PersistentVolumeClaimSpec `json:"spec"`
}

// MarshalJSON implements json.Marshaler. It leaves out the type and the status of claim templates, which have no meaning.
// A manifest has neither, and tools would show them as differences from it.
func (s StatefulSetSpec) MarshalJSON() ([]byte, error) {
	type plain StatefulSetSpec
	encoded := struct {
		plain
		VolumeClaimTemplates []claimTemplate `json:"volumeClaimTemplates,omitempty"`
	}{plain: plain(s)}
	for i := range s.VolumeClaimTemplates {
		template := &s.VolumeClaimTemplates[i]
		encoded.VolumeClaimTemplates = append(encoded.VolumeClaimTemplates, claimTemplate{template.ObjectMeta, template.Spec})
	}
	return json.Marshal(encoded)
}
