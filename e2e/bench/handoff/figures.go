package handoff

import "github.com/sliceshift/sliceshift/e2e/measure"

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
