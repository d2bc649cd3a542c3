// Package jsontree compares values in their JSON form.
package jsontree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Of returns a value as plain JSON, or nil if it cannot be encoded.
func Of(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil
	}
	return out
}

// Difference is a value that differs in two JSON trees; nil where a tree has none.
type Difference struct {
	Path          string
	Before, After any
}

// Differences returns the values in which two JSON trees differ, in a stable order. Lists of other lengths differ as a
// whole.
func Differences(path string, a, b any) []Difference {
	var found []Difference
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok {
			return []Difference{{path, a, b}}
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(left)), maps.Keys(right))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			found = append(found, Differences(path+"."+key, left[key], right[key])...)
		}
	case []any:
		right, ok := b.([]any)
		if !ok || len(left) != len(right) {
			return []Difference{{path, a, b}}
		}
		for i := range left {
			found = append(found, Differences(fmt.Sprintf("%s[%d]", path, i), left[i], right[i])...)
		}
	default:
		if a != b {
			return []Difference{{path, a, b}}
		}
	}
	return found
}

// Differ returns the paths of the Differences of two JSON trees.
func Differ(path string, a, b any) (paths []string) {
	for _, d := range Differences(path, a, b) {
		paths = append(paths, d.Path)
	}
	return paths
}
