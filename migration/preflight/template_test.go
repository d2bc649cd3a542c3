package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLostElement: an element without a name is compared with the most similar one, at any position; a scalar is
// compared with none (G8).
func TestLostElement(t *testing.T) {
	type tree = map[string]any
	sent := tree{"key": "k", "a": 1, "b": 2}
	for name, tc := range map[string]struct {
		sent any
		kept []any
		want []string
	}{
		"the same":                     {sent, []any{sent}, nil},
		"none":                         {sent, nil, []string{"t"}},
		"the first has most of it":     {sent, []any{tree{"key": "k", "a": 1}, tree{"a": 1}}, []string{"t.b"}},
		"the last has most of it":      {sent, []any{tree{"a": 1}, tree{"key": "k", "a": 1}}, []string{"t.b"}},
		"the first of two alike":       {sent, []any{tree{"key": "k", "a": 1}, tree{"key": "k", "b": 2}}, []string{"t.b"}},
		"the only one has little":      {sent, []any{tree{"c": 1}}, []string{"t.a", "t.b", "t.key"}},
		"beside a word":                {sent, []any{"word", tree{"key": "k", "a": 1, "b": 2}}, nil},
		"a word alone":                 {sent, []any{"word"}, []string{"t"}},
		"an empty one is not a word":   {tree{}, []any{"word"}, []string{"t"}},
		"a word":                       {"word", []any{sent}, nil},
		"of its name":                  {tree{"name": "x", "a": 1}, []any{tree{"name": "y", "a": 1}, tree{"name": "x"}}, []string{"t.a"}},
		"of its name, beside a word":   {tree{"name": "x", "a": 1}, []any{"word", tree{"name": "x", "a": 1}}, nil},
		"none of its name":             {tree{"name": "x", "a": 1}, []any{tree{"name": "y", "a": 1}}, []string{"t"}},
		"it has no name, another does": {sent, []any{tree{"name": "y"}, sent}, nil},
	} {
		if diff := cmp.Diff(tc.want, lostElement("t", tc.sent, tc.kept)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
