package terminal

import (
	"bufio"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table aligns cells in columns. Widths ignore colours, so rows may be coloured.
type Table struct {
	// Head holds the names of the columns.
	Head []string
	rows []Row
}

// Row is one line; a row without cells is a blank line.
type Row struct {
	Cells []string
	// Paint colours the row; nil leaves it unchanged.
	Paint func(string) string
}

const gap = "   "

// Add adds a row; paint colours it.
func (t *Table) Add(paint func(string) string, cells ...string) {
	t.rows = append(t.rows, Row{cells, paint})
}

// Write writes the table.
func (t *Table) Write(out io.Writer, p Painter) error {
	return WriteRows(out, Row{t.Head, p.Bold}, slices.Values(t.rows))
}

// WriteRows writes a table without storing its rows. It iterates over rows twice, the first time for their widths.
func WriteRows(out io.Writer, head Row, rows iter.Seq[Row]) error {
	widths := make([]int, len(head.Cells))
	measure := func(cells []string) {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	measure(head.Cells)
	for r := range rows {
		measure(r.Cells)
	}
	text := bufio.NewWriter(out)
	line := func(r Row) {
		var b strings.Builder
		for i, cell := range r.Cells {
			b.WriteString(Pad(cell, widths[i]) + gap)
		}
		content := strings.TrimRight(b.String(), " ")
		if r.Paint != nil {
			content = r.Paint(content)
		}
		_, _ = text.WriteString(content + "\n") // Flush returns its error, too
	}
	line(head)
	for r := range rows {
		line(r)
	}
	return text.Flush()
}
