package model

import (
	"flag"
	"sync/atomic"
	"testing"
	"time"
)

var (
	update     = flag.Bool("update", false, "write the figures of a full run into the documentation")
	modelBound = flag.String("model", "", "how much of the model is explored: tiny, small or full")
)

// TestModel explores every state that a migration can reach within bounds, and checks each of them (I1 to I9).
// It covers every order in which the processes, the controllers and the kubelets of both clusters may act, and
// every place of a possible fault.
func TestModel(t *testing.T) {
	exploreAll(t, within(tinyBounds, smallBounds, fullBounds), ofRebind)
}

// within returns the worlds that a run explores: the full bounds if requested, the tiny ones under the race
// detector, and otherwise the small ones.
func within(tiny, small, full func() []bound) []bound {
	switch {
	case *modelBound == "full":
		return full()
	case *modelBound == "tiny", *modelBound == "" && raceDetector:
		return tiny()
	}
	return small()
}

// exploreAll explores each of these worlds in a subtest, and writes the results of a full run into the
// documentation.
func exploreAll(t *testing.T, bounds []bound, figures table) {
	t.Helper()
	var states atomic.Int64
	begin := time.Now()
	t.Cleanup(func() {
		t.Logf("%d states of %d configurations in %s", states.Load(), len(bounds), time.Since(begin).Round(time.Second))
	})
	for _, b := range bounds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			x := newExplorer(b)
			x.said, x.say = begin, func(far string) { t.Logf("%s, after %s: %s", b.name, time.Since(begin).Round(time.Second), far) }
			if wrong := x.explore(); wrong != nil {
				t.Error(x.story(wrong))
			}
			states.Add(int64(len(x.came)))
			t.Logf("%s: %d states in %s", b.name, len(x.came), time.Since(begin).Round(time.Millisecond))
			if *update && *modelBound == "full" && !t.Failed() {
				if err := figures.Write(figures.cells(b), len(x.came), x.end.runs); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
