package evacuate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/view"
)

// refreshEvery is how often a watched Evacuation is read. All of its Migrations are read with it.
const refreshEvery = 2 * time.Second

// Screen shows the state of an Evacuation.
type Screen struct {
	*command.Common
	// Evacuation is its name, and Format that of the output: table, json or yaml.
	Evacuation, Format string

	connection *clusters.Connection
	key        client.ObjectKey
}

// Show prints the state once. It returns an error if the Evacuation is stalled.
func (s *Screen) Show(ctx context.Context) error {
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	text := func(r course) error {
		_, err := fmt.Fprintln(s.Out, strings.Join(s.lines(r, len(r.Migrations), s.Width()), "\n"))
		return err
	}
	if err := terminal.Print(s.Out, s.Format, r, text); err != nil {
		return err
	}
	if r.State == api.EvacuationStalled {
		return command.Refusedf("Evacuation %s is stalled: none of its Migrations can continue", s.key)
	}
	return nil
}

// read connects, and reads the Evacuation.
func (s *Screen) read(ctx context.Context) (r course, err error) {
	if s.connection == nil {
		s.key.Name = s.Evacuation
		if s.connection, s.key.Namespace, err = s.ConnectTo(); err != nil {
			return r, err
		}
	}
	r, err = readCourse(ctx, s.connection, s.key, s.Clock.Now)
	switch {
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("no Evacuation %s in cluster %s", s.key, s.connection.Name())
	case err != nil:
		err = command.Unreachable(s.connection.Name(), err)
	}
	return r, err
}

// draw returns a function that shows a course in a part of the terminal.
func (s *Screen) draw(area *terminal.Area) func(course) error {
	return func(r course) error {
		area.Draw(nil, s.lines(r, mostLive, s.Width()-1))
		return nil
	}
}

// Watch shows each change until nothing is left to do: on a terminal in place, elsewhere one line or document for each.
func (s *Screen) Watch(ctx context.Context) error {
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	show := s.change()
	if s.Format == "table" && s.Terminal() {
		show = s.draw(&terminal.Area{Out: printable.Behind(s.Out)})
	}
	ended := command.Poll(ctx, s.Clock, refreshEvery, math.MaxInt64, func() bool {
		if err = show(r); err != nil || r.settled {
			return true
		}
		next, failed := s.read(ctx)
		switch {
		case failed == nil:
			r = next
		case ctx.Err() == nil:
			fmt.Fprintln(s.ErrOut, failed) // the last state still holds
		}
		return false
	})
	if errors.Is(ended, command.ErrInterrupted) {
		return &command.ExitError{Code: command.ExitFailure, Err: ended, Silent: true}
	}
	return errors.Join(err, ended)
}

// change returns a function that prints the state if it has changed. Times that pass are no change.
func (s *Screen) change() func(course) error {
	last := ""
	return func(r course) error {
		text := fmt.Sprintf("%s: %s StatefulSets, %d/%d ordinals", r.State, r.Progress, r.Arrived, r.Ordinals)
		if r.Stuck > 0 {
			text += fmt.Sprintf(", %d cannot continue", r.Stuck)
		}
		if text == last {
			return nil
		}
		last = text
		if s.Format != "table" {
			return terminal.Encode(s.Out, s.Format, r)
		}
		_, err := fmt.Fprintf(s.Out, "%s  %s%s\n", s.Clock.Now().Format(time.TimeOnly), text, r.leftText())
		return err
	}
}

// leftText returns the expected time until the end as the end of a line; empty if there is none.
func (r course) leftText() string {
	if r.LeftSeconds == nil {
		return ""
	}
	return ", about " + view.Coarse(inSeconds(*r.LeftSeconds)) + " left"
}

// mostLive is how many StatefulSets are shown on a terminal while they change, so that they fit on a usual one.
const mostLive = 8

// lines returns the state as text: the times, and up to a number of StatefulSets, each with its planned time above the real
// one.
func (s *Screen) lines(r course, most, width int) []string {
	paint := s.Paint()
	lines := []string{paint.Bold(fmt.Sprintf("Evacuation %s/%s: %s", r.Namespace, r.Name, r.lead()))}
	for _, each := range r.times() {
		lines = append(lines, terminal.Pad(each[0], len("Expected")+2)+each[1])
	}
	if len(r.Migrations) == 0 {
		return lines
	}
	shown := r.shown(most)
	lines = append(append(lines, ""), s.gantt(r, shown, width)...)
	if more := len(r.Migrations) - len(shown); more > 0 {
		lines = append(lines, view.Count(more, "StatefulSet")+" more: without -w all are shown")
	}
	for _, m := range shown {
		if m.stage() == evacuate.Stuck && m.Message != "" {
			lines = append(lines, paint.Red(string(m.State)+" ")+m.title()+": "+terminal.Clip(m.Message, max(0, width-len(m.State)-len(m.title())-3)))
		}
	}
	return lines
}

// shown returns the Migrations that matter most, in their order: those under way, those that cannot continue, those that
// begin next, and those that have moved.
func (r course) shown(most int) (all []moved) {
	rank := func(m moved) int { return slices.Index(ranks, m.State) }
	order := make([]int, len(r.Migrations))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(r.Migrations[a]) - rank(r.Migrations[b]) })
	order = order[:min(most, len(order))]
	slices.Sort(order)
	for _, at := range order {
		all = append(all, r.Migrations[at])
	}
	return all
}

// ranks are the states by how much they matter to a user who watches.
var ranks = []api.EvacuatedState{
	api.EvacuatedMoving, api.EvacuatedRollingBack, api.EvacuatedStalled, api.EvacuatedMissing, api.EvacuatedPaused, api.EvacuatedHeld, api.EvacuatedWaiting, api.EvacuatedBack, api.EvacuatedMoved,
}

// gantt returns the chart as lines: two for each set.
func (s *Screen) gantt(r course, shown []moved, full int) []string {
	begin := r.Time
	if r.Started != nil {
		begin = *r.Started
	}
	lasts := r.endFrom(begin).Sub(begin)
	var labels []string
	for _, m := range shown {
		labels = append(labels, m.title(), m.stateText())
	}
	c := canvas{lasts: lasts, unicode: s.Unicode()}
	c.fit(labels, full)
	lines := []string{c.axis()}
	for _, m := range shown {
		lines = append(lines, c.line(m.title(), m.plannedStrokes()), c.line(m.stateText(), m.strokes(begin, r.Time)))
	}
	return append(lines, c.legend(planned, moves, down, expected))
}

// stateText returns the state of a set under its name.
func (m moved) stateText() string { return fmt.Sprintf("  %s %d/%d", m.State, m.Moved, m.Total) }

// plannedStrokes returns the planned time.
func (m moved) plannedStrokes() []stroke {
	if m.Planned == nil {
		return nil
	}
	return []stroke{{time.Duration(m.Planned.BeginSeconds) * time.Second, time.Duration(m.Planned.EndSeconds) * time.Second, planned}}
}

// strokes returns the real times and the expected rest.
func (m moved) strokes(begin, now time.Time) (all []stroke) {
	if m.Expected != nil {
		all = append(all, stroke{m.Expected.Begin.Sub(begin), m.Expected.End.Sub(begin), expected})
	}
	if m.Started == nil {
		return all
	}
	end := now
	if m.Ended != nil {
		end = *m.Ended
	}
	all = append(all, stroke{m.Started.Sub(begin), end.Sub(begin), moves})
	for _, h := range m.handoffs {
		if h.Stopped != nil && h.DownSeconds != nil {
			from := h.Stopped.Sub(begin)
			all = append(all, stroke{from, from + inSeconds(*h.DownSeconds), down})
		}
	}
	return all
}
