package handoff

import (
	"fmt"
	"io"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// figures are the measurements of a run, as written to the file.
type figures struct {
	// HandoffSeconds are medians of the rounds, for one ordinal.
	HandoffSeconds struct {
		Sliceshift    float64 `json:"sliceshift"`
		KubectlScript float64 `json:"kubectl_script"`
		Floor         float64 `json:"floor"`
	} `json:"handoff_seconds"`
	WritesPerHandoff float64 `json:"writes_per_handoff"`
	ReadsPerHandoff  float64 `json:"reads_per_handoff"`
	SettledWrites    int     `json:"settled_writes_30s"`
	ManagerPeakMiB   float64 `json:"manager_peak_mib"`
	PreflightSeconds float64 `json:"preflight_seconds"`
	PlanSeconds      float64 `json:"plan_seconds"`

	// DryRunsPerHandoff rehearse the ordinal at the destination. They change nothing and do not count as writes.
	DryRunsPerHandoff float64 `json:"dry_runs_per_handoff"`
	// RefusedPerHandoff are the writes that the API server refused.
	RefusedPerHandoff float64 `json:"refused_writes_per_handoff"`
	RatioToScript     float64 `json:"ratio_to_script"`
	RatioToFloor      float64 `json:"ratio_to_floor"`
	// Singles are the seconds of each ordinal, of all rounds.
	Singles struct {
		Sliceshift    measure.Spread `json:"sliceshift"`
		KubectlScript measure.Spread `json:"kubectl_script"`
		Floor         measure.Spread `json:"floor"`
	} `json:"handoff_seconds_single"`
	// ManagerSecondsPerOrdinal is the time of a whole Migration in the manager, from its creation until it is
	// completed, divided by the number of ordinals.
	ManagerSecondsPerOrdinal float64        `json:"manager_seconds_per_ordinal"`
	Preflights               measure.Spread `json:"preflight_seconds_runs"`
	Plans                    measure.Spread `json:"plan_seconds_runs"`
	Planned                  int32          `json:"planned_ordinals"`
	Ordinals                 int            `json:"ordinals"`
	Rounds                   int            `json:"rounds"`
	Cores                    int            `json:"cores"`
	Seconds                  float64        `json:"run_seconds"`
}

func (f *figures) takeHandoffs(sliceshift, script, floor *contender) {
	f.HandoffSeconds.Sliceshift = measure.SpreadOf(sliceshift.perOrdinal).Median
	f.HandoffSeconds.KubectlScript = measure.SpreadOf(script.perOrdinal).Median
	f.HandoffSeconds.Floor = measure.SpreadOf(floor.perOrdinal).Median
	f.RatioToScript = f.HandoffSeconds.Sliceshift / f.HandoffSeconds.KubectlScript
	f.RatioToFloor = f.HandoffSeconds.Sliceshift / f.HandoffSeconds.Floor
	f.Singles.Sliceshift = measure.SpreadOf(sliceshift.singles)
	f.Singles.KubectlScript = measure.SpreadOf(script.singles)
	f.Singles.Floor = measure.SpreadOf(floor.singles)
}

func (f *figures) takeRequests(sent measure.Counts, handoffs int) {
	f.WritesPerHandoff = measure.Share(sent.Writes, handoffs)
	f.RefusedPerHandoff = measure.Share(sent.Refused, handoffs)
	f.ReadsPerHandoff = measure.Share(sent.Reads, handoffs)
	f.DryRunsPerHandoff = measure.Share(sent.DryRuns, handoffs)
}

// show prints the measurements, and reports whether all goals are met.
func (f *figures) show(out io.Writer) bool {
	fmt.Fprintf(out, "Two clusters on this machine, %d cores.", f.Cores)
	if f.Rounds > 0 {
		fmt.Fprintf(out, " Contenders moved %d ordinals each, in turn, %d times: medians (min, median, max of single ordinals).", f.Ordinals, f.Rounds)
	}
	fmt.Fprint(out, "\n\n")
	return measure.Show(out, f.rows())
}

func (f *figures) rows() []measure.Row {
	var rows []measure.Row
	if f.Rounds > 0 {
		rows = append(rows,
			measure.Shown("seconds an ordinal: sliceshift", seconds(f.HandoffSeconds.Sliceshift, f.Singles.Sliceshift)),
			measure.Shown("seconds an ordinal: kubectl script", seconds(f.HandoffSeconds.KubectlScript, f.Singles.KubectlScript)),
			measure.Shown("seconds an ordinal: floor", seconds(f.HandoffSeconds.Floor, f.Singles.Floor)),
			measure.Judged("sliceshift / script", "%.2f", f.RatioToScript, 0.6, ""),
			measure.Aimed("sliceshift / floor", "%.2f", f.RatioToFloor, 2),
			measure.Judged("writes a handoff", "%.1f", f.WritesPerHandoff, 8.2, fmt.Sprintf(" (%.2f refused)", f.RefusedPerHandoff)),
			measure.Judged("dry runs a handoff", "%.1f", f.DryRunsPerHandoff, 3, ""),
			measure.Judged("reads a handoff", "%.1f", f.ReadsPerHandoff, 17.5, ""),
		)
	}
	if f.ManagerPeakMiB > 0 {
		rows = append(rows,
			measure.Judged("writes in 30 s once completed", "%.0f", float64(f.SettledWrites), 0, ""),
			measure.Judged("manager's peak memory, MiB", "%.0f", f.ManagerPeakMiB, 128, ""),
			measure.Shown("seconds an ordinal: manager", fmt.Sprintf("%.3f (whole Migration, as shipped)", f.ManagerSecondsPerOrdinal)),
		)
	}
	if f.PlanSeconds > 0 {
		rows = append(rows,
			measure.Judged("seconds of a preflight", "%.2f", f.PreflightSeconds, 1, fmt.Sprintf(" (%.2f to %.2f)", f.Preflights.Min, f.Preflights.Max)),
			measure.Judged(fmt.Sprintf("seconds to plan %d ordinals", f.Planned), "%.2f", f.PlanSeconds, float64(max(2, f.Planned/1000)), fmt.Sprintf(" (%.2f to %.2f)", f.Plans.Min, f.Plans.Max)),
		)
	}
	return rows
}

func seconds(median float64, single measure.Spread) string {
	return fmt.Sprintf("%.3f (%.3f, %.3f, %.3f)", median, single.Min, single.Median, single.Max)
}

// page renders the figures for the documentation.
func (f *figures) page() string {
	return fmt.Sprintf(`| | seconds an ordinal |
|---|---|
| sliceshift, as a command | %.2f |
| a kubectl script that does the same writes, with no regard for budgets | %.2f |
| the floor: the same requests over raw HTTP, and nothing checked | %.2f |

Each handoff takes %.0f writes, %.0f reads, and %.0f dry runs that ask whether the destination would run the ordinal. A manager that has nothing to do makes %d writes in 30 s, and its peak was %.0f MiB.
`+"`migrate preflight` of a StatefulSet of three takes %.1f s, and `migrate plan` of one of %d %.1f s.\n", f.HandoffSeconds.Sliceshift, f.HandoffSeconds.KubectlScript, f.HandoffSeconds.Floor,
		f.WritesPerHandoff, f.ReadsPerHandoff, f.DryRunsPerHandoff, f.SettledWrites, f.ManagerPeakMiB, f.PreflightSeconds, f.Planned, f.PlanSeconds)
}
