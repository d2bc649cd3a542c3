package model

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// foundOf is what was found in a world, as its line says it: what the world is, and then how many states and runs, at which commit.
type foundOf struct {
	world        string
	states, runs int
	commit       string
}

// methodWorld is the world of a bound, as its line says it.
func methodWorld(b bound) string {
	kinds := "-"
	if b.faults > 0 {
		kinds = b.kinds.String()
	}
	attached := map[bool]string{false: "yes", true: "no"}[b.Unattached]
	limit := "-"
	if b.Limit > 0 {
		limit = "yes"
	}
	return fmt.Sprintf("%d | %d | %s | %d | %s | %s | %d | %s", b.Replicas, len(b.Templates), b.Method, b.Prefetch, limit, attached, b.faults, kinds)
}

// String is its line of the table.
func (f foundOf) String() string {
	return fmt.Sprintf("| %s | %d | %d | %s |\n", f.world, f.states, f.runs, f.commit)
}

// foundBefore reads the lines of the table again, by world.
func foundBefore(page string) map[string]foundOf {
	found := map[string]foundOf{}
	_, rest, _ := strings.Cut(page, "<!-- figures: written by make verify-methods -->\n")
	table, _, _ := strings.Cut(rest, "<!-- end of figures")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "| "), " |"), " | ")
		const columns = 11
		if len(cells) != columns {
			continue
		}
		states, err := strconv.Atoi(cells[8])
		runs, wrong := strconv.Atoi(cells[9])
		if err == nil && wrong == nil {
			world := strings.Join(cells[:8], " | ")
			found[world] = foundOf{world, states, runs, cells[10]}
		}
	}
	return found
}

// methodTable is what was found in the worlds of bounds, in their order; those that are not explored any more have no line.
func methodTable(bounds []bound, found map[string]foundOf) string {
	var lines strings.Builder
	var states, runs, through int
	for _, b := range bounds {
		if f, is := found[methodWorld(b)]; is {
			states, runs, through = states+f.states, runs+f.runs, through+1
			lines.WriteString(f.String())
		}
	}
	return fmt.Sprintf("%d states of %d of %d configurations in which claims are copied, move by snapshots or stay behind, and %d runs from them to an end; no state is wrong, and each run ends well. "+
		"Each line was found at its own commit.\n\n"+
		"| replicas | claims | method | copied ahead | a limit | volumes are attached | faults in a run | of which kinds | states | runs | commit |\n|---|---|---|---|---|---|---|---|---|---|---|\n%s",
		states, through, len(bounds), runs, lines.String())
}

// inTurn lets one world after the other write its line.
var inTurn sync.Mutex

// writeMethod puts what was found in a world into the documentation as soon as that was explored: hours are not lost with the process.
func writeMethod(t *testing.T, b bound, states, runs int) {
	t.Helper()
	inTurn.Lock()
	defer inTurn.Unlock()
	page, err := os.ReadFile(safety)
	if err != nil {
		t.Fatal(err)
	}
	found := foundBefore(string(page))
	found[methodWorld(b)] = foundOf{methodWorld(b), states, runs, figures.Commit("../..")}
	if err := figures.Write(safety, "verify-methods", methodTable(methodBounds(), found)); err != nil {
		t.Fatal(err)
	}
}

// TestMethodTable: what was found before stays with its commit, and what is not explored any more goes.
func TestMethodTable(t *testing.T) {
	bounds := methodBounds()
	found := map[string]foundOf{"1 | 1 | Gone | 0 | - | yes | 0 | -": {"1 | 1 | Gone | 0 | - | yes | 0 | -", 7, 7, "c0ffee"}}
	for i, b := range bounds[:2] {
		found[methodWorld(b)] = foundOf{methodWorld(b), i + 1, 2*i + 1, "c0ffee" + strconv.Itoa(i)}
	}
	page := "<!-- figures: written by make verify-methods -->\n" + methodTable(bounds, found) + "\nMeasured at commit x.\n<!-- end of figures -->\n"
	again := foundBefore(page)
	if len(again) != 2 || again[methodWorld(bounds[1])] != found[methodWorld(bounds[1])] {
		t.Errorf("got %+v of\n%s", again, page)
	}
	var worlds []string
	for _, b := range bounds {
		worlds = append(worlds, methodWorld(b))
	}
	if slices.Sort(worlds); len(slices.Compact(worlds)) != len(bounds) {
		t.Errorf("two worlds have one line: %q", worlds)
	}
}
