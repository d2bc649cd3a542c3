package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/printable"
)

// Area is the last lines of a terminal, which are drawn in place. Other lines can be printed above them.
type Area struct {
	// Out is the terminal itself. Its errors are ignored: the exit of a reader must not stop a move.
	Out   io.Writer
	drawn []string
}

// Draw prints lines above the area, and draws it. It overwrites the previous drawing line by line, which avoids flicker.
func (a *Area) Draw(above, lines []string) {
	if len(above) == 0 && slices.Equal(lines, a.drawn) {
		return
	}
	var b strings.Builder
	if len(a.drawn) > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA", len(a.drawn))
	}
	for _, line := range slices.Concat(above, lines) {
		b.WriteString("\x1b[2K" + printable.Coloured(line) + "\n")
	}
	a.drawn = lines
	_, _ = io.WriteString(a.Out, b.String()+"\x1b[J")
}

// Redraw calls draw periodically until stop is called. After stop returns, draw does not run.
func Redraw(ticks clock.WithTicker, every time.Duration, draw func()) (stop func()) {
	stopped := make(chan struct{})
	ticker := ticks.NewTicker(every)
	var running sync.WaitGroup
	running.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C():
				draw()
			}
		}
	})
	return func() {
		close(stopped)
		running.Wait()
	}
}
