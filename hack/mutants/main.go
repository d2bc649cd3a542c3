// Command mutants plants faults in the logic that keeps data safe, one at a time, and runs the tests: each fault must be
// caught. It shows which tests are valuable, and that no rule can be lost unnoticed. Faults that a tool can generate
// belong to hack/mutate.
//
// A fault is an entry of mutants.yaml: a text in a file, and its replacement. It is compiled through `go test -overlay`,
// so that the work tree is not changed. A fault whose text is not found exactly once is an error: the list must follow
// the code.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/hack/internal/testbinary"
	"github.com/sliceshift/sliceshift/internal/figures"
)

//go:embed mutants.yaml
var list []byte

// mutant is one fault.
type mutant struct {
	// File is the path of the file, from the root of the repository.
	File string `json:"file"`
	// Find occurs exactly once, and is replaced by Replace.
	Find    string `json:"find"`
	Replace string `json:"replace"`
	// Fault describes the fault, and Breaks lists the invariants that it breaks.
	Fault  string `json:"fault"`
	Breaks string `json:"breaks"`
}

// verdict holds what caught a mutant.
type verdict struct {
	mutant
	// model is the first violation that the model found, and tests are the failed tests.
	model string
	tests []string
	// commit is the commit at which the mutant was planted.
	commit string
}

// unexplored is the model's cell of a fault that tests caught, so that the model was skipped.
const unexplored = "not explored"

func (v verdict) caught() bool { return v.byModel() || len(v.tests) > 0 }

func (v verdict) byModel() bool { return v.model != "" && v.model != unexplored }

func main() {
	only := flag.String("only", "", "a regular expression: plant only the faults that match; the others keep their lines in the list")
	fresh := flag.Bool("new", false, "plant only those that have no line in the list yet")
	fast := flag.Bool("fast", false, "do not explore the model for a fault that the tests of its own package catch")
	out := flag.String("o", "docs/planted.md", "the list, which is written after each fault; empty: none")
	flag.Parse()
	if err := run(context.Background(), choice{*only, *fresh, *fast}, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// choice selects the faults to plant, and how much to run for each.
type choice struct {
	only        string
	fresh, fast bool
}

func run(ctx context.Context, chosen choice, out string) error {
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		return err
	}
	match, err := regexp.Compile(chosen.only)
	if err != nil {
		return err
	}
	if err := planted(mutants); err != nil {
		return err
	}
	folder, err := testbinary.New()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder.Dir)
	bench, known := bench{folder, chosen.fast}, knownFrom(out)
	var wrong error
	for i, m := range mutants {
		if _, found := known[m.Fault]; chosen.fresh && found || !match.MatchString(m.File+" "+m.Fault) {
			continue
		}
		v, err := bench.try(ctx, m)
		if err == nil && !v.caught() {
			err = errors.New("nothing has caught it")
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%2d of %d  %s: %s: %v\n", i+1, len(mutants), m.File, m.Fault, err)
			wrong = errors.Join(wrong, fmt.Errorf("%s: %s: %w", m.File, m.Fault, err))
			delete(known, m.Fault) // its verdict from an earlier run does not hold any more
		} else {
			fmt.Fprintf(os.Stderr, "%2d of %d  %s: %s: %s; %d tests\n", i+1, len(mutants), m.File, m.Fault, v.model, len(v.tests))
			v.commit = figures.Commit()
			known[m.Fault] = v
		}
		if err := write(out, mutants, known); err != nil {
			return err
		}
	}
	return wrong
}

// write writes the list of known verdicts, so that hours of results survive the end of the process.
func write(out string, mutants []mutant, known map[string]verdict) error {
	if out == "" {
		return nil
	}
	var verdicts []verdict
	for _, m := range mutants {
		if v, found := known[m.Fault]; found {
			v.mutant = m
			verdicts = append(verdicts, v)
		}
	}
	return os.WriteFile(out, []byte(intro+figures.Block("mutants-list", table(verdicts))), 0o644)
}

// knownFrom reads the list that table has written, by fault, because code moves from file to file. It returns an empty
// map if there is no list.
func knownFrom(list string) map[string]verdict {
	data, _ := os.ReadFile(list)
	known := map[string]verdict{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "| "), " |"), " | ")
		const columns = 6
		if len(cells) != columns || cells[1] == "fault" {
			continue
		}
		v := verdict{model: uncell(cells[3]), commit: cells[5]}
		if tests := uncell(cells[4]); tests != "" {
			v.tests = strings.Split(tests, ", ")
		}
		known[cells[1]] = v
	}
	return known
}

// planted checks that each fault can be planted.
func planted(mutants []mutant) error {
	var wrong error
	faults := map[string]bool{}
	for _, m := range mutants {
		if faults[m.Fault] {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %s: there are two of them", m.File, m.Fault))
		}
		faults[m.Fault] = true
		if _, err := m.apply(); err != nil {
			wrong = errors.Join(wrong, err)
		}
	}
	return wrong
}

// apply returns the file with the fault.
func (m mutant) apply() (string, error) {
	data, err := os.ReadFile(filepath.FromSlash(m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), m.Find); n != 1 {
		return "", fmt.Errorf("%s: %q is there %d times instead of once: the list must follow the code", m.File, m.Find, n)
	}
	if m.Find == m.Replace {
		return "", fmt.Errorf("%s: %q changes nothing", m.File, m.Find)
	}
	return strings.Replace(string(data), m.Find, m.Replace, 1), nil
}

// intro is the beginning of the list.
const intro = "# Planted faults, and what catches them\n\nGenerated from hack/mutants/mutants.yaml: `make mutants-list`." + ` Small faults that a tool makes are in
[mutants.md](mutants.md); these are what no tool thinks of. Each line is one fault that is planted
in the code by itself, and what fails then: the model (TestModel of package model within its
small bounds, see [safety](engineering/safety.md)), with the first thing that it finds wrong, and the first
of the other tests that fails, of the package that has the fault, of package model or of package migration; and the
commit at which that was so.

`

func table(verdicts []verdict) string {
	var b strings.Builder
	byModel, byTests := 0, 0
	for _, v := range verdicts {
		if v.byModel() {
			byModel++
		}
		if len(v.tests) > 0 {
			byTests++
		}
	}
	fmt.Fprintf(&b, "%d faults: the model catches %d, the other tests %d, together all %d.\n\n", len(verdicts), byModel, byTests, len(verdicts))
	b.WriteString("| file | fault | breaks | the model says | test | commit |\n|---|---|---|---|---|---|\n")
	for _, v := range verdicts {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", v.File, v.Fault, v.Breaks, cell(v.model), cell(strings.Join(v.tests, ", ")), v.commit)
	}
	return b.String()
}

func cell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(s, "|", `\|`)
}

func uncell(s string) string {
	if s == "-" {
		return ""
	}
	return strings.ReplaceAll(s, `\|`, "|")
}
