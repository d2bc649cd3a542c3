package evacuate

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/view"
)

// mark names the contents of a cell of a chart.
type mark byte

// The marks.
const (
	moves    mark = 'm'
	down     mark = 'd'
	planned  mark = 'p'
	expected mark = 'e'
)

// glyph is how a mark is drawn, and its text in the legend.
type glyph struct {
	ascii, unicode string
	text           string
}

var glyphs = map[mark]glyph{
	moves:    {"-", "░", "moves"},
	down:     {"#", "█", "an ordinal is down"},
	planned:  {"=", "─", "planned"},
	expected: {".", "·", "expected"},
}

// stroke is a part of a bar.
type stroke struct {
	from, to time.Duration
	with     mark
}

// canvas draws a chart of bars as lines of text.
type canvas struct {
	// lasts is the time that the axis shows.
	lasts time.Duration
	// label and width are the widths of the labels and of the bars.
	label, width int
	unicode      bool
}

// fit sets the widths: the labels have as much as they need, up to a limit, and the bars have the rest of the terminal.
func (c *canvas) fit(labels []string, full int) {
	const room, least, usual = 32, 20, 60
	for _, label := range labels {
		c.label = max(c.label, utf8.RuneCountInString(label))
	}
	c.label = min(c.label, room)
	c.width = usual
	if full > 0 {
		c.width = max(least, full-c.label-2)
	}
}

// axis returns the line of the axis.
func (c *canvas) axis() string {
	end := "+" + view.Coarse(c.lasts)
	return terminal.Pad("", c.label) + "  " + terminal.Pad("+0s", c.width-len(end)) + end
}

// line returns a bar with its label.
func (c *canvas) line(label string, strokes []stroke) string {
	var bar strings.Builder
	for _, cell := range c.cells(strokes) {
		if cell == ' ' {
			bar.WriteByte(cell)
		} else {
			bar.WriteString(c.glyph(mark(cell)))
		}
	}
	return strings.TrimRight(terminal.Pad(terminal.Clip(label, c.label), c.label)+"  "+bar.String(), " ")
}

// cells returns the marks of a bar, with a space where there is none. A later stroke covers an earlier one.
func (c *canvas) cells(strokes []stroke) []byte {
	cell := func(at time.Duration) int {
		if c.lasts <= 0 {
			return 0
		}
		return int(math.Round(float64(at) / float64(c.lasts) * float64(c.width)))
	}
	bar := []byte(strings.Repeat(" ", c.width))
	for _, s := range strokes {
		first := min(c.width-1, max(0, cell(s.from)))
		for at := first; at < min(c.width, max(first+1, cell(s.to))); at++ { // the shortest time has a cell, too
			bar[at] = byte(s.with)
		}
	}
	return bar
}

func (c *canvas) glyph(m mark) string {
	if c.unicode {
		return glyphs[m].unicode
	}
	return glyphs[m].ascii
}

// legend returns the meaning of marks.
func (c *canvas) legend(marks ...mark) string {
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = c.glyph(m) + " " + glyphs[m].text
	}
	return terminal.Pad("", c.label) + "  " + strings.Join(texts, "   ")
}
