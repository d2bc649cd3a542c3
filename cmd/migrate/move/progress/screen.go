package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/view"
)

// redrawEvery is the minimal interval between drawings of the bar.
const redrawEvery = 100 * time.Millisecond

// screen writes lines on a terminal and keeps a bar below them. A ticker updates the bar while there are no events,
// under the same mutex as the lines.
type screen struct {
	width func() int
	clock clock.WithTicker
	bar   Meter

	mu    sync.Mutex
	area  terminal.Area
	state State
	known bool
	last  time.Time

	stop func()
}

func newScreen(env command.Environment, paint terminal.Painter) *screen {
	s := &screen{
		area: terminal.Area{Out: printable.Behind(env.Out)}, width: env.Width, clock: env.Clock,
		bar: Meter{terminal.Bar{Paint: paint, Unicode: env.Unicode()}},
	}
	s.stop = terminal.Redraw(s.clock, redrawEvery, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.draw(nil)
	})
	return s
}

// draw draws the bar below further lines.
func (s *screen) draw(lines []string) {
	var bar []string
	if s.known {
		s.last = s.clock.Now()
		bar = s.bar.lines(s.state, s.last, s.width())
	}
	s.area.Draw(lines, bar)
}

// Show writes an event's lines above the bar.
func (s *screen) Show(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(e.lines(s.bar.Paint, s.width()))
}

// Update updates the bar.
func (s *screen) Update(p State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.known = p, true
	if s.clock.Since(s.last) >= redrawEvery {
		s.draw(nil)
	}
}

// Close erases the bar.
func (s *screen) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.area.Draw(nil, nil)
	s.known = false
}

// Meter draws the progress of a run in two lines.
type Meter struct{ terminal.Bar }

const (
	widestBar = 40
	slimmest  = 10
)

func (b Meter) lines(p State, now time.Time, width int) []string {
	if width < terminal.LeastWidth {
		return nil
	}
	figures := fmt.Sprintf("  %d/%d %s  %s", p.Moved, p.Total, p.Words().Did, view.Ago(now, p.Began))
	if left := p.LeftText(now); left != "" {
		figures += "  " + left
	}
	room := min(widestBar, width-len(figures)-3)
	lines := terminal.Fold(strings.TrimLeft(figures, " "), width-1)
	if room >= slimmest {
		lines = []string{"  " + b.Draw(p.Fraction(), room) + b.Paint.Bold(figures)}
	}
	paint := func(text string) string { return text }
	switch {
	case p.Hold != nil && p.Hold.Stalled:
		paint = b.Paint.Red
	case p.Reason() == api.ReasonPaused:
		paint = b.Paint.Yellow
	}
	return append(lines, folded(b.doing(p, now), width, paint)...)
}

// folded wraps text to a width, with an indent.
func folded(text string, width int, paint func(string) string) []string {
	const indent = "  "
	lines := terminal.Fold(text, width-1-len(indent))
	for i, line := range lines {
		lines[i] = paint(indent + line)
	}
	return lines
}

// doing describes the ordinal in flight, how long it has been down, and what the move waits for.
func (b Meter) doing(p State, now time.Time) string {
	dot := " - "
	if b.Unicode {
		dot = " · "
	}
	var words []string
	for _, h := range p.InFlight() {
		words = append(words, fmt.Sprintf("ordinal %d", h.Ordinal))
		if h.Down != nil {
			words = append(words, h.Down.Text(now))
		}
		if text := view.StepText(h.Step); text != "" && p.Hold == nil {
			words = append(words, text)
		}
	}
	switch hold := p.Hold; {
	case hold == nil && p.Handoff == nil:
		words = append(words, p.between())
	case hold == nil:
	case hold.Stalled:
		words = append(words, fmt.Sprintf("STALLED for %s: %s", view.Ago(now, hold.Since), hold.Message))
	case hold.Reason == api.ReasonPaused:
		words = append(words, fmt.Sprintf("paused for %s: %s", view.Ago(now, hold.Since), hold.Message))
	default:
		words = append(words, fmt.Sprintf("%s, for %s", hold.Message, view.Ago(now, hold.Since)))
	}
	return strings.Join(words, dot)
}

// between describes the work while no ordinal is in flight.
func (p State) between() string {
	switch {
	case p.Back && p.Moved == 0, !p.Back && p.Moved == p.Total && p.Total > 0:
		return "restoring what the " + p.Words().Noun + " has set"
	default:
		return "preparing"
	}
}
