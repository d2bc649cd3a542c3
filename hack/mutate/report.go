package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is the result of a run.
type report struct {
	mutants []*mutant
	took    time.Duration
	// partly is true if some verdicts are from an earlier run, so that the total time is longer.
	partly bool
}

// tally counts the mutants of a package.
type tally struct {
	made, killed, equivalent, survived, untried int
}

func (r *report) tally(pkg string) tally {
	var t tally
	for _, m := range r.mutants {
		if pkg != "" && path.Dir(m.File) != pkg {
			continue
		}
		t.made++
		switch {
		case m.Fate == untried:
			t.untried++
		case m.Fate == killed:
			t.killed++
		case m.why != "":
			t.equivalent++
		default:
			t.survived++
		}
	}
	return t
}

// percent returns the percentage of killed mutants, out of those that were tried and have an effect.
func (t tally) percent() float64 {
	tried := t.killed + t.survived
	if tried == 0 {
		return 100
	}
	return 100 * float64(t.killed) / float64(tried)
}

func (t tally) String() string {
	text := fmt.Sprintf("%d mutants, %d killed, %d equivalent, %d survived: %.1f %% of those that change something are killed",
		t.made, t.killed, t.equivalent, t.survived, t.percent())
	if t.untried > 0 {
		text += fmt.Sprintf("; %d were left out, for there was no time for them", t.untried)
	}
	return text
}

func (r *report) print(w io.Writer) {
	for _, m := range r.mutants {
		if m.alive() && m.why == "" {
			fmt.Fprintf(w, "%s: %s\n", m.Fate, m)
		}
	}
	for _, p := range packages {
		if t := r.tally(p.name); t.made > 0 {
			fmt.Fprintf(w, "%s: %s\n", p.name, t)
		}
	}
	fmt.Fprintf(w, "all: %s, after %s\n", r.tally(""), r.took.Round(time.Second))
}

// wrong returns an error if no mutant was tried, too few are killed, or an equivalent one is killed.
func (r *report) wrong(least float64) error {
	var wrong error
	if t := r.tally(""); t.made > 0 && t.untried == t.made {
		wrong = fmt.Errorf("none of the %d faults was tried in %s: the tests were not even looked through. Give it longer (-budget), or less to do (-only)", t.made, r.took.Round(time.Second))
	}
	for _, m := range r.mutants {
		if m.why != "" && m.Fate == killed {
			wrong = errors.Join(wrong, fmt.Errorf("equivalent.yaml: %s: it is killed by %s", m, m.By))
		}
	}
	if t := r.tally(""); t.percent() < least && t.chance(least) < slim {
		wrong = errors.Join(wrong, fmt.Errorf("%.1f %% are killed, and it must be %.0f %%", t.percent(), least))
	}
	return wrong
}

// slim is the probability below which a sample is not bad luck.
const slim = 0.05

// chance returns the probability that at most as many tried mutants are killed, if the given percentage of all can be.
// It is 0 if all were tried, because then there is no sample.
func (t tally) chance(percent float64) float64 {
	if t.untried == 0 {
		return 0
	}
	p, tried := percent/100, t.killed+t.survived
	term, sum := math.Pow(1-p, float64(tried)), 0.0 // of the binomial distribution
	for k := range t.killed + 1 {
		sum += term
		term *= float64(tried-k) / float64(k+1) * p / (1 - p)
	}
	return sum
}

// page returns the report.
func (r *report) page() string {
	return "# Small faults, and whether the tests notice them\n\n" + r.table() + r.equivalents() + r.unnoticed()
}

// table returns how many faults of each package were created, with their results.
func (r *report) table() string {
	var b strings.Builder
	b.WriteString("| package | made | killed | equivalent | survived | killed of those that change something |\n|---|---|---|---|---|---|\n")
	row := func(name string, t tally) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.1f %% |\n", name, t.made, t.killed, t.equivalent, t.survived, t.percent())
	}
	for _, p := range packages {
		row(p.name, r.tally(p.name))
	}
	row("all", r.tally(""))
	if untried := r.tally("").untried; untried > 0 {
		fmt.Fprintf(&b, "\n%d were not tried with every test that reaches them: there was no time for it.\n", untried)
	}
	if r.partly {
		b.WriteString("\nWhat an earlier run had killed was not tried again.\n")
	} else {
		fmt.Fprintf(&b, "\nIt took %.0f minutes on %d processors.\n", r.took.Minutes(), runtime.NumCPU())
	}
	return b.String()
}

// equivalents returns the part of the page about mutants without an effect.
func (r *report) equivalents() string {
	var b strings.Builder
	b.WriteString("\n## What changes nothing\n\n| where | function | was | becomes | why |\n|---|---|---|---|---|\n")
	for _, m := range r.mutants {
		if m.alive() && m.why != "" {
			fmt.Fprintf(&b, "| %s:%d | %s | %s | %s | %s |\n", m.File, m.Line, m.Func, code(m.Was), code(m.Becomes+nth(m.Nth)), m.why)
		}
	}
	return b.String()
}

// mostListed is how many survivors the page lists individually.
const mostListed = 200

// unnoticed returns the part of the page about mutants that no test notices.
func (r *report) unnoticed() string {
	var b strings.Builder
	b.WriteString("\n## What no test notices yet\n\n")
	byFile := map[string]int{}
	for _, m := range r.mutants {
		if m.alive() && m.why == "" {
			byFile[m.File]++
		}
	}
	switch survived := r.tally("").survived; {
	case survived == 0:
		b.WriteString("Nothing.\n")
	case survived > mostListed:
		b.WriteString("`go run ./hack/mutate -list` names each of them after a run.\n\n| file | survived |\n|---|---|\n")
		for _, file := range slices.Sorted(maps.Keys(byFile)) {
			fmt.Fprintf(&b, "| %s | %d |\n", file, byFile[file])
		}
	default:
		b.WriteString("| where | function | was | becomes |\n|---|---|---|---|\n")
		for _, m := range r.mutants {
			if m.alive() && m.why == "" {
				fmt.Fprintf(&b, "| %s:%d | %s | %s | %s |\n", m.File, m.Line, m.Func, code(m.Was), code(m.Becomes+nth(m.Nth)))
			}
		}
	}
	return b.String()
}

// code returns a table cell with code.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }
