// Package measure holds the common parts of the benchmarks. They are the run of a scenario, the application, the contenders
// "sliceshift, as a command" and "the manager", the counting of their requests, and the table of figures and goals.
package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/versions"
	pages "github.com/sliceshift/sliceshift/internal/figures"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// errMissed is the error of a measurement that misses a goal.
var errMissed = errors.New("a goal was missed")

// Part is one thing to measure.
type Part struct {
	Name string
	Run  func(context.Context) error
}

// Scenario is a benchmark.
type Scenario struct {
	// Target is the target of the Makefile, and the name of the figures.
	Target string
	// Limit bounds the run; 0 means no limit.
	Limit time.Duration
	// Begin starts what the parts share, and returns a function that ends it.
	Begin func(context.Context, Workshop) (end func() error, err error)
	Parts []Part
	// Done completes the figures after the last part; may be nil. The argument is the duration of the run.
	Done func(seconds float64)
	// Figures are written as JSON to out/TARGET.json. Page returns their text for the documentation. It is written if the
	// options are the Usual ones; nil means that any are.
	Figures any
	Page    func() string
	Usual   func() bool
	// Show prints the figures, and reports whether all goals are met.
	Show func(io.Writer) bool
}

// Run measures all parts, or only the part of that name. It prints the figures and writes those of a whole run.
func (s *Scenario) Run(ctx context.Context, only string) (err error) {
	if s.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Limit)
		defer cancel()
	}
	dir, err := os.MkdirTemp("", "sliceshift-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := Workshop{Dir: dir, begin: time.Now()}
	end, err := s.Begin(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	measured := 0
	for _, p := range s.Parts {
		if only != "" && only != p.Name {
			continue
		}
		if err := p.Run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		measured++
	}
	if measured == 0 {
		return fmt.Errorf("no part is called %q", only)
	}
	w.Say("done")
	if s.Done != nil {
		s.Done(time.Since(w.begin).Seconds())
	}
	if only == "" {
		if err := s.write(); err != nil {
			return err
		}
	}
	if !s.Show(os.Stdout) {
		return errMissed
	}
	return nil
}

func (s *Scenario) write() error {
	path, err := built.Module("out", s.Target+".json")
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(s.Figures, "", "  ")
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, append(data, '\n'), 0o644)); err != nil {
		return err
	}
	if s.Usual != nil && !s.Usual() {
		return nil
	}
	v, err := versions.Selected()
	if err != nil {
		return err
	}
	return pages.Write(v.Target(s.Target), s.Page())
}

// Workshop is where a run builds its programs and prints its progress.
type Workshop struct {
	// Dir holds the programs, and is removed after the run.
	Dir   string
	begin time.Time
}

// Say prints a line of progress.
func (w Workshop) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.1f s  %s\n", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}

// Command builds a command of this repository and returns its path.
func (w Workshop) Command(ctx context.Context, name string) (string, error) {
	w.Say("building %s", name)
	target := filepath.Join(w.Dir, name)
	return target, built.Command(ctx, name, target, "-ldflags=-s -w")
}

// Row is one line of the table.
type Row struct {
	Figure, Measured string
	// Goal is the required value; a row without a goal is only shown.
	Goal, Verdict string
	Missed        bool
}

// Judged returns a row whose value must not exceed a goal.
func Judged(figure, format string, value, most float64, remark string) Row {
	return judged(figure, fmt.Sprintf(format, value)+remark, "at most "+fmt.Sprintf(format, most), value <= most)
}

// AtLeast returns a row whose value must reach a goal.
func AtLeast(figure, format string, value, least float64, remark string) Row {
	return judged(figure, fmt.Sprintf(format, value)+remark, "at least "+fmt.Sprintf(format, least), value >= least)
}

func judged(figure, measured, goal string, good bool) Row {
	r := Row{Figure: figure, Measured: measured, Goal: goal, Verdict: "ok"}
	if !good {
		r.Verdict, r.Missed = "MISSED", true
	}
	return r
}

// Aimed returns a row whose goal is only an aim: missing it is no failure.
func Aimed(figure, format string, value, most float64) Row {
	return Judged(figure, format, value, most, "").AsAim()
}

// AsAim returns the row with its goal as an aim: missing it is no failure.
func (r Row) AsAim() Row {
	r.Goal += " (aim)"
	r.Missed = false
	return r
}

// Shown returns a row without a goal.
func Shown(figure, measured string) Row { return Row{Figure: figure, Measured: measured} }

// Aim adds an aim beyond the goal; missing it is no failure.
func (r Row) Aim(format string, aim float64) Row {
	r.Goal += ", aim " + fmt.Sprintf(format, aim)
	return r
}

// Show prints the table, and reports whether all goals are met.
func Show(out io.Writer, rows []Row) bool {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tMEASURED\tGOAL\tVERDICT")
	good := true
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Figure, r.Measured, r.Goal, r.Verdict)
		good = good && !r.Missed
	}
	table.Flush()
	return good
}

// Command moves applications by the engine in this process, as "migrate run" drives it.
type Command struct {
	Source, Destination *rest.Config
	// InFlight is how many ordinals move at once; 0 is the default of a Migration.
	InFlight int32
	// Trace receives every pass during the handoffs; may be nil.
	Trace *Trace
}

// Move moves an application, and returns the times and the requests that were sent during the handoffs.
func (c Command) Move(ctx context.Context, app fixture.App) (Timing, Counts, error) {
	sent, m := &Requests{}, Migration(app)
	if c.InFlight > 0 {
		m.Spec.Handoff.MaxInFlight = new(intstr.FromInt32(c.InFlight))
	}
	mover, err := fixture.NewMover(ctx, sent.Watching(c.Source), sent.Watching(c.Destination), m)
	if err != nil {
		return Timing{}, Counts{}, err
	}
	var taken Timing
	var before, during Counts
	err = mover.Run(ctx, func(_ *api.Migration, outcome engine.Outcome) error {
		if record := outcome.Decision.Record; taken.Begin.IsZero() && record != nil && record.Handoff != nil {
			// This record is not counted; the record that ends the last handoff is.
			taken.Begin, before = outcome.Snapshot.Now, sent.Counts()
			if c.Trace != nil {
				c.Trace.begin(time.Now())
			}
			return nil
		}
		moving := !taken.Begin.IsZero() && len(taken.Arrived) < int(app.Replicas)
		if moving && c.Trace != nil {
			c.Trace.add(outcome, time.Now())
		}
		if outcome.Finished != nil {
			taken.Arrived = append(taken.Arrived, time.Now())
		}
		if moving && len(taken.Arrived) == int(app.Replicas) {
			during = sent.Counts().Sub(before)
		}
		return nil
	})
	return taken, during, err
}
