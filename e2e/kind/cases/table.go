// Package cases selects the cases that run on kind and holds the table of their measurements.
package cases

import (
	"fmt"
	"io"
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
