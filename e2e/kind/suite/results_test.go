package suite

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// result is what one case measured.
type result struct {
	name            string
	fewest, of      int32
	handoffs        []time.Duration
	interruption    []time.Duration // between the last line at one side and the first at the other
	verdict, remark string
}

// table collects them, in the order in which the cases end.
type table struct {
	sync.Mutex
	rows []result
}

var results table

func (t *table) add(r result) {
	t.Lock()
	defer t.Unlock()
	t.rows = append(t.rows, r)
}

// print shows the seconds of each handoff, by the auditor's clock and by the journals.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tfewest available\tdown for each handoff (s)\tjournal silent (s)\tauditor\t")
	for _, r := range t.rows {
		available := ""
		if r.verdict != "" {
			available = fmt.Sprintf("%d of %d", r.fewest, r.of)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.name, available, seconds(r.handoffs), seconds(r.interruption), r.verdict, r.remark)
	}
	_ = w.Flush()
}

func seconds(all []time.Duration) string {
	text := ""
	var textSb48 strings.Builder
	for i, d := range all {
		if i > 0 {
			textSb48.WriteString(" ")
		}
		fmt.Fprintf(&textSb48, "%.1f", d.Seconds())
	}
	text += textSb48.String()
	return text
}

func handoffsOf(report auditor.Report) []time.Duration {
	var all []time.Duration
	for _, o := range report.Ordinals {
		all = append(all, o.Down.Duration)
	}
	return all
}
