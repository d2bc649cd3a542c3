package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// mostChanges limits how many changed fields of one object are shown.
const mostChanges = 8

// ofServer lists the fields that the API server sets.
var ofServer = map[string]bool{
	"status": true, "metadata.managedFields": true, "metadata.resourceVersion": true, "metadata.generation": true,
	"metadata.creationTimestamp": true, "metadata.uid": true,
}

// changes returns the fields in which two states of an object differ, with their values if those are short.
func changes(before, after map[string]any) []string {
	var found []string
	compare("", before, after, &found)
	if more := len(found) - mostChanges; more > 0 {
		found = append(found[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	return found
}

func compare(path string, before, after any, found *[]string) {
	if ofServer[path] || reflect.DeepEqual(before, after) {
		return
	}
	switch after := after.(type) {
	case map[string]any:
		if before, ok := before.(map[string]any); ok {
			compareMaps(path, before, after, found)
			return
		}
	case []any:
		if before, ok := before.([]any); ok && len(before) == len(after) {
			for i := range after {
				compare(fmt.Sprintf("%s[%d]", path, i), before[i], after[i], found)
			}
			return
		}
	}
	*found = append(*found, fmt.Sprintf("%s: %s -> %s", path, short(before), short(after)))
}

func compareMaps(path string, before, after map[string]any, found *[]string) {
	keys := map[string]bool{}
	for key := range before {
		keys[key] = true
	}
	for key := range after {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		child := key
		if path != "" {
			child = path + "." + key
		}
		compare(child, before[key], after[key], found)
	}
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
