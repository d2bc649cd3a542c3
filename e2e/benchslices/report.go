package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Goals of the slice controller.
const (
	mostRatio  = 1.0
	aimRatio   = 0.8
	mostWrites = 4.0
)

// report prints the figures beside their goals.
func (b *bench) report(to io.Writer) {
	f := b.figures
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "\nFIGURE\tOURS\tNATIVE\tRATIO\tGOAL\tVERDICT\tWITH REASONS\tRATIO")
	for _, row := range f.rows() {
		ratio := row.Ours / row.Native
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.2f\tat most %.1f, aim %.1f\t%s\t%.2f\t%.2f\n",
			row.name, row.Ours, row.Native, ratio, mostRatio, aimRatio, verdictOf(ratio), row.Telling, row.Telling/row.Native)
	}
	verdict := "ok"
	if max(f.WritesPerUpdate.Ours, f.WritesPerUpdate.Telling) > mostWrites {
		verdict = "MISSED"
	}
	fmt.Fprintf(table, "writes an updated pod\t%.2f\t%.2f\t\tat most %.1f\t%s\t%.2f (%.2f refused)\t\n",
		f.WritesPerUpdate.Ours, f.WritesPerUpdate.Native, mostWrites, verdict, f.WritesPerUpdate.Telling, f.RefusedOurs)
	fmt.Fprintf(table, "writes in 30 s once settled\t%d\t\t\t0\t\t\t\n", f.SettledWrites)
	for _, one := range f.Growth {
		fmt.Fprintf(table, "peak, one set of %d, MiB\t%.0f (%.1f s)\t\t\t\t\t\t\n", one.Pods, one.MiB, one.Seconds)
	}
	fmt.Fprintf(table, "peak, 1,000 sets of 5, MiB\t%.0f (%.1f s)\t\t\t\t\t\t\n", f.PeakManySmall, f.SecondsMany)
	f.reportGrowth(table)
}

// row is an operation and what it took.
type row struct {
	name string
	pair
}

func (f figures) rows() []row {
	return []row{
		{"create 200, Parallel, s", f.Create},
		{"roll 200, OrderedReady, s", f.RollOrdered},
		{"roll 200, maxUnavailable 10%, s", f.RollTenPercent},
		{"scale 200 to 0, s", f.ScaleDown},
	}
}

// page is what the README says of the figures.
func (f figures) page() string {
	var b strings.Builder
	b.WriteString("| | native | ours, `Never` | ours, by default |\n|---|---|---|---|\n")
	for _, r := range f.rows() {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f (%.2f) | %.2f (%.2f) |\n", r.name, r.Native, r.Ours, r.Ours/r.Native, r.Telling, r.Telling/r.Native)
	}
	w := f.WritesPerUpdate
	fmt.Fprintf(&b, "| writes for each updated pod | %.2f | %.2f | %.2f |\n\n", w.Native, w.Ours, w.Telling)
	fmt.Fprintf(&b, "The manager's peak was %.0f MiB with 5,000 pods in one set, and %.0f MiB with 1,000 sets of 5.\n", f.PeakOneLarge, f.PeakManySmall)
	return b.String()
}

func verdictOf(ratio float64) string {
	switch {
	case ratio <= aimRatio:
		return "ok"
	case ratio <= mostRatio:
		return "ok, not the aim"
	}
	return "MISSED"
}

// reportGrowth compares the time for each pod of the largest set with that of the
// smallest: 1 is linear growth.
func (f figures) reportGrowth(to io.Writer) {
	if len(f.Growth) == 0 {
		return
	}
	const most = 1.1 // the machine is not quiet
	small, large := f.Growth[0], f.Growth[len(f.Growth)-1]
	growth := large.Seconds / float64(large.Pods) / (small.Seconds / float64(small.Pods))
	verdict := "ok"
	if growth > most {
		verdict = "MISSED"
	}
	fmt.Fprintf(to, "time a pod, %d against %d\t\t\t%.2f\tat most %.1f\t%s\t\t\n", large.Pods, small.Pods, growth, most, verdict)
}
