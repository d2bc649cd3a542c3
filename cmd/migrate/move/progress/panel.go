package progress

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/report"
	"github.com/sliceshift/sliceshift/migration/view"
)

// panel shows both slices as rows of ordinals, the budget, and below them the meter.
type panel struct{ Meter }

// Draw returns the lines of a state for a width, as a live display shows them.
func Draw(bar terminal.Bar, p State, now time.Time, width int) []string {
	return panel{Meter{bar}}.lines(p, now, width)
}

// marks returns the symbols for ordinals by readiness, and the symbol for ordinals that are not on the side.
func (b panel) marks() (marks map[view.Readiness]string, absent string) {
	if b.Unicode {
		return map[view.Readiness]string{view.Ready: "●", view.NotReady: "◐", view.Unknown: "?"}, "·"
	}
	return map[view.Readiness]string{view.Ready: "+", view.NotReady: "~", view.Unknown: "?"}, "."
}

// lines returns the lines of the panel, or none if there is not enough room.
func (b panel) lines(p State, now time.Time, width int) []string {
	if width < terminal.LeastWidth {
		return nil
	}
	var lines []string
	if p.Replicas > 0 {
		for i, place := range []view.Place{view.AtSource, view.AtDestination} {
			lines = append(lines, b.heading(p.Sides[i], string(place), width)...)
			lines = append(lines, b.ordinals(p, p.Sides[i], place, width))
		}
		lines = append(lines, folded(terminal.Pad("budget", labelWidth)+p.BudgetText(), width, b.Paint.Dim)...)
		if p.Outage != nil {
			lines = append(lines, folded(terminal.Pad("outage", labelWidth)+"of an ordinal "+p.Outage.Text, width, b.Paint.Dim)...)
		}
		lines = append(lines, b.clients(p, width)...)
	}
	return append(lines, b.Meter.lines(p, now, width)...)
}

// clients returns the lines about client requests, or none if they are not measured.
func (b panel) clients(p State, width int) []string {
	if p.clients == nil {
		return nil
	}
	paint := b.Paint.Dim
	if p.clients.Failed > 0 {
		paint = b.Paint.Yellow
	}
	return folded(terminal.Pad("clients", labelWidth)+report.ProbeText(*p.clients), width, paint)
}

// labelWidth is the column at which the figures of a side begin.
const labelWidth = 13

func (b panel) heading(s view.Side, label string, width int) []string {
	return folded(terminal.Pad(label, labelWidth)+s.Name+" "+s.Text(), width, b.Paint.Bold)
}

// ordinals returns a row of ordinals, as many as fit around the one in flight.
func (b panel) ordinals(p State, s view.Side, place view.Place, width int) string {
	const indent = labelWidth + 2
	all := p.Ordinals()
	each := len(strconv.Itoa(int(p.First+p.Replicas-1))) + utf8.RuneCountInString("● ")
	fits := max(1, (width-indent-1-2*len("... "))/each)
	shown := all
	if fits < len(all) {
		at := s.Start
		if p.Handoff != nil {
			at = p.Handoff.Ordinal
		}
		from := min(max(0, int(at-p.First)-fits/2), len(all)-fits)
		shown = all[from : from+fits]
	}
	var row strings.Builder
	row.WriteString(strings.Repeat(" ", indent))
	if shown[0].Ordinal > p.First {
		row.WriteString("... ")
	}
	for _, o := range shown {
		row.WriteString(b.cell(p, o, place) + " ")
	}
	if shown[len(shown)-1].Ordinal < p.First+p.Replicas-1 {
		row.WriteString("...")
	}
	return strings.TrimRight(row.String(), " ")
}

// cell returns one ordinal and its readiness on a side.
func (b panel) cell(p State, o view.Ordinal, place view.Place) string {
	marks, absent := b.marks()
	text := strconv.Itoa(int(o.Ordinal))
	if o.At != place {
		return b.Paint.Dim(text + absent)
	}
	ready := o.Ready
	if exact, known := p.ready[o.Ordinal]; known && ready == view.Unknown {
		ready = exact
	}
	if ready == view.Ready {
		return b.Paint.Green(text + marks[ready])
	}
	return b.Paint.Yellow(text + marks[ready])
}
