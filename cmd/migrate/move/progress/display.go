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
		return quiet(c.ErrOut)
	case format.Kind == "json":
		return jsonLines(c.Out)
	case c.Terminal() && c.Interactive():
		return NewLive(c, s)
	case c.Terminal():
		return newScreen(c.Environment, c.Paint())
	default:
		return plain(c.Out, c.Paint())
	}
}

// printer is a display that only writes events.
type printer func(Event)

// Show implements Display.
func (show printer) Show(e Event) { show(e) }

// Update implements Display.
func (show printer) Update(State) {}

// Close implements Display.
func (show printer) Close() {}

// plain writes lines, for a file or a pipe.
func plain(out io.Writer, paint terminal.Painter) printer {
	return func(e Event) { fmt.Fprintln(out, strings.Join(e.lines(paint, 0), "\n")) }
}

// jsonLines writes one JSON object a line. The exit of the reader must not stop a move.
func jsonLines(out io.Writer) printer {
	return func(e Event) {
		encoder := json.NewEncoder(out) // one that has failed writes nothing more
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(e)
	}
}

// quiet writes only what the user must know.
func quiet(errOut io.Writer) printer {
	return func(e Event) {
		if e.Kind == Stalled || e.Kind == Finding && !e.Warning {
			fmt.Fprintln(errOut, e.text())
		}
	}
}
