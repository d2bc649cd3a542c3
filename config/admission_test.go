package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// decoded decodes strictly, so that a misspelt field fails.
func decoded[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

// TestAdmissionObjects: each policy denies, fails closed, has a message with the remedy, and has a binding that denies.
func TestAdmissionObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		read      func() ([]*unstructured.Unstructured, error)
		resources []string
	}{
		"sliceshift-authors":    {AuthorObjects, []string{"migrations." + api.GroupVersion.Group}},
		"sliceshift-snapshots":  {VolumeObjects, []string{"volumesnapshotcontents.snapshot.storage.k8s.io"}},
		"sliceshift-volumes":    {VolumeObjects, []string{"persistentvolumes."}},
		"sliceshift-rehearsals": {rehearsalObjects, []string{"rolebindings.rbac.authorization.k8s.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := tc.read()
			if err != nil {
				t.Fatal(err)
			}
			objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetName() != name })
			if len(objects) != 2 {
				t.Fatalf("%d objects", len(objects))
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

// rehearsalObjects returns the policy that users apply by hand.
func rehearsalObjects() ([]*unstructured.Unstructured, error) {
	return read(os.DirFS("."), "admission/rehearsals.yaml")
}

// TestVolumesOfNobody: without a ConfigMap the policies for volumes and snapshots restrict no account. Each ConfigMap
// with the label counts.
func TestVolumesOfNobody(t *testing.T) {
	objects, err := VolumeObjects()
	if err != nil {
		t.Fatal(err)
	}
	bindings := 0
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicyBinding" {
			continue
		}
		bindings++
		ref := decoded[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, object).Spec.ParamRef
		if *ref.ParameterNotFoundAction != admissionregistrationv1.AllowAction || ref.Selector.MatchLabels["migration.sliceshift.io/mover-policy"] != "true" {
			t.Errorf("parameters of %s are %+v", object.GetName(), ref)
		}
	}
	if bindings != 2 {
		t.Errorf("%d bindings", bindings)
	}
}

// TestAdmissionKustomization: kustomize applies every embedded file.
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

// TestFenceObjects: each policy denies, fails closed and has a binding that denies. All have the same message.
func TestFenceObjects(t *testing.T) {
	objects, err := FenceObjects()
	if err != nil {
		t.Fatalf("FenceObjects: %v", err)
	}
	var policies []*admissionregistrationv1.ValidatingAdmissionPolicy
	bound := map[string][]admissionregistrationv1.ValidationAction{}
	for _, object := range objects {
		if object.GetKind() == "ValidatingAdmissionPolicyBinding" {
			binding := decoded[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, object)
			bound[binding.Spec.PolicyName] = binding.Spec.ValidationActions
			continue
		}
		policies = append(policies, decoded[admissionregistrationv1.ValidatingAdmissionPolicy](t, object))
	}
	var matched []string
	for _, policy := range policies {
		if diff := cmp.Diff([]admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, bound[policy.Name]); diff != "" {
			t.Errorf("%s: actions (-want +got):\n%s", policy.Name, diff)
		}
		if *policy.Spec.FailurePolicy != admissionregistrationv1.Fail {
			t.Errorf("%s opens by itself when it fails", policy.Name)
		}
		if len(policy.Spec.Validations) != 1 {
			t.Fatalf("%s has %d validations", policy.Name, len(policy.Spec.Validations))
		}
		if diff := cmp.Diff(policies[0].Spec.Validations[0].MessageExpression, policy.Spec.Validations[0].MessageExpression); diff != "" {
			t.Errorf("%s says something else (-%s +got):\n%s", policy.Name, policies[0].Name, diff)
		}
		rule := policy.Spec.MatchConstraints.ResourceRules[0].Rule
		for _, group := range rule.APIGroups {
			matched = append(matched, rule.Resources[0]+"."+group)
		}
	}
	slices.Sort(matched)
	own := sliceapi.GroupVersion.Group
	want := []string{"statefulsets." + "apps", "statefulsets." + own, "statefulsets/scale." + "apps", "statefulsets/scale." + own}
	if diff := cmp.Diff(want, matched); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// TestFenceNames: the policies name the annotation and the field manager of migrations.
func TestFenceNames(t *testing.T) {
	for file, wants := range map[string][]string{
		"fence/statefulset.yaml": {"'" + api.FenceAnnotationKey + "'", "== '" + api.FieldManager + "'", "object.spec.?reserveOrdinals"},
		"fence/scale.yaml":       {"'" + api.FenceAnnotationKey + "'", "apiVersion: " + sliceapi.GroupVersion.String()},
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s does not name %s", file, want)
			}
		}
	}
}

// TestFenceKustomization: kustomize applies every embedded file.
func TestFenceKustomization(t *testing.T) {
	got := kustomized(t, "fence/kustomization.yaml")
	var want []string
	files, err := fenceFiles.ReadDir("fence")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		want = append(want, file.Name())
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
