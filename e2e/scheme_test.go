package e2e

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// extraTypes are what the tests write and the product does not.
var extraTypes = []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme}

// unstructuredMigration is a Migration as a user may write it, right or wrong.
func unstructuredMigration(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	data := `{"apiVersion":"migration.sliceshift.io/v1alpha1","kind":"Migration","metadata":{"namespace":"default","name":"bad"},"spec":` + spec + `}`
	if err := object.UnmarshalJSON([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return object
}
