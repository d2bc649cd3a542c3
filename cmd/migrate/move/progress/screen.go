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

// redrawEvery bounds how often the bar is drawn.
const redrawEvery = 100 * time.Millisecond

// screen writes lines on a terminal and keeps a bar below them. The bar also moves
// while nothing happens: a ticker draws it, under the same mutex as the lines.
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
	_, _ = io.WriteString(s.out, text) // a terminal that has gone away does not stop a move
}

// Update brings the bar up to date.
func (s *screen) Update(p State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.known = p, true
	if s.clock.Since(s.last) >= redrawEvery {
		s.draw()
	}
}

// draw draws the bar when it looks different from what is there.
func (s *screen) draw() {
	before := s.drawn
	erase := s.erased()
	text := s.drawing()
	if strings.Join(before, "\n") != strings.Join(s.drawn, "\n") {
		_, _ = io.WriteString(s.out, erase+text)
	}
}

// erased is what takes the bar away: up to its first line, and clear to the end.
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

// Close takes the bar away.
func (s *screen) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, s.erased())
	s.drawn, s.known = nil, false
}
