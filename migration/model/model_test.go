package model

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/figures"
)

var (
	update     = flag.Bool("update", false, "write the figures of a full run into the documentation")
	modelBound = flag.String("model", "", "how much of the model is explored: tiny, small or full")
	modelOnly  = flag.Int("model.only", -1, "explore only one bound of them, by its number")
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
	exploreAll(t, bounds, findings{all: writeFigures})
}

// findings write what a full run has found into the documentation.
type findings struct {
	// each is called as soon as one world was explored, and all at the end.
	each func(t *testing.T, b bound, states, runs int)
	all  func(t *testing.T, bounds []bound, states, runs []int)
}

// exploreAll explores each of these worlds in a test of its own, and writes the figures of a full run.
func exploreAll(t *testing.T, bounds []bound, write findings) {
	t.Helper()
	states, runs := make([]int, len(bounds)), make([]int, len(bounds))
	begin := time.Now()
	t.Cleanup(func() {
		t.Logf("%d states of %d configurations in %s", sum(states), len(bounds), time.Since(begin).Round(time.Second))
		if *update && *modelBound == "full" && *modelOnly < 0 && !t.Failed() && write.all != nil {
			write.all(t, bounds, states, runs)
		}
	})
	for i, b := range bounds {
		if *modelOnly >= 0 && *modelOnly != i {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			x := newExplorer(b)
			x.said, x.say = begin, func(far string) { t.Logf("%s, after %s: %s", b.name, time.Since(begin).Round(time.Second), far) }
			if wrong := x.explore(); wrong != nil {
				t.Error(x.story(wrong))
			}
			states[i], runs[i] = len(x.came), x.end.runs
			t.Logf("%s: %d states in %s", b.name, states[i], time.Since(begin).Round(time.Millisecond))
			if *update && *modelBound == "full" && !t.Failed() && write.each != nil {
				write.each(t, b, states[i], runs[i])
			}
		})
	}
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

// safety is where the figures are.
const safety = "../../docs/safety.md"

// writeFigures puts what was explored into the documentation.
func writeFigures(t *testing.T, bounds []bound, states, runs []int) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d states of %d configurations, and %d runs from them to an end; no state is wrong, and each run ends well.\n\n", sum(states), len(bounds), sum(runs))
	b.WriteString("| replicas | order | d | claims | pods start | apart | also | faults in a run | of which kinds | states |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i, each := range bounds {
		fmt.Fprintf(&b, "| %s | %d |\n", strings.Join(each.cells(), " | "), states[i])
	}
	if err := figures.Write(safety, "verify-model", b.String()); err != nil {
		t.Fatal(err)
	}
}

// TestFiguresAreOfTheseBounds: safety.md speaks of what is explored now.
func TestFiguresAreOfTheseBounds(t *testing.T) {
	data, err := os.ReadFile(safety)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for _, b := range fullBounds() {
		row := "| " + strings.Join(b.cells(), " | ") + " |"
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, row) }) {
			t.Errorf("safety.md does not have %q: run make verify-model", row)
		}
	}
}
