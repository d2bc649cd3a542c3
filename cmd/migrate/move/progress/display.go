package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
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

// logged is a display that also writes its events to a file.
type logged struct {
	Display
	file   *os.File
	log    printer
	errOut io.Writer
	broken error
}

// WithLog also appends each event to a file, as one JSON object a line. Only this user may read the file, because events
// name objects of the clusters. A move continues without its log; an incomplete log is reported once, at once.
func WithLog(d Display, path string, errOut io.Writer) (Display, error) {
	const private = 0o600
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, private)
	if err != nil {
		return nil, err
	}
	if size, err := file.Seek(0, io.SeekEnd); err == nil && size > 0 {
		_, _ = file.WriteString("\n") // separates a line that a crash has truncated
	}
	l := &logged{Display: d, file: file, errOut: errOut}
	l.log = jsonLines(l)
	return l, nil
}

// Write implements io.Writer. It appends to the file and reports the first error.
func (l *logged) Write(line []byte) (int, error) {
	n, err := l.file.Write(line)
	if err != nil && l.broken == nil {
		l.broken = err
		fmt.Fprintf(l.errOut, "the log is incomplete, and the move continues: %v\n", err)
	}
	return n, err
}

// Show implements Display.
func (l *logged) Show(e Event) {
	l.log(e)
	l.Display.Show(e)
}

// Close implements Display.
func (l *logged) Close() {
	l.Display.Close()
	_ = l.file.Close()
}
