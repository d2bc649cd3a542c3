package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table lines cells up. Widths count the text alone, so that rows may be coloured.
type table struct {
	head []string
	rows []row
}

// row is one line; a row without cells is a blank line.
type row struct {
	cells []string
	paint func(string) string
}

const gap = "   "

func (t *table) add(paint func(string) string, cells ...string) {
	t.rows = append(t.rows, row{cells, paint})
}

func (t *table) blank() { t.rows = append(t.rows, row{}) }

func (t *table) write(out io.Writer, p painter) error {
	widths := make([]int, len(t.head))
	for _, r := range append([]row{{cells: t.head}}, t.rows...) {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	line := func(r row) {
		var b strings.Builder
		for i, cell := range r.cells {
			b.WriteString(pad(cell, widths[i]) + gap)
		}
		content := strings.TrimRight(b.String(), " ")
		if r.paint != nil {
			content = r.paint(content)
		}
		text.WriteString(content + "\n")
	}
	line(row{cells: t.head, paint: p.bold})
	for _, r := range t.rows {
		line(r)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
