package measure

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/sliceshift/sliceshift/migration/engine"
)

// Trace adds up the time of handoffs by outcome of a pass: the time since the previous pass.
type Trace struct {
	last             time.Time
	order            []string
	steps            map[string]*step
	passes, handoffs int
}

type step struct {
	count int
	took  time.Duration
}

// begin starts a move.
func (t *Trace) begin(now time.Time) {
	t.last = now
	if t.steps == nil {
		t.steps = map[string]*step{}
	}
}

// add records the next pass.
func (t *Trace) add(outcome engine.Outcome, now time.Time) {
	name := nameOf(outcome)
	if t.steps[name] == nil {
		t.steps[name] = &step{}
		t.order = append(t.order, name)
	}
	t.steps[name].count++
	t.steps[name].took += now.Sub(t.last)
	t.last = now
	t.passes++
	if outcome.Finished != nil {
		t.handoffs++
	}
}

func nameOf(outcome engine.Outcome) string {
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

// Show prints the means of a handoff.
func (t *Trace) Show(out io.Writer) {
	if t.handoffs == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "passes a handoff\tms a handoff\tms a pass\t  result of the pass")
	var sum time.Duration
	for _, name := range t.order {
		s := t.steps[name]
		sum += s.took
		fmt.Fprintf(table, "%.2f\t%.1f\t%.1f\t  %s\n", Share(s.count, t.handoffs), ms(s.took)/float64(t.handoffs), ms(s.took)/float64(s.count), name)
	}
	fmt.Fprintf(table, "%.2f\t%.1f\t%.1f\t  all\n\n", Share(t.passes, t.handoffs), ms(sum)/float64(t.handoffs), ms(sum)/float64(t.passes))
	table.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
