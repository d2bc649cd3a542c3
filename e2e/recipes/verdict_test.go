package main

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

// TestVerdict: a phase without an acknowledged write is a fault, as what was lost is.
func TestVerdict(t *testing.T) {
	works := stage.Figure{Name: "before", WritesPerSecond: 1}
	for name, tc := range map[string]struct {
		result stage.Result
		good   bool
	}{
		"nothing":              {stage.Result{Answer: stage.Answer{Figures: []stage.Figure{works}}}, true},
		"a phase without any":  {stage.Result{Answer: stage.Answer{Figures: []stage.Figure{works, {Name: "during"}}}}, false},
		"a lost write":         {stage.Result{Answer: stage.Answer{Figures: []stage.Figure{works}, Lost: []string{"x"}}}, false},
		"a value from nowhere": {stage.Result{Answer: stage.Answer{Figures: []stage.Figure{works}, Strange: []string{"x"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := verdict("toy", tc.result); (err == nil) != tc.good {
				t.Errorf("got %v", err)
			}
		})
	}
}
