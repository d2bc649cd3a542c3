package move

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unstructuredMigration returns a Migration with an arbitrary, possibly invalid spec.
func unstructuredMigration(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	data := `{"apiVersion":"migration.sliceshift.io/v1alpha1","kind":"Migration","metadata":{"namespace":"default","name":"bad"},"spec":` + spec + `}`
	if err := object.UnmarshalJSON([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return object
}
