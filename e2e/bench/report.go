package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	figure, measured string
	// goal is what the figure must not exceed; without one it is only shown.
	goal, verdict string
	missed        bool
}

// judged is a row with a goal.
func judged(figure, format string, value, most float64, remark string) row {
	r := row{figure: figure, measured: fmt.Sprintf(format, value) + remark, goal: fmt.Sprintf("at most "+format, most), verdict: "ok"}
	if value > most {
		r.verdict, r.missed = "MISSED", true
	}
	return r
}

// aimed is a row whose goal is an aim: to miss it fails nothing.
func aimed(figure, format string, value, most float64) row {
	r := judged(figure, format, value, most, "")
	r.goal += " (aim)"
	r.missed = false
	return r
}

func shown(figure, measured string) row { return row{figure: figure, measured: measured} }

// show prints what was measured, and says whether no goal was missed.
func (f *figures) show(out io.Writer) bool {
	fmt.Fprintf(out, "Two clusters on this machine, %d cores.", f.Cores)
	if f.Rounds > 0 {
		fmt.Fprintf(out, " Contenders moved %d ordinals each, in turn, %d times: medians (min, median, max of single ordinals).", f.Ordinals, f.Rounds)
	}
	fmt.Fprint(out, "\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tMEASURED\tGOAL\tVERDICT")
	good := true
	for _, r := range f.rows() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.figure, r.measured, r.goal, r.verdict)
		good = good && !r.missed
	}
	table.Flush()
	return good
}

func (f *figures) rows() []row {
	var rows []row
	if f.Rounds > 0 {
		rows = append(rows,
			shown("seconds an ordinal: sliceshift", seconds(f.HandoffSeconds.Sliceshift, f.Singles.Sliceshift)),
			shown("seconds an ordinal: kubectl script", seconds(f.HandoffSeconds.KubectlScript, f.Singles.KubectlScript)),
			shown("seconds an ordinal: floor", seconds(f.HandoffSeconds.Floor, f.Singles.Floor)),
			judged("sliceshift / script", "%.2f", f.RatioToScript, 0.6, ""),
			aimed("sliceshift / floor", "%.2f", f.RatioToFloor, 2),
			judged("writes a handoff", "%.1f", f.WritesPerHandoff, 16, fmt.Sprintf(" (%.2f refused)", f.RefusedPerHandoff)),
			judged("reads a handoff", "%.1f", f.ReadsPerHandoff, 60, ""),
		)
	}
	if f.ManagerPeakMiB > 0 {
		rows = append(rows,
			judged("writes in 30 s once completed", "%.0f", float64(f.SettledWrites), 0, ""),
			judged("manager's peak memory, MiB", "%.0f", f.ManagerPeakMiB, 128, ""),
			shown("seconds an ordinal: manager", fmt.Sprintf("%.3f (whole Migration, as shipped)", f.ManagerSecondsPerOrdinal)),
		)
	}
	if f.PlanSeconds > 0 {
		rows = append(rows, judged("seconds to plan 1,000 ordinals", "%.2f", f.PlanSeconds, 2, fmt.Sprintf(" (%.2f to %.2f)", f.Plans.Min, f.Plans.Max)))
	}
	return rows
}

func seconds(median float64, single spread) string {
	return fmt.Sprintf("%.3f (%.3f, %.3f, %.3f)", median, single.Min, single.Median, single.Max)
}

// page is what the README says of the figures.
func (f *figures) page() string {
	return fmt.Sprintf(`| | seconds an ordinal |
|---|---|
| sliceshift, as a command | %.2f |
| a kubectl script that does the same writes, with no regard for budgets | %.2f |
| the floor: the same requests over raw HTTP, and nothing checked | %.2f |

Each handoff takes %.0f writes and %.0f reads. A manager that has nothing to do makes %d writes in 30 s, and its peak was %.0f MiB.
`+"`migrate plan` of a StatefulSet of 1,000 takes %.1f s.\n", f.HandoffSeconds.Sliceshift, f.HandoffSeconds.KubectlScript, f.HandoffSeconds.Floor,
		f.WritesPerHandoff, f.ReadsPerHandoff, f.SettledWrites, f.ManagerPeakMiB, f.PlanSeconds)
}
