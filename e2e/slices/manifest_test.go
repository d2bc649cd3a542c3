package slices

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// native and ours are the apiVersions of a manifest, the only line that differs.
const native = "apps/v1"

var ours = sliceapi.GroupVersion.String()

// minimal is a manifest that both kinds accept, without fields that have defaults.
const minimal = `
kind: StatefulSet
metadata:
  name: web
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  serviceName: web
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1"}
`

// edit changes a manifest.
type edit func(object map[string]any) error

// put sets a value, which is YAML text, at a path: names and indices separated by dots.
func put(path, text string) edit {
	return func(object map[string]any) error {
		value, err := fromYAML(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return write(object, strings.Split(path, "."), value)
	}
}

// drop removes the value at a path.
func drop(path string) edit {
	return func(object map[string]any) error {
		unstructured.RemoveNestedField(object, strings.Split(path, ".")...)
		return nil
	}
}

// all combines several edits.
func all(edits ...edit) edit {
	return func(object map[string]any) error {
		for _, each := range edits {
			if err := each(object); err != nil {
				return err
			}
		}
		return nil
	}
}

func fromYAML(text string) (any, error) {
	inJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(inJSON, &value) // whole numbers stay whole
}

func write(at any, path []string, value any) error {
	last := len(path) == 1
	switch at := at.(type) {
	case map[string]any:
		if last {
			at[path[0]] = value
			return nil
		}
		if at[path[0]] == nil {
			at[path[0]] = map[string]any{}
		}
		return write(at[path[0]], path[1:], value)
	case []any:
		index, err := strconv.Atoi(path[0])
		if err != nil || index >= len(at) {
			return fmt.Errorf("no element %s in a list of %d", path[0], len(at))
		}
		if last {
			at[index] = value
			return nil
		}
		return write(at[index], path[1:], value)
	}
	return fmt.Errorf("%s is below a value of type %T", path[0], at)
}

// manifest returns the minimal manifest for an apiVersion, with edits.
func manifest(t testing.TB, apiVersion, namespace string, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	value, err := fromYAML(minimal)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: value.(map[string]any)}
	object.SetAPIVersion(apiVersion)
	object.SetNamespace(namespace)
	if err := all(edits...)(object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// changed returns a copy of an object with edits.
func changed(t testing.TB, object *unstructured.Unstructured, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	object = object.DeepCopy()
	if err := all(edits...)(object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// at returns the value at a path, or nil if there is none.
func at(object *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
	return value
}

// bounded returns a context for calls that should fail rather than hang.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newNamespace creates a namespace, which is removed with the cluster.
func newNamespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	mustCreate(t, namespace)
	return namespace.Name
}

func mustCreate(t testing.TB, object client.Object, options ...client.CreateOption) {
	t.Helper()
	if err := api.Create(bounded(t), object, options...); err != nil {
		t.Fatalf("creating %T %s: %v", object, object.GetName(), err)
	}
}

// typed decodes an unstructured object of our kind as the controller does.
func typed(t testing.TB, object *unstructured.Unstructured) *sliceapi.StatefulSet {
	t.Helper()
	set := &sliceapi.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, set, true); err != nil {
		t.Fatal(err)
	}
	return set
}
