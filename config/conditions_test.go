package config

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestConditionsOfClients: a client can write the conditions of a slice's status like those of apps/v1, where all fields
// except type and status are optional.
func TestConditionsOfClients(t *testing.T) {
	admission := newAdmission(t, sliceapi.GroupVersion.Group)
	for name, condition := range map[string]string{
		"nothing that is optional":     `{"type": "Theirs", "status": "True"}`,
		"a time that is not known":     `{"type": "Theirs", "status": "True", "lastTransitionTime": null}`,
		"no reason":                    `{"type": "Theirs", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "for people"}`,
		"empty words":                  `{"type": "Theirs", "status": "Unknown", "reason": "", "message": ""}`,
		"a reason with spaces":         `{"type": "Theirs", "status": "True", "reason": "not yet, as it seems"}`,
		"a type and a status of yours": `{"type": "a type", "status": "Perhaps"}`,
	} {
		t.Run("X-25 "+name, func(t *testing.T) {
			set := readObject(t, "samples/statefulset_in_place.yaml")
			var conditions any
			if err := json.Unmarshal([]byte("["+condition+"]"), &conditions); err != nil {
				t.Fatal(err)
			}
			set["status"] = map[string]any{"conditions": conditions}
			for _, problem := range admission.judge(t, set) {
				t.Error(problem)
			}
		})
	}
}
