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
	// full is the width of all, label that of the labels, and width that of the bars.
	full, label, width int
	unicode            bool
}

// between is the width between the labels and the bars.
const between = 2

// fit sets the widths: the labels have as much as they need, up to a limit, and the bars have the rest of the terminal.
// Where nothing limits the width, they have the usual one.
func (c *canvas) fit(labels []string, full int) {
	const room, usual, fewest = 32, 60, 8
	for _, label := range labels {
		c.label = max(c.label, utf8.RuneCountInString(label))
	}
	c.label = min(c.label, room)
	if full <= 0 {
		full = c.label + between + usual
	}
	c.full, c.label = full, min(c.label, max(fewest, full/2))
	c.width = max(fewest, full-c.label-between)
}

// axis returns the line of the axis.
func (c *canvas) axis() string {
	end := "+" + view.Coarse(c.lasts)
	return terminal.Pad("", c.label+between) + terminal.Pad("+0s", c.width-len(end)) + end
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
	return strings.TrimRight(terminal.Pad(terminal.Clip(label, c.label), c.label+between)+bar.String(), " ")
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

// legend returns the meaning of marks: below the bars if that fits, and else in lines of their own.
func (c *canvas) legend(marks ...mark) []string {
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = c.glyph(m) + " " + glyphs[m].text
	}
	text := strings.Join(texts, "   ")
	if n := utf8.RuneCountInString(text); c.label+between+n <= c.full {
		return []string{terminal.Pad("", c.label+between) + text}
	} else if n <= c.full {
		return []string{text}
	}
	return texts
}
