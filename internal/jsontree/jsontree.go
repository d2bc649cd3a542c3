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

// Differ returns the paths at which two JSON trees differ, in a stable order.
func Differ(path string, a, b any) []string {
	switch left := a.(type) {
	case map[string]any:
		right, ok := b.(map[string]any)
		if !ok {
			return []string{path}
		}
		keys := slices.Collect(maps.Keys(left))
		keys = append(keys, slices.Collect(maps.Keys(right))...)
		slices.Sort(keys)
		var paths []string
		for _, key := range slices.Compact(keys) {
			paths = append(paths, Differ(path+"."+key, left[key], right[key])...)
		}
		return paths
	case []any:
		right, ok := b.([]any)
		if !ok || len(left) != len(right) {
			return []string{path}
		}
		var paths []string
		for i := range left {
			paths = append(paths, Differ(fmt.Sprintf("%s[%d]", path, i), left[i], right[i])...)
		}
		return paths
	default:
		if a != b {
			return []string{path}
		}
		return nil
	}
}
