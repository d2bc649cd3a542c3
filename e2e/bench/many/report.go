package many

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// Goals of many concurrent Migrations.
const (
	aimTimesAlone   = 3.0
	mostReads       = 25.0
	aimReads        = 15.0
	mostReadsGrowth = 1.2
	mostCPUGrowth   = 1.3
	mostWrites      = 9.0
	mostFirstStop   = 5.0
	mostSilent      = 10.0
	mostMiB         = 192.0
	aimMiB          = 128.0
	mostOverCommand = 1.1
)

// named is a layout and its name in the table.
type named struct {
	layoutFigures
	name string
}

func (f *figures) layouts() []named {
	return []named{{f.OneNamespace, "one namespace"}, {f.ManyNamespaces, "many namespaces"}}
}

// rows returns the measurements with their goals.
func (f *figures) rows() []measure.Row {
	var rows []measure.Row
	if f.Alone.Rounds > 0 {
		rows = append(rows, f.Alone.rows()...)
	}
	if f.Few.measured() {
		rows = append(rows, f.growthRows()...)
	}
	for _, layout := range f.layouts() {
		if layout.measured() {
			rows = append(rows, layout.rows(f.Alone)...)
		}
	}
	return rows
}

func (f aloneFigures) rows() []measure.Row {
	one := func(c contenderFigures) string {
		return fmt.Sprintf("%.2f (%.3f s, %.1f reads, %.1f writes)", c.PerSecond, c.SecondsPerHandoff, c.ReadsPerHandoff, c.WritesPerHandoff)
	}
	return []measure.Row{
		measure.Shown("alone, command: handoffs a second (and of one)", one(f.contenderFigures)),
		measure.Shown("alone, manager: handoffs a second (and of one)", one(f.Manager.contenderFigures)),
		measure.Shown("alone, manager: seconds an ordinal, whole Migration", fmt.Sprintf("%.3f", f.Manager.SecondsPerOrdinal)),
		measure.Judged("alone, seconds a handoff: manager / command", "%.2f", f.ManagerOverCommand, mostOverCommand, ""),
	}
}

// growthRows compares few Migrations with all of them, if these were measured.
func (f *figures) growthRows() []measure.Row {
	g := f.Growth
	both := func(format string, v fewAndMany) string {
		if !f.OneNamespace.measured() {
			return fmt.Sprintf(format, v.Few)
		}
		return fmt.Sprintf(format+", "+format, v.Few, v.Many)
	}
	rows := []measure.Row{
		measure.Shown("growth, Migrations", both("%.0f", g.Migrations)),
		measure.Shown("growth, handoffs a second", both("%.2f", g.PerSecond)),
		measure.Shown("growth, reads a handoff", both("%.1f", g.ReadsPerHandoff)),
		measure.Shown("growth, manager's processor time for a handoff, s", both("%.3f", g.CPUPerHandoff)),
		measure.Judged("a further handoff, reads", "%.1f", f.Further.Reads, mostReads, "").Aim("%.1f", aimReads),
		measure.Judged("a further handoff, writes", "%.1f", f.Further.Writes, mostWrites, ""),
	}
	if f.OneNamespace.measured() {
		rows = append(rows, measure.Judged("growth, processor time for a handoff: many / few", "%.2f", g.CPUPerHandoff.Many/g.CPUPerHandoff.Few, mostCPUGrowth, ""))
	}
	return rows
}

func (l named) rows(alone aloneFigures) []measure.Row {
	figure := func(name string) string { return l.name + ", " + name }
	perSecond := measure.Shown(figure("handoffs a second"), fmt.Sprintf("%.2f", l.PerSecond))
	var readsGrowth []measure.Row
	if alone.Rounds > 0 {
		perSecond = measure.AtLeast(perSecond.Figure, "%.2f", l.PerSecond, alone.PerSecond, "").Aim("%.2f", aimTimesAlone*alone.PerSecond)
		readsGrowth = []measure.Row{measure.Judged(figure("reads / manager's alone"), "%.2f", l.ReadsPerHandoff/alone.Manager.ReadsPerHandoff, mostReadsGrowth, "")}
	}
	rows := []measure.Row{
		measure.AtLeast(figure("Migrations completed"), "%.0f", float64(l.Completed), float64(l.Migrations),
			fmt.Sprintf(" (%d handoffs in %.1f s)", l.Arrived, l.Seconds)),
		perSecond,
		measure.Shown(figure("handoffs a second, each 30 s"), fmt.Sprintf("%.1f", l.PerSecondOverTime)),
		measure.Judged(figure("reads a handoff"), "%.1f", l.ReadsPerHandoff, mostReads, fmt.Sprintf(" (and %.2f watches)", l.WatchesPerHandoff)).Aim("%.1f", aimReads),
	}
	rows = append(rows, readsGrowth...)
	return append(rows,
		measure.Judged(figure("writes a handoff"), "%.1f", l.WritesPerHandoff, mostWrites, fmt.Sprintf(" (%.2f refused; and %.1f access reviews, %.1f dry runs)", l.RefusedPerHandoff, l.ReviewsPerHandoff, l.DryRunsPerHandoff)),
		measure.Shown(figure("requests a second"), fmt.Sprintf("%.0f", l.RequestsPerSecond)),
		measure.Judged(figure("seconds to the first stop"), "%.1f", l.FirstStopSeconds, mostFirstStop, ""),
		measure.Judged(figure("longest silence, s"), "%.1f", l.SilentSeconds, mostSilent, ""),
		measure.Shown(figure("slowest Migration / median"), fmt.Sprintf("%.2f", l.Fairness)),
		measure.Judged(figure("manager's peak memory, MiB"), "%.0f", l.PeakMiB, mostMiB, "").Aim("%.0f", aimMiB),
		measure.Shown(figure("manager's processor time, s"), fmt.Sprintf("%.1f", l.CPUSeconds)),
	)
}

// page renders the figures for the documentation.
func (f *figures) page() string {
	var b strings.Builder
	b.WriteString("| | handoffs a second | reads a handoff | writes a handoff | first stop, s | longest silence, s | peak, MiB |\n|---|---|---|---|---|---|---|\n")
	alone := func(name string, c contenderFigures) {
		fmt.Fprintf(&b, "| one of %d, by %s | %.2f | %.1f | %.1f | | | |\n", f.Alone.Ordinals, name, c.PerSecond, c.ReadsPerHandoff, c.WritesPerHandoff)
	}
	alone("command", f.Alone.contenderFigures)
	alone("the manager", f.Alone.Manager.contenderFigures)
	for _, l := range append([]named{{f.Few, "one namespace"}}, f.layouts()...) {
		fmt.Fprintf(&b, "| %d of %d, %s | %.2f | %.1f | %.1f | %.1f | %.1f | %.0f |\n", l.Migrations, l.Ordinals, l.name,
			l.PerSecond, l.ReadsPerHandoff, l.WritesPerHandoff, l.FirstStopSeconds, l.SilentSeconds, l.PeakMiB)
	}
	fmt.Fprintf(&b, "\nOf these, what a Migration needs to start and to end is spread over its handoffs. One handoff more takes %.1f reads and %.1f writes,\n"+
		"an event and the record of it among them.\n", f.Further.Reads, f.Further.Writes)
	one, many := f.OneNamespace, f.ManyNamespaces
	fmt.Fprintf(&b, "\nCompleted were %d and %d of %d Migrations; the slowest took %.2f and %.2f times as long as the median one. The manager sent\n"+
		"%.0f and %.0f requests a second. From its first stop to its last arrival a StatefulSet alone took %.2f times as long by the\n"+
		"manager as by command.\n", one.Completed, many.Completed, one.Migrations, one.Fairness, many.Fairness,
		one.RequestsPerSecond, many.RequestsPerSecond, f.Alone.ManagerOverCommand)
	return b.String()
}
