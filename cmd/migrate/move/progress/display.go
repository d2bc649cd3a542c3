package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// Display shows the events of a run.
type Display interface {
	// Show shows an event.
	Show(Event)
	// Update shows the current state, in displays that have it.
	Update(State)
	// Close removes everything but the events.
	Close()
}

// NewDisplay returns the display that the flags of a command select.
func NewDisplay(c *command.Common, format Format, s Steering) Display {
	d := newDisplay(c, format, s)
	if c.Terminal() && format.Kind != "json" && !format.Quiet && !format.Verbose {
		return brief{d}
	}
	return d
}

// Format holds the output flags of a command.
type Format struct {
	// Kind is text or json.
	Kind string
	// Quiet shows only errors and stalls. Verbose shows each write and wait on a terminal, too.
	Quiet, Verbose bool
}

// brief omits events that a terminal shows in place, so that a handoff is one line.
type brief struct{ Display }

// Show implements Display.
func (d brief) Show(e Event) {
	switch e.Kind {
	case Written, Sealed:
		return
	case Waiting:
		if e.Remedy == "" {
			return
		}
	default:
	}
	d.Display.Show(e)
}

func newDisplay(c *command.Common, format Format, s Steering) Display {
	switch {
	case format.Quiet:
		return quietDisplay{c.ErrOut}
	case format.Kind == "json":
		return jsonDisplay{c.Out}
	case c.Terminal() && c.Interactive():
		return NewLive(c, s)
	case c.Terminal():
		return newScreen(c.Environment, c.Paint())
	default:
		return plainDisplay{c.Out, c.Paint()}
	}
}

// plainDisplay writes lines, for a file or a pipe.
type plainDisplay struct {
	out   io.Writer
	paint terminal.Painter
}

// Show implements Display.
func (d plainDisplay) Show(e Event) { fmt.Fprintln(d.out, strings.Join(e.lines(d.paint, 0), "\n")) }

// Update implements Display.
func (d plainDisplay) Update(State) {}

// Close implements Display.
func (d plainDisplay) Close() {}

// jsonDisplay writes one JSON object a line.
type jsonDisplay struct{ out io.Writer }

// Show implements Display.
func (d jsonDisplay) Show(e Event) {
	encoder := json.NewEncoder(d.out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(e) // the exit of the reader must not stop a move
}

// Update implements Display.
func (d jsonDisplay) Update(State) {}

// Close implements Display.
func (d jsonDisplay) Close() {}

// quietDisplay writes only what the user must know.
type quietDisplay struct{ errOut io.Writer }

// Show implements Display.
func (d quietDisplay) Show(e Event) {
	if e.Kind == Stalled || e.Kind == Finding && !e.Warning {
		fmt.Fprintln(d.errOut, e.text())
	}
}

// Update implements Display.
func (d quietDisplay) Update(State) {}

// Close implements Display.
func (d quietDisplay) Close() {}
