package progress

import (
	"fmt"
	"io"
	"strings"
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
	out   io.Writer
	width func() int
	clock clock.WithTicker
	bar   Meter
	paint terminal.Painter

	mu    sync.Mutex
	state State
	known bool
	drawn []string
	last  time.Time

	stop func()
}

func newScreen(env command.Environment, paint terminal.Painter) *screen {
	s := &screen{
		out: printable.Behind(env.Out), width: env.Width, clock: env.Clock, paint: paint,
		bar: Meter{terminal.Bar{Paint: paint, Unicode: env.Unicode()}},
	}
	s.stop = terminal.Redraw(s.clock, redrawEvery, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.draw()
	})
	return s
}

// Show writes an event's lines above the bar.
func (s *screen) Show(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.erased() + printable.Coloured(strings.Join(e.lines(s.paint, s.width()), "\n")) + "\n"
	s.drawn = nil
	text += s.drawing()
	_, _ = io.WriteString(s.out, text) // a closed terminal must not stop a move
}

// Update updates the bar.
func (s *screen) Update(p State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.known = p, true
	if s.clock.Since(s.last) >= redrawEvery {
		s.draw()
	}
}

// draw draws the bar if it has changed.
func (s *screen) draw() {
	before := s.drawn
	erase := s.erased()
	text := s.drawing()
	if strings.Join(before, "\n") != strings.Join(s.drawn, "\n") {
		_, _ = io.WriteString(s.out, erase+text)
	}
}

// erased returns the sequence that erases the bar: up to its first line, and clear to the end.
func (s *screen) erased() string {
	if len(s.drawn) == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", len(s.drawn))
}

func (s *screen) drawing() string {
	if !s.known {
		return ""
	}
	s.last = s.clock.Now()
	s.drawn = s.bar.lines(s.state, s.last, s.width())
	if len(s.drawn) == 0 {
		return ""
	}
	return printable.Coloured(strings.Join(s.drawn, "\n")) + "\n"
}

// Close erases the bar.
func (s *screen) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, s.erased())
	s.drawn, s.known = nil, false
}
