package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/report"
)

// panel shows both slices as rows of ordinals, the budget, and below them the meter.
type panel struct{ Meter }

// marks of an ordinal: available, not available, not here.
func (b panel) marks() [3]string {
	if b.Unicode {
		return [3]string{"●", "◐", "·"}
	}
	return [3]string{"+", "~", "."}
}

// lines are the panel; none without enough room.
func (b panel) lines(p State, now time.Time, width int) []string {
	if width < terminal.LeastWidth {
		return nil
	}
	var lines []string
	if p.replicas > 0 {
		for i, label := range []string{"source", "destination"} {
			lines = append(lines, b.heading(p.sides[i], label, width)...)
			lines = append(lines, b.ordinals(p, p.sides[i], width))
		}
		text := fmt.Sprintf("budget       %d of %d may be unavailable; %d available", p.budget, p.replicas, p.sides[0].available+p.sides[1].available)
		lines = append(lines, folded(text, width, b.Paint.Dim)...)
		lines = append(lines, b.clients(p, width)...)
	}
	return append(lines, b.Meter.lines(p, now, width)...)
}

// clients are the lines about what clients see; none where that is not measured.
func (b panel) clients(p State, width int) []string {
	if p.clients == nil {
		return nil
	}
	paint := b.Paint.Dim
	if p.clients.Failed > 0 {
		paint = b.Paint.Yellow
	}
	return folded("clients      "+report.ProbeText(*p.clients), width, paint)
}

func (b panel) heading(s side, label string, width int) []string {
	const room = 13
	text := terminal.Pad(label, room) + s.name
	if s.replicas > 0 {
		text += fmt.Sprintf(" %s  %d available", terminal.Span(s.start, s.replicas), s.available)
	} else {
		text += "  no ordinals"
	}
	if s.maxUnavailable != nil {
		text += fmt.Sprintf("  PDB %d", *s.maxUnavailable)
	}
	return folded(text, width, b.Paint.Bold)
}

// ordinals are those of the application in a row, as many as fit around the one on its way.
func (b panel) ordinals(p State, s side, width int) string {
	const indent = 15
	each := len(strconv.Itoa(int(p.first+p.replicas-1))) + utf8.RuneCountInString("● ")
	fits := int32(max(1, (width-indent-1-2*len("... "))/each))
	from, to := p.first, p.first+p.replicas
	if fits < p.replicas {
		at := s.start
		if p.ordinal != nil {
			at = *p.ordinal
		}
		from = min(max(p.first, at-fits/2), to-fits)
		to = from + fits
	}
	var row strings.Builder
	row.WriteString(strings.Repeat(" ", indent))
	if from > p.first {
		row.WriteString("... ")
	}
	for ordinal := from; ordinal < to; ordinal++ {
		row.WriteString(terminal.Pad(b.cell(p, s, ordinal), 0) + " ")
	}
	if to < p.first+p.replicas {
		row.WriteString("...")
	}
	return strings.TrimRight(row.String(), " ")
}

// cell is one ordinal and how it is on a side. Where it is not known which are available, the one on its way is
// taken not to be.
func (b panel) cell(p State, s side, ordinal int32) string {
	marks := b.marks()
	text := strconv.Itoa(int(ordinal))
	down := s.down[ordinal] || s.down == nil && p.ordinal != nil && *p.ordinal == ordinal
	switch {
	case !s.has(ordinal):
		return b.Paint.Dim(text + marks[2])
	case down:
		return b.Paint.Yellow(text + marks[1])
	default:
		return b.Paint.Green(text + marks[0])
	}
}
