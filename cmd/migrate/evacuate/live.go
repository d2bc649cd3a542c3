package evacuate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
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

// Show prints the state once. It returns an error if the Evacuation is stalled, or no process drives it.
func (s *Screen) Show(ctx context.Context) error {
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	text := func(r course) error {
		_, err := fmt.Fprintln(s.Out, strings.Join(s.lines(r, all, s.Width()), "\n"))
		return err
	}
	if err := terminal.Print(s.Out, s.Format, r, text); err != nil {
		return err
	}
	if r.State == api.EvacuationStalled {
		return command.Refusedf("Evacuation %s is stalled: none of its Migrations can continue", s.key)
	}
	if r.idle() {
		return command.Refusedf("Evacuation %s: no process drives its Migrations; %s", s.key, view.WhyIdle(plan.Kubectl(s.connection.Name(), s.connection.Flags())))
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
	return readCourse(ctx, s.connection, s.key, s.Clock.Now)
}

// draw returns a function that shows a course in a part of the terminal.
func (s *Screen) draw(area *terminal.Area) func(course) error {
	return func(r course) error {
		area.Draw(nil, s.lines(r, mostLive, s.Width()-1))
		return nil
	}
}

// complain returns a function that prints why the state could not be read, once for each reason. The last state still
// holds.
func (s *Screen) complain(area *terminal.Area) func(error) {
	last := ""
	return func(err error) {
		switch text := err.Error(); {
		case text == last:
		case area != nil:
			area.Draw([]string{text}, nil)
			last = text
		default:
			fmt.Fprintln(s.ErrOut, text)
			last = text
		}
	}
}

// Watch shows each change until nothing is left to do: on a terminal in place, elsewhere one line or document for each.
func (s *Screen) Watch(ctx context.Context) error {
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	show, area := s.change(), (*terminal.Area)(nil)
	if s.Format == "table" && s.Terminal() {
		area = &terminal.Area{Out: printable.Behind(s.Out)}
		show = s.draw(area)
	}
	complain := s.complain(area)
	ended := command.Poll(ctx, s.Clock, refreshEvery, math.MaxInt64, func() bool {
		if err = show(r); err != nil || r.settled {
			return true
		}
		next, failed := s.read(ctx)
		switch {
		case failed == nil:
			r = next
		case isMissing(failed):
			err = fmt.Errorf("no Evacuation %s any more: it was deleted, and its Migrations keep their modes", s.key)
			return true
		case ctx.Err() == nil:
			complain(failed)
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

// mostLive is how many StatefulSets are shown on a terminal while they change, so that they fit on a usual one. Then each
// reason has one line. Where all are shown, reasons are whole.
const (
	mostLive = 8
	all      = math.MaxInt
)

// lines returns the state as text: the times, and up to a number of StatefulSets, each with its planned time above the real
// one.
func (s *Screen) lines(r course, most, width int) []string {
	var lines []string
	for _, line := range terminal.Fold(fmt.Sprintf("Evacuation %s/%s: %s", r.Namespace, r.Name, r.lead()), width) {
		lines = append(lines, s.Paint().Bold(line))
	}
	for _, each := range r.times() {
		lines = append(lines, hanging(terminal.Pad(each[0], len("Expected")+2), each[1], width)...)
	}
	if len(r.Migrations) == 0 {
		return lines
	}
	shown := r.shown(most)
	lines = append(append(lines, ""), s.gantt(r, shown, width)...)
	if more := len(r.Migrations) - len(shown); more > 0 {
		lines = append(lines, terminal.Fold(view.Count(more, "StatefulSet")+" more: without -w all are shown", width)...)
	}
	return append(lines, s.reasons(r, most == all, width)...)
}

// hanging returns a text behind a name, with its further lines below the text.
func hanging(name, text string, width int) []string {
	lines := terminal.Fold(text, max(min(width, 1), width-utf8.RuneCountInString(name)))
	for i := range lines {
		lines[i] = terminal.Pad(map[bool]string{true: name}[i == 0], utf8.RuneCountInString(name)) + lines[i]
	}
	return lines
}

// mostReasons is how many Migrations are shown with the reason for which they do not continue.
const mostReasons = 8

// reasons returns why Migrations do not continue, those that hold others before those that are held. That a user has
// paused or rolled back all of them needs no reason for each.
func (s *Screen) reasons(r course, whole bool, width int) (lines []string) {
	var stuck []moved
	back := r.State == api.EvacuationRollingBack || r.State == api.EvacuationRolledBack
	for _, m := range r.Migrations {
		asked := m.held || back && m.State == api.EvacuatedBack
		if m.stage() == evacuate.Stuck && m.Message != "" && !asked {
			stuck = append(stuck, m)
		}
	}
	slices.SortStableFunc(stuck, func(a, b moved) int { return a.rank() - b.rank() })
	for _, m := range stuck[:min(mostReasons, len(stuck))] {
		room := max(min(width, 1), width-len(m.State)-1)
		texts := terminal.Fold(fmt.Sprintf("%s: %s", m.title(), m.Message), room)
		if !whole {
			texts = []string{terminal.Clip(fmt.Sprintf("%s: %s", m.title(), m.Message), room)}
		}
		for i, text := range texts {
			state := map[bool]string{true: s.Paint().Red(string(m.State)), false: terminal.Pad("", len(m.State))}[i == 0]
			lines = append(lines, state+" "+text)
		}
	}
	if more := len(stuck) - mostReasons; more > 0 {
		lines = append(lines, terminal.Fold(fmt.Sprintf("%d more do not continue: -o json has their reasons", more), width)...)
	}
	return lines
}

// shown returns the Migrations that matter most, in their order: those under way, those that cannot continue, those that
// begin next, and those that have moved.
func (r course) shown(most int) (all []moved) {
	order := make([]int, len(r.Migrations))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.Migrations[a].rank() - r.Migrations[b].rank() })
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

func (m moved) rank() int { return slices.Index(ranks, m.State) }

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
	return append(lines, c.legend(planned, moves, down, expected)...)
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
