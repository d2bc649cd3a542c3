// Package cases selects the cases that run on kind and holds the table of their measurements.
package cases

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// Row holds the measurements of one case.
type Row struct {
	Name string
	// Verdict is the auditor's; nil if the auditor did not watch.
	Verdict *auditor.Report
	// Journals are the journals of the replicas.
	Journals []journal.Journal
	Remark   string
}

// Table collects rows in the order in which the cases end. Its zero value is empty.
type Table struct {
	mu   sync.Mutex
	rows []Row
}

// Add appends a row.
func (t *Table) Add(r Row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

// Print prints the seconds of each handoff, by the auditor's clock and by the journals.
func (t *Table) Print(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tfewest available\tdown for each handoff (s)\tjournal silent (s)\tauditor\t")
	for _, r := range t.rows {
		var available, verdict string
		var down, silent []time.Duration
		if v := r.Verdict; v != nil {
			available, verdict = fmt.Sprintf("%d of %d", v.FewestAvailable, v.Replicas), "OK"
			if !v.OK() {
				verdict = "REFUTED"
			}
			for _, o := range v.Ordinals {
				down = append(down, o.Down.Duration)
			}
		}
		for _, j := range r.Journals {
			silent = append(silent, Silences(j)...)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, available, seconds(down), seconds(silent), verdict, r.Remark)
	}
	_ = w.Flush()
}

func seconds(all []time.Duration) string {
	each := make([]string, 0, len(all))
	for _, d := range all {
		each = append(each, fmt.Sprintf("%.1f", d.Seconds()))
	}
	return strings.Join(each, " ")
}

// Silences returns the times between the last line of each run and the first line of the next.
func Silences(j journal.Journal) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(j.Runs); i++ {
		all = append(all, j.Runs[i].First.Sub(j.Runs[i-1].Last))
	}
	return all
}

// onKindVariable is set by make e2e-kind: to K/N for the K-th of N shares of the cases, or to any other value for all.
const onKindVariable = "E2E_KIND"

// Chosen reports whether the tests run on kind. If so, it selects the tests of onKind, or the requested share of them,
// unless -test.run is set. Call it before the tests run.
func Chosen(onKind []string) (bool, error) {
	asked := os.Getenv(onKindVariable)
	if asked == "" {
		return false, nil
	}
	chosen, err := share(onKind, asked)
	if err != nil {
		return false, err
	}
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		return true, run.Value.Set("^(" + strings.Join(chosen, "|") + ")$")
	}
	return true, nil
}

// share returns every N-th of the cases, sorted by name, from the K-th on, if K/N is requested.
func share(onKind []string, asked string) ([]string, error) {
	if !strings.Contains(asked, "/") {
		return onKind, nil
	}
	var k, n int
	if _, err := fmt.Sscanf(asked, "%d/%d", &k, &n); err != nil || k < 1 || k > n || n > len(onKind) {
		return nil, fmt.Errorf("%s=%s: want K/N, the K-th of at most %d shares", onKindVariable, asked, len(onKind))
	}
	var chosen []string
	for i, name := range slices.Sorted(slices.Values(onKind)) {
		if i%n == k-1 {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// Check checks that each test of the package in dir either also runs on kind, or is listed in embeddedOnly with the
// reason. It returns the faults that it finds.
func Check(dir string, onKind []string, embeddedOnly map[string]string) ([]string, error) {
	all, err := tests(dir)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, name := range all {
		if runs, reason := slices.Contains(onKind, name), embeddedOnly[name]; runs == (reason != "") {
			wrong = append(wrong, name+" must be either among those that run on kind, or have the reason why it does not")
		}
	}
	named := slices.Clone(onKind)
	for name := range embeddedOnly {
		named = append(named, name)
	}
	for _, name := range named {
		if !slices.Contains(all, name) {
			wrong = append(wrong, name+" is named, and is not there")
		}
	}
	slices.Sort(wrong)
	return wrong, nil
}

// tests returns the names of the test functions of a folder, except TestMain.
func tests(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no tests in %s: %w", dir, err)
	}
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				all = append(all, f.Name.Name)
			}
		}
	}
	return all, nil
}
