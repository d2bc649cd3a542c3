package migration

import (
	"flag"
	"testing"
	"time"
)

var (
	modelBound = flag.String("model", "", "how much of the model is explored: tiny, small or full")
	modelOnly  = flag.Int("model.only", -1, "explore only one bound of the full ones")
)

// TestModel explores every state that a migration can reach within bounds, and checks
// each of them (I1 to I9): every order in which the processes, the controllers and the
// kubelets of both clusters may act, and every place in which something may go wrong.
func TestModel(t *testing.T) {
	bounds := smallBounds()
	switch {
	case *modelBound == "full":
		bounds = fullBounds()
	case *modelBound == "tiny", *modelBound == "" && raceDetector:
		bounds = tinyBounds()
	}
	for i, b := range bounds {
		if *modelOnly >= 0 && *modelOnly != i {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			x := newExplorer(b)
			if wrong := x.explore(); wrong != nil {
				t.Error(x.story(wrong))
			}
			t.Logf("%d states in %s", len(x.came), time.Since(begin).Round(time.Millisecond))
		})
	}
}
