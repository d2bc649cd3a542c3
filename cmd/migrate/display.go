package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// display is where a run reports what happens.
type display interface {
	show(event)
	update(progress)
	close()
}

// newDisplay is the one that the flags of a command ask for.
func newDisplay(c *common, format string, quiet bool) display {
	switch {
	case quiet:
		return quietDisplay{c.ErrOut}
	case format == "json":
		return jsonDisplay{c.Out}
	case c.terminal():
		return newScreen(c.environment, c.paint())
	default:
		return plainDisplay{c.Out, c.paint()}
	}
}

// plainDisplay writes lines, as into a file or a pipe.
type plainDisplay struct {
	out   io.Writer
	paint painter
}

func (d plainDisplay) show(e event)    { fmt.Fprintln(d.out, strings.Join(e.lines(d.paint, 0), "\n")) }
func (d plainDisplay) update(progress) {}
func (d plainDisplay) close()          {}

// jsonDisplay writes one JSON object a line.
type jsonDisplay struct{ out io.Writer }

func (d jsonDisplay) show(e event) {
	encoder := json.NewEncoder(d.out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(e) // a reader that has gone away does not stop a move
}
func (d jsonDisplay) update(progress) {}
func (d jsonDisplay) close()          {}

// quietDisplay writes only what a person must know.
type quietDisplay struct{ errOut io.Writer }

func (d quietDisplay) show(e event) {
	if e.Kind == eventStalled || e.Kind == eventFinding && !e.Warning {
		fmt.Fprintln(d.errOut, e.text())
	}
}
func (d quietDisplay) update(progress) {}
func (d quietDisplay) close()          {}
