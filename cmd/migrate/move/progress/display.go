package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// Display is where a run reports what happens.
type Display interface {
	// Show shows an event.
	Show(Event)
	// Update shows where the run is, where that is shown.
	Update(State)
	// Close leaves nothing but the events.
	Close()
}

// NewDisplay is the one that the flags of a command ask for.
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
	// Quiet leaves errors and stalls. Verbose has each write and wait shown on a terminal, too.
	Quiet, Verbose bool
}

// brief leaves out what a terminal shows in place: a handoff is one line there.
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

// plainDisplay writes lines, as into a file or a pipe.
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
	_ = encoder.Encode(e) // a reader that has gone away does not stop a move
}

// Update implements Display.
func (d jsonDisplay) Update(State) {}

// Close implements Display.
func (d jsonDisplay) Close() {}

// quietDisplay writes only what a person must know.
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
