package install

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/jsontree"
)

// mostChanges limits how many changed fields of one object are shown.
const mostChanges = 8

// ofServer lists the fields that the API server sets.
var ofServer = []string{
	"status", "metadata.managedFields", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.uid",
}

// changes returns the fields in which two states of an object differ, with their values if those are short.
func changes(before, after map[string]any) (found []string) {
	before, after = runtime.DeepCopyJSON(before), runtime.DeepCopyJSON(after)
	for _, path := range ofServer {
		unstructured.RemoveNestedField(before, strings.Split(path, ".")...)
		unstructured.RemoveNestedField(after, strings.Split(path, ".")...)
	}
	for _, d := range jsontree.Differences("", before, after) {
		found = append(found, fmt.Sprintf("%s: %s -> %s", strings.TrimPrefix(d.Path, "."), short(d.Before), short(d.After)))
	}
	if more := len(found) - mostChanges; more > 0 {
		found = append(found[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	return found
}

// short returns a value in a short form.
func short(value any) string {
	const width = 60
	switch value := value.(type) {
	case nil:
		return "none"
	case string:
		return terminal.Clip(value, width)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return terminal.Clip(string(data), width)
}
