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

// table is where the figures of a full run stand, a line for each world.
type table struct {
	// target is the make target that writes it; of says which configurations they are.
	target, of string
	// head names the columns that say which world a line is of; cells are those of one.
	head   []string
	cells  func(bound) []string
	bounds func() []bound
}

// safety is where the tables are.
const safety = "../../docs/safety.md"

var (
	ofRebind = table{
		target: "verify-model", of: "configurations",
		head:   []string{"replicas", "order", "d", "claims", "pods start", "apart", "also", "faults in a run", "of which kinds"},
		cells:  bound.cells,
		bounds: func() []bound { return slices.Concat(fullBounds(), authorBounds(), endingBounds()) },
	}
	ofMethods = table{
		target: "verify-methods", of: "configurations in which claims are copied, move by snapshots or stay behind",
		head:   []string{"replicas", "claims", "method", "copied ahead", "a limit", "volumes are attached", "faults in a run", "of which kinds"},
		cells:  bound.methodCells,
		bounds: fullMethodBounds,
	}
)

// explored is what was found in a world: how many states and runs, at which commit.
type explored struct {
	states, runs int
	commit       string
}

// row is how the line of a world begins.
func (a table) row(b bound) string { return "| " + strings.Join(a.cells(b), " | ") + " |" }

// before reads the lines of the table on a page, by how they begin.
func (a table) before(page string) map[string]explored {
	found := map[string]explored{}
	_, rest, _ := strings.Cut(page, "<!-- figures: written by make "+a.target+" -->\n")
	lines, _, _ := strings.Cut(rest, "<!-- end of figures")
	for line := range strings.Lines(lines) {
		for _, b := range a.bounds() {
			cells, ours := strings.CutPrefix(strings.TrimSpace(line), a.row(b))
			var e explored
			if n, err := fmt.Sscanf(strings.ReplaceAll(cells, "|", ""), "%d %d %s", &e.states, &e.runs, &e.commit); ours && n == 3 && err == nil {
				found[a.row(b)] = e
			}
		}
	}
	return found
}

// text is the table: one line for each world in their order, whether it was explored or not.
func (a table) text(found map[string]explored) string {
	var lines strings.Builder
	var states, runs, through int
	bounds := a.bounds()
	for _, b := range bounds {
		e, is := found[a.row(b)]
		if !is {
			fmt.Fprintf(&lines, "%s not explored yet | | |\n", a.row(b))
			continue
		}
		states, runs, through = states+e.states, runs+e.runs, through+1
		fmt.Fprintf(&lines, "%s %d | %d | %s |\n", a.row(b), e.states, e.runs, e.commit)
	}
	head := slices.Concat(a.head, []string{"states", "runs", "commit"})
	return fmt.Sprintf("%d states of %d of %d %s, and %d runs from them to an end; no state is wrong, and each run ends well. Each line was found at its own commit.\n\n| %s |\n%s|\n%s",
		states, through, len(bounds), a.of, runs, strings.Join(head, " | "), strings.Repeat("|---", len(head)), lines.String())
}

// inTurn lets one world after the other write its line.
var inTurn sync.Mutex

// write puts what was found in a world into the documentation as soon as that was explored: hours are not lost with the process.
func (a table) write(t *testing.T, b bound, states, runs int) {
	t.Helper()
	inTurn.Lock()
	defer inTurn.Unlock()
	page, err := os.ReadFile(safety)
	if err != nil {
		t.Fatal(err)
	}
	found := a.before(string(page))
	found[a.row(b)] = explored{states, runs, figures.Commit("../..")}
	if err := figures.Write(safety, a.target, a.text(found)); err != nil {
		t.Fatal(err)
	}
}

// methodCells are the cells of a world whose claims move by another method than Rebind.
func (b bound) methodCells() []string {
	yes := map[bool]string{false: "-", true: "yes"}
	kinds := "-"
	if b.faults > 0 {
		kinds = b.kinds.String()
	}
	attached := map[bool]string{false: "yes", true: "no"}[b.Unattached]
	return []string{
		strconv.Itoa(int(b.Replicas)), strconv.Itoa(len(b.Templates)), string(b.Method), strconv.Itoa(int(b.Prefetch)),
		yes[b.Limit > 0], attached, strconv.Itoa(b.faults), kinds,
	}
}

// TestTables: each world has a line of its own, and what was found before stays there with its commit.
func TestTables(t *testing.T) {
	for _, a := range []table{ofRebind, ofMethods} {
		found := map[string]explored{}
		for i, b := range a.bounds() {
			if found[a.row(b)].states > 0 {
				t.Errorf("make %s: two worlds have one line: %s", a.target, a.row(b))
			}
			found[a.row(b)] = explored{i + 1, 2*i + 1, "c0ffee" + strconv.Itoa(i)}
		}
		last := a.row(a.bounds()[len(found)-1])
		want := found[last]
		delete(found, a.row(a.bounds()[0]))
		page := "<!-- figures: written by make " + a.target + " -->\n" + a.text(found) + "\nMeasured at commit x.\n<!-- end of figures -->\n"
		if again := a.before(page); len(again) != len(found) || again[last] != want {
			t.Errorf("make %s: got %+v of\n%s", a.target, again, page)
		}
	}
}

// TestFiguresAreOfTheseBounds: safety.md has the worlds that are explored now, and no others.
func TestFiguresAreOfTheseBounds(t *testing.T) {
	page, err := os.ReadFile(safety)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []table{ofRebind, ofMethods} {
		if want := a.text(a.before(string(page))); !strings.Contains(string(page), want) {
			t.Errorf("safety.md does not have the worlds of make %s, which writes them; it is to have\n%s", a.target, want)
		}
	}
}
