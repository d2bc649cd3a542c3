package jsontree

import (
	"slices"
	"testing"
)

func TestDiffer(t *testing.T) {
	type value struct {
		Name  string            `json:"name,omitempty"`
		Count int               `json:"count,omitempty"`
		List  []string          `json:"list,omitempty"`
		Map   map[string]string `json:"map,omitempty"`
	}
	one := value{Name: "web", Count: 3, List: []string{"a", "b"}, Map: map[string]string{"k": "v", "z": "1"}}
	for name, tc := range map[string]struct {
		to   any
		want []string
	}{
		"nothing":                       {one, nil},
		"a value":                       {value{Name: "db", Count: 3, List: one.List, Map: one.Map}, []string{"spec.name"}},
		"several, in a stable order":    {value{Name: "db", Count: 4, List: one.List, Map: one.Map}, []string{"spec.count", "spec.name"}},
		"what only one of them has":     {value{Name: "web", Count: 3, List: one.List, Map: map[string]string{"k": "v", "y": "1"}}, []string{"spec.map.y", "spec.map.z"}},
		"an element of a list":          {value{Name: "web", Count: 3, List: []string{"a", "c"}, Map: one.Map}, []string{"spec.list[1]"}},
		"a longer list, as a whole":     {value{Name: "web", Count: 3, List: []string{"a", "b", "c"}, Map: one.Map}, []string{"spec.list"}},
		"an object instead of a list":   {map[string]any{"name": "web", "count": 3, "list": map[string]any{}, "map": one.Map}, []string{"spec.list"}},
		"a list instead of an object":   {map[string]any{"name": "web", "count": 3, "list": one.List, "map": []string{}}, []string{"spec.map"}},
		"what cannot be JSON, as none":  {make(chan int), []string{"spec"}},
		"something instead of anything": {"web", []string{"spec"}},
	} {
		if got := Differ("spec", Of(one), Of(tc.to)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
