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
	Fault string `json:"fault"`
	// Model is the first violation that the model found, and Tests are the failed tests.
	Model string   `json:"model,omitempty"`
	Tests []string `json:"tests,omitempty"`
	// Commit is the commit at which the mutant was planted.
	Commit string `json:"commit"`
}

// unexplored is the model's verdict on a fault that tests caught, so that the model was skipped.
const unexplored = "not explored"

func (v verdict) caught() bool { return v.byModel() || len(v.Tests) > 0 }

func (v verdict) byModel() bool { return v.Model != "" && v.Model != unexplored }

func main() {
	only := flag.String("only", "", "a regular expression: plant only the faults that match; the others keep their verdicts")
	fresh := flag.Bool("new", false, "plant only those that have no verdict yet")
	fast := flag.Bool("fast", false, "do not explore the model for a fault that the tests of its own package catch")
	out := flag.String("o", "hack/mutants/caught.yaml", "the verdicts, which are written after each fault")
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
	known, err := knownFrom(out)
	if err != nil {
		return err
	}
	bench := bench{folder, chosen.fast}
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
			fmt.Fprintf(os.Stderr, "%2d of %d  %s: %s: %s; %d tests\n", i+1, len(mutants), m.File, m.Fault, v.Model, len(v.Tests))
			v.Commit = figures.Commit()
			known[m.Fault] = v
		}
		if err := write(out, mutants, known); err != nil {
			return err
		}
	}
	return wrong
}

// write writes the verdicts in the order of the list, so that hours of results survive the end of the process.
func write(out string, mutants []mutant, known map[string]verdict) error {
	var verdicts []verdict
	for _, m := range mutants {
		if v, found := known[m.Fault]; found {
			verdicts = append(verdicts, v)
		}
	}
	text, err := yaml.Marshal(verdicts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, append([]byte(intro), text...), 0o644); err != nil {
		return err
	}
	return figures.Write("mutants-list", summary(len(mutants), verdicts))
}

const intro = "# The tests that caught each fault of mutants.yaml: the first violation that the model found, the tests that failed, and the\n" +
	"# commit. make mutants-list writes it.\n"

// knownFrom returns the verdicts of a file by fault, because code moves from file to file.
func knownFrom(file string) (map[string]verdict, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var verdicts []verdict
	if err := yaml.UnmarshalStrict(data, &verdicts); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	known := map[string]verdict{}
	for _, v := range verdicts {
		known[v.Fault] = v
	}
	return known, nil
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

// summary counts what caught the faults.
func summary(faults int, verdicts []verdict) string {
	byModel, byTests := 0, 0
	for _, v := range verdicts {
		if v.byModel() {
			byModel++
		}
		if len(v.Tests) > 0 {
			byTests++
		}
	}
	return fmt.Sprintf("%d of %d faults were planted and caught: %d by the model, %d by other tests. hack/mutants/caught.yaml names them, each with its commit.",
		len(verdicts), faults, byModel, byTests)
}
