package ownership

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nested returns a tree of fields of some depth.
func nested(depth int) string {
	return strings.Repeat(`{"f:a":`, depth) + "{}" + strings.Repeat("}", depth)
}

// TestY9ALyingSource: entries that the API server of the replaced object may have invented are left out if the API server
// of the new object would refuse them, or would drop the whole list because of them. The other entries stay.
func TestY9ALyingSource(t *testing.T) {
	good := metav1.ManagedFieldsEntry{Manager: "helm", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`)}
	fields := func(text string) func(*metav1.ManagedFieldsEntry) {
		return func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(text) }
	}
	for name, tc := range map[string]struct {
		lie  func(*metav1.ManagedFieldsEntry)
		kept bool
	}{
		"another manager":                {func(*metav1.ManagedFieldsEntry) {}, true},
		"a manager of the largest name":  {func(e *metav1.ManagedFieldsEntry) { e.Manager = strings.Repeat("m", mostName) }, true},
		"a list by keys, value, index":   {fields(`{"f:spec":{"f:l":{".":{},"k:{\"name\":\"a\"}":{},"v:\"x\"":{},"i:0":{}}}}`), true},
		"the deepest tree":               {fields(nested(mostDepth)), true},
		"no fields":                      {func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = nil }, false},
		"no manager":                     {func(e *metav1.ManagedFieldsEntry) { e.Manager = "" }, false},
		"a manager of a long name":       {func(e *metav1.ManagedFieldsEntry) { e.Manager = strings.Repeat("m", mostName+1) }, false},
		"a manager that rings a bell":    {func(e *metav1.ManagedFieldsEntry) { e.Manager = "he\alm" }, false},
		"a manager that is no text":      {func(e *metav1.ManagedFieldsEntry) { e.Manager = "he\xfflm" }, false},
		"a subresource of a long name":   {func(e *metav1.ManagedFieldsEntry) { e.Subresource = strings.Repeat("s", mostSubresource+1) }, false},
		"a subresource that is no text":  {func(e *metav1.ManagedFieldsEntry) { e.Subresource = "sca\nle" }, false},
		"an operation of its own":        {func(e *metav1.ManagedFieldsEntry) { e.Operation = "Steal" }, false},
		"a type of its own":              {func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV2" }, false},
		"no type":                        {func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "" }, false},
		"fields that are no JSON":        {fields(`{"f:spec":`), false},
		"fields that are a list":         {fields(`[]`), false},
		"fields that have values":        {fields(`{"f:spec":1}`), false},
		"a key of no kind":               {fields(`{"spec":{}}`), false},
		"a field without a name":         {fields(`{"f:":{}}`), false},
		"an element without keys":        {fields(`{"k:{}":{}}`), false},
		"an element whose keys are none": {fields(`{"k:name":{}}`), false},
		"an element of no value":         {fields(`{"v:x":{}}`), false},
		"an index that is no number":     {fields(`{"i:x":{}}`), false},
		"an index below the first":       {fields(`{"i:-1":{}}`), false},
		"a point with more":              {fields(`{".:":{}}`), false},
		"a tree without end":             {fields(nested(mostDepth + 1)), false},
		"more than a request may have":   {fields(`{"f:` + strings.Repeat("a", mostBytes) + `":{}}`), false},
	} {
		lie := good
		lie.Manager = "other"
		tc.lie(&lie)
		heir := Heir{APIVersion: "new/v1", Creator: creator}
		got := heir.ManagedFields(nil, []metav1.ManagedFieldsEntry{lie, good})
		if len(got) != 1 && !tc.kept || len(got) != 2 && tc.kept || got[len(got)-1].Manager != "helm" {
			t.Errorf("%s: %d entries are sent", name, len(got))
		}
		if errs := validation.ValidateManagedFields(got, field.NewPath("metadata")); len(errs) > 0 {
			t.Errorf("%s: the API server would refuse it: %v", name, errs)
		}
	}
}

// TestY9ManyEntries: the entries of the replaced object are bounded in number and size; those of the new one are not.
func TestY9ManyEntries(t *testing.T) {
	entries := func(n, size int) (all []metav1.ManagedFieldsEntry) {
		for i := range n {
			all = append(all, metav1.ManagedFieldsEntry{Manager: fmt.Sprintf("m-%d", i), Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("a", size-9) + `":{}}`)})
		}
		return all
	}
	for name, tc := range map[string]struct{ entries, size, want int }{
		"as many as may be":  {mostEntries, 20, mostEntries},
		"more":               {mostEntries + 9, 20, mostEntries},
		"as large as may be": {4, mostBytes / 4, 4},
		"larger":             {5, mostBytes / 4, 4},
	} {
		heir := Heir{APIVersion: "new/v1"}
		if got := len(heir.ManagedFields(nil, entries(tc.entries, tc.size))); got != tc.want {
			t.Errorf("%s: %d entries, want %d", name, got, tc.want)
		}
		if got := len(heir.ManagedFields(entries(tc.entries, tc.size), nil)); got != tc.entries {
			t.Errorf("%s: %d entries of the object itself", name, got)
		}
	}
	if text := (Heir{APIVersion: "new/v1", Name: "web"}).LastApplied(`{"kind":"StatefulSet","spec":{"a":"` + strings.Repeat("a", mostApplied) + `"}}`); text != "" {
		t.Errorf("a manifest of %d bytes is sent", len(text))
	}
}
