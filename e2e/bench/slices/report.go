package slices

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Goals of the slice controller.
const (
	mostRatio  = 1.0
	aimRatio   = 0.8
	mostWrites = 4.0
	mostMiB    = 120.0
	mostGrowth = 1.2
)

// row is one line of the report.
type row struct {
	figure, ours, native, ratio, goal, never string
	missed                                   bool
}

// atMost sets the goal of a row.
func (r row) atMost(value, most float64, format string) row {
	r.goal, r.missed = "at most "+fmt.Sprintf(format, most), value > most
	return r
}

// operation is an operation of the contenders and its times.
type operation struct {
	name string
	pair
}

func (f figures) operations() []operation {
	return []operation{
		{"create 200, Parallel, s", f.Create},
		{"roll 200, OrderedReady, s", f.RollOrdered},
		{"roll 200, maxUnavailable 10%, s", f.RollTenPercent},
		{"scale 200 to 0, s", f.ScaleDown},
	}
}

// report prints the figures with their goals, and reports whether all goals are met.
func (f figures) report(to io.Writer) (good bool) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "\nFIGURE\tOURS\tNATIVE\tRATIO\tGOAL\tVERDICT\tNEVER TOLD (RATIO)")
	good = true
	for _, r := range append(f.timeRows(), f.memoryRows()...) {
		verdict := "ok"
		switch {
		case r.missed:
			verdict, good = "MISSED", false
		case r.goal == "":
			verdict = ""
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.figure, r.ours, r.native, r.ratio, r.goal, verdict, r.never)
	}
	return good
}

func (f figures) timeRows() []row {
	if f.Create.Native == 0 {
		return nil
	}
	two := func(value float64) string { return fmt.Sprintf("%.2f", value) }
	var rows []row
	for _, o := range f.operations() {
		ratio := o.Ours / o.Native
		r := row{figure: o.name, ours: two(o.Ours), native: two(o.Native), ratio: two(ratio), never: fmt.Sprintf("%.2f (%.2f)", o.Never, o.Never/o.Native)}
		r = r.atMost(ratio, mostRatio, "%.1f")
		r.goal += fmt.Sprintf(", aim %.1f", aimRatio)
		rows = append(rows, r)
	}
	w := f.WritesPerUpdate
	writes := row{figure: "writes an updated pod", ours: fmt.Sprintf("%.2f (%.2f refused)", w.Ours, f.RefusedOurs), native: two(w.Native), never: two(w.Never)}
	settled := row{figure: "writes in 30 s once settled", ours: strconv.FormatInt(f.SettledWrites, 10)}
	return append(rows, writes.atMost(w.Ours, mostWrites, "%.1f"), settled.atMost(float64(f.SettledWrites), 0, "%.0f"))
}

func (f figures) memoryRows() []row {
	var rows []row
	for _, one := range f.Growth {
		rows = append(rows, row{figure: fmt.Sprintf("one set of %d, s, and peak MiB", one.Pods), ours: fmt.Sprintf("%.1f, %.0f", one.Seconds, one.MiB)})
	}
	if len(rows) == 0 {
		return nil
	}
	small, large := f.Growth[0], f.Growth[len(f.Growth)-1]
	growth := row{figure: fmt.Sprintf("time a pod, of %d against of %d", large.Pods, small.Pods), ratio: fmt.Sprintf("%.2f", f.TimeGrowth)}
	one := row{figure: "peak, one set of 5,000, MiB", ours: fmt.Sprintf("%.0f", f.PeakOneLarge)}
	many := row{figure: "peak, 1,000 sets of 5, MiB", ours: fmt.Sprintf("%.0f (%.1f s)", f.PeakManySmall, f.SecondsMany)}
	return append(rows, growth.atMost(f.TimeGrowth, mostGrowth, "%.1f"), one.atMost(f.PeakOneLarge, mostMiB, "%.0f"), many.atMost(f.PeakManySmall, mostMiB, "%.0f"))
}

// page renders the figures for the documentation.
func (f figures) page() string {
	var b strings.Builder
	b.WriteString("| | native | ours, by default | ours, `Never` |\n|---|---|---|---|\n")
	for _, o := range f.operations() {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f (%.2f) | %.2f (%.2f) |\n", o.name, o.Native, o.Ours, o.Ours/o.Native, o.Never, o.Never/o.Native)
	}
	w := f.WritesPerUpdate
	fmt.Fprintf(&b, "| writes for each updated pod | %.2f | %.2f | %.2f |\n\n", w.Native, w.Ours, w.Never)
	b.WriteString("No pod here can read the reason of its deletion, so by default none is notified: the last two columns differ only by other load on the machine.\n")
	fmt.Fprintf(&b, "The manager's peak was %.0f MiB with 5,000 pods in one set, and %.0f MiB with 1,000 sets of 5. Of one set of 5,000 a pod takes\n"+
		"%.2f times as long to create as of one set of %d.\n", f.PeakOneLarge, f.PeakManySmall, f.TimeGrowth, many)
	return b.String()
}
