package inflight

import (
	"fmt"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// Goals, of several at once beside one at a time. The requests of a handoff vary by the ones that controllers refuse, and
// by the writes of the budgets at both ends of the move.
const (
	leastFaster = 7.0
	mostMore    = 1.05
)

// run holds the measurements of one move.
type run struct {
	InFlight          int     `json:"in_flight"`
	Seconds           float64 `json:"seconds"`
	WritesPerHandoff  float64 `json:"writes_per_handoff"`
	RefusedPerHandoff float64 `json:"refused_writes_per_handoff"`
	ReadsPerHandoff   float64 `json:"reads_per_handoff"`
	DryRunsPerHandoff float64 `json:"dry_runs_per_handoff"`
	// Processors are the parts of all processors that were in use, by process.
	Processors map[string]float64 `json:"processors"`
}

func runOf(inFlight int, taken measure.Timing, sent measure.Counts) run {
	handoffs := len(taken.Arrived)
	return run{
		InFlight: inFlight, Seconds: taken.PerOrdinal() * float64(handoffs),
		WritesPerHandoff: measure.Share(sent.Writes, handoffs), RefusedPerHandoff: measure.Share(sent.Refused, handoffs),
		ReadsPerHandoff: measure.Share(sent.Reads, handoffs), DryRunsPerHandoff: measure.Share(sent.DryRuns, handoffs),
	}
}

// figures are the measurements of a run of the benchmark, as written to the file.
type figures struct {
	Replicas     int     `json:"replicas"`
	StopSeconds  float64 `json:"pod_stop_seconds"`
	ReadySeconds float64 `json:"pod_ready_seconds"`
	One          run     `json:"one_at_a_time"`
	Several      run     `json:"several_at_once"`
	Faster       float64 `json:"times_as_fast"`
	WritesRatio  float64 `json:"writes_ratio"`
	ReadsRatio   float64 `json:"reads_ratio"`
	Cores        int     `json:"cores"`
	RunSeconds   float64 `json:"run_seconds"`
}

// complete compares both moves.
func (f *figures) complete(o options, cores int, seconds float64) {
	f.Replicas, f.StopSeconds, f.ReadySeconds, f.Cores, f.RunSeconds = o.replicas, o.stop.Seconds(), o.ready.Seconds(), cores, seconds
	if f.both() {
		f.Faster = f.One.Seconds / f.Several.Seconds
		f.WritesRatio = f.Several.WritesPerHandoff / f.One.WritesPerHandoff
		f.ReadsRatio = f.Several.ReadsPerHandoff / f.One.ReadsPerHandoff
	}
}

// both reports whether both moves were measured.
func (f *figures) both() bool { return f.One.InFlight > 0 && f.Several.InFlight > 0 }

func (f *figures) rows() []measure.Row {
	var rows []measure.Row
	for _, r := range []run{f.One, f.Several} {
		if r.InFlight > 0 {
			rows = append(rows, measure.Shown(fmt.Sprintf("%d ordinals, %d at once", f.Replicas, r.InFlight), fmt.Sprintf("%.1f s", r.Seconds)),
				measure.Shown("of each handoff", fmt.Sprintf("%.2f writes (%.2f refused), %.2f reads, %.2f dry runs", r.WritesPerHandoff, r.RefusedPerHandoff, r.ReadsPerHandoff, r.DryRunsPerHandoff)),
				measure.Shown(fmt.Sprintf("of %d processors", f.Cores), shown(r.Processors)))
		}
	}
	if f.both() {
		rows = append(rows,
			measure.AtLeast("times as fast", "%.1f", f.Faster, leastFaster, ""),
			measure.Judged("writes a handoff, several / one", "%.2f", f.WritesRatio, mostMore, ""),
			measure.Judged("reads a handoff, several / one", "%.2f", f.ReadsRatio, mostMore, ""))
	}
	return rows
}

// page renders the figures for the documentation.
func (f *figures) page() string {
	row := func(r run) string {
		return fmt.Sprintf("| %d | %.0f | %.1f | %.1f |\n", r.InFlight, r.Seconds, r.WritesPerHandoff, r.ReadsPerHandoff)
	}
	return fmt.Sprintf(`| at once | seconds | writes a handoff | reads a handoff |
|---|---|---|---|
%s%s
%d ordinals, whose pods take %.1f s to stop and %.1f s to become Ready: %.1f times as fast. Of the machine's %d processors, %d at once
used %s.
`, row(f.One), row(f.Several), f.Replicas, f.StopSeconds, f.ReadySeconds, f.Faster, f.Cores, f.Several.InFlight, shown(f.Several.Processors))
}
