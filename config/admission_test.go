package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestAdmissionObjects: each policy refuses, fails closed, says what to do, and has a binding
// that denies.
func TestAdmissionObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		read      func() ([]*unstructured.Unstructured, error)
		resources []string
	}{
		"sliceshift-authors": {AuthorObjects, []string{"migrations." + api.GroupVersion.Group}},
		"sliceshift-volumes": {VolumeObjects, []string{"persistentvolumes."}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := tc.read()
			if err != nil || len(objects) != 2 {
				t.Fatalf("%d objects, %v", len(objects), err)
			}
			policy := decoded[admissionregistrationv1.ValidatingAdmissionPolicy](t, objects[0])
			binding := decoded[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, objects[1])
			if policy.Name != name || binding.Spec.PolicyName != name || !slices.Equal(binding.Spec.ValidationActions, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}) {
				t.Errorf("policy %s is bound by %+v", policy.Name, binding.Spec)
			}
			if *policy.Spec.FailurePolicy != admissionregistrationv1.Fail {
				t.Error("it opens by itself when it fails")
			}
			for _, validation := range policy.Spec.Validations {
				if validation.Message == "" || !strings.Contains(validation.MessageExpression, "kubectl") && !strings.Contains(validation.MessageExpression, "variables.patch") {
					t.Errorf("what to do is not said: %s", validation.Expression)
				}
			}
			rule := policy.Spec.MatchConstraints.ResourceRules[0].Rule
			if diff := cmp.Diff(tc.resources, []string{rule.Resources[0] + "." + rule.APIGroups[0]}); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVolumesOfNobody: without a ConfigMap the policy of volumes is in nobody's way, and each
// ConfigMap with the label counts.
func TestVolumesOfNobody(t *testing.T) {
	objects, err := VolumeObjects()
	if err != nil {
		t.Fatal(err)
	}
	ref := decoded[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, objects[1]).Spec.ParamRef
	if *ref.ParameterNotFoundAction != admissionregistrationv1.AllowAction || ref.Selector.MatchLabels["migration.sliceshift.io/mover-policy"] != "true" {
		t.Errorf("parameters are %+v", ref)
	}
}

// TestAdmissionKustomization: what is embedded is also applied by kustomize.
func TestAdmissionKustomization(t *testing.T) {
	entries, err := os.ReadDir("admission")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, entry := range entries {
		if entry.Name() != "kustomization.yaml" {
			want = append(want, entry.Name())
		}
	}
	if diff := cmp.Diff(want, kustomized(t, "admission/kustomization.yaml")); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
