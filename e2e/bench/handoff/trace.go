package handoff

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/migration"
)

// trace adds up the time of sliceshift's handoffs by outcome of a pass: the time since the previous pass.
type trace struct {
	last   time.Time
	order  []string
	steps  map[string]*step
	passes int
}

type step struct {
	count int
	took  time.Duration
}

// Begin starts a move.
func (t *trace) Begin(now time.Time) {
	t.last = now
	if t.steps == nil {
		t.steps = map[string]*step{}
	}
}

// Add records the next pass.
func (t *trace) Add(outcome migration.Outcome, now time.Time) {
	name := nameOf(outcome)
	if t.steps[name] == nil {
		t.steps[name] = &step{}
		t.order = append(t.order, name)
	}
	t.steps[name].count++
	t.steps[name].took += now.Sub(t.last)
	t.last = now
	t.passes++
}

func nameOf(outcome migration.Outcome) string {
	name := "look"
	switch d := outcome.Decision; {
	case d.Effect != nil:
		name = string(d.Effect.Verb)
		if d.Effect.Volume.Verb != "" {
			name += " " + string(d.Effect.Volume.Verb)
		}
		if !outcome.Wrote {
			name += ", refused"
		}
	case d.Record != nil:
		name = "record"
	case d.Hold != nil:
		name = "hold " + d.Hold.Reason
	}
	if outcome.Saved {
		name += ", status"
	}
	return name
}

// show prints the means of a handoff.
func (t *trace) show(out io.Writer) {
	handoffs := 0
	if done := t.steps["record, status"]; done != nil {
		handoffs = done.count
	}
	if handoffs == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "passes a handoff\tms a handoff\tms a pass\t  result of the pass")
	var sum time.Duration
	for _, name := range t.order {
		s := t.steps[name]
		sum += s.took
		fmt.Fprintf(table, "%.2f\t%.1f\t%.1f\t  %s\n", measure.Share(s.count, handoffs), ms(s.took)/float64(handoffs), ms(s.took)/float64(s.count), name)
	}
	fmt.Fprintf(table, "%.2f\t%.1f\t%.1f\t  all\n\n", measure.Share(t.passes, handoffs), ms(sum)/float64(handoffs), ms(sum)/float64(t.passes))
	table.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
