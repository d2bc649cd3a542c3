package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table lines cells up. Widths count the text alone, so that rows may be coloured.
type Table struct {
	// Head are the names of the columns.
	Head []string
	rows []row
}

// row is one line; a row without cells is a blank line.
type row struct {
	cells []string
	paint func(string) string
}

const gap = "   "

// Add adds a row; paint colours it.
func (t *Table) Add(paint func(string) string, cells ...string) {
	t.rows = append(t.rows, row{cells, paint})
}

// Blank adds an empty line.
func (t *Table) Blank() { t.rows = append(t.rows, row{}) }

// Write writes the table.
func (t *Table) Write(out io.Writer, p Painter) error {
	widths := make([]int, len(t.Head))
	for _, r := range append([]row{{cells: t.Head}}, t.rows...) {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	line := func(r row) {
		var b strings.Builder
		for i, cell := range r.cells {
			b.WriteString(Pad(cell, widths[i]) + gap)
		}
		content := strings.TrimRight(b.String(), " ")
		if r.paint != nil {
			content = r.paint(content)
		}
		text.WriteString(content + "\n")
	}
	line(row{cells: t.Head, paint: p.Bold})
	for _, r := range t.rows {
		line(r)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
