package model

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/sliceshift/sliceshift/internal/figures"
)

// table is the table of a full run, and the function for the cells of a world.
type table struct {
	figures.Table
	cells func(bound) []string
}

// tableOf returns the table of worlds whose claims move by the methods in of.
func tableOf(target, of string, cells func(bound) []string, head []string, bounds []bound) table {
	a := table{figures.Table{
		Target: target, Head: head, Numbers: []string{"states", "runs"},
		Sentence: func(measured, all int, sums []int) string {
			return fmt.Sprintf("%d states of %d of %d configurations%s, and %d runs from them to an end; no state is wrong, and each run ends well.", sums[0], measured, all, of, sums[1])
		},
	}, cells}
	for _, b := range bounds {
		a.Parts = append(a.Parts, cells(b))
	}
	return a
}

var (
	ofRebind = tableOf("verify-model", "", bound.cells,
		[]string{"replicas", "order", "d", "claims", "pods start", "apart", "also", "faults in a run", "of which kinds"},
		slices.Concat(fullBounds(), authorBounds(), endingBounds()))
	ofMethods = tableOf("verify-methods", " in which claims are copied, move by snapshots or stay behind", bound.methodCells,
		[]string{"replicas", "claims", "method", "copied ahead", "a limit", "volumes are attached", "faults in a run", "of which kinds"},
		fullMethodBounds())
)

// methodCells returns the cells of a world whose claims move by another method than Rebind.
func (b bound) methodCells() []string {
	yes := map[bool]string{false: "-", true: "yes"}
	kinds := "-"
	if b.faults > 0 {
		kinds = b.kinds.String()
	}
	attached, method := map[bool]string{false: "yes", true: "no"}[b.Unattached], string(b.Method)
	if b.ProvesLater {
		method += ", proven later"
	}
	if most := b.Spec.MaxInFlight; most != nil {
		method += ", " + most.String() + " at once"
	}
	return []string{
		strconv.Itoa(int(b.Replicas)), strconv.Itoa(len(b.Templates)), method, strconv.Itoa(int(b.Prefetch)),
		yes[b.Limit > 0], attached, strconv.Itoa(b.faults), kinds,
	}
}

// TestFiguresAreOfTheseBounds: the page of figures lists the worlds that are currently explored, with one line for each.
func TestFiguresAreOfTheseBounds(t *testing.T) {
	for _, a := range []table{ofRebind, ofMethods} {
		page, err := figures.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !a.Current(page) {
			t.Errorf("%s does not have the worlds of make %s; it must have\n%s", figures.Page, a.Target, a.Text(a.Found(page)))
		}
		worlds := map[string]bool{}
		for _, part := range a.Parts {
			if line := fmt.Sprint(part); worlds[line] {
				t.Errorf("make %s: two worlds have one line: %s", a.Target, line)
			} else {
				worlds[line] = true
			}
		}
	}
}
