package progress

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/printable"
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
