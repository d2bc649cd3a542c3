package duel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what a run has come to.
type Report struct {
	Scripts, Rushed, Steps int
	Took                   time.Duration
	// Kinds counts the steps, Explained the differences by the explanation.
	Kinds, Explained map[string]int
	Failed           int
	// Once are the names of scripts whose sides differed, and did not when they were played again.
	Once []string
}

// Unused are the explanations that no script has come upon.
func (r Report) Unused() []string {
	var unused []string
	for _, id := range explanationIDs() {
		if r.Explained[id] == 0 {
			unused = append(unused, id)
		}
	}
	return unused
}

// Page is what the documentation says of a run.
func (r Report) Page(seed int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d scripts in %s, from seed %d on: %d steps of %d kinds. %d of the scripts were rushed. Steps after which the sides differed, and why:\n\n| difference | steps |\n|---|---|\n",
		r.Scripts, r.Took.Round(time.Minute), seed, r.Steps, len(r.Kinds), r.Rushed)
	for _, id := range explanationIDs() {
		fmt.Fprintf(&b, "| %s | %d |\n", id, r.Explained[id])
	}
	fmt.Fprintf(&b, "\nNo other difference came twice. Scripts that differed once, and then not in %d plays with nothing beside them: %s.\n", replays, cmp.Or(strings.Join(r.Once, ", "), "none"))
	return b.String()
}

// Table is the summary of a run, kind by kind.
func (r Report) Table() string {
	lines := []string{r.String(), "steps:"}
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		lines = append(lines, fmt.Sprintf("%7d  %s", r.Kinds[kind], kind))
	}
	lines = append(lines, "differences that are explained:")
	for _, id := range explanationIDs() {
		lines = append(lines, fmt.Sprintf("%7d  %s", r.Explained[id], id))
	}
	if unused := r.Unused(); len(unused) > 0 {
		lines = append(lines, "explained and never seen: "+strings.Join(unused, ", "))
	}
	return strings.Join(lines, "\n")
}

// String is one line.
func (r Report) String() string {
	return fmt.Sprintf("%s: %d scripts, %d of them rushed, %d steps, %d failed, differed once: %v; explained: %s", r.Took.Round(time.Second), r.Scripts, r.Rushed, r.Steps, r.Failed, r.Once, counts(r.Explained))
}

func counts(of map[string]int) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", key, of[key]))
	}
	return strings.Join(words, ", ")
}
