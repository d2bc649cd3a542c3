package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// figures are what a run has measured, as they are written to the file.
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
	PlanSeconds      float64 `json:"plan_1000_seconds"`

	// RefusedPerHandoff are those of the writes that the API server did not accept.
	RefusedPerHandoff float64 `json:"refused_writes_per_handoff"`
	RatioToScript     float64 `json:"ratio_to_script"`
	RatioToFloor      float64 `json:"ratio_to_floor"`
	// Singles are the seconds of single ordinals, of all rounds.
	Singles struct {
		Sliceshift    spread `json:"sliceshift"`
		KubectlScript spread `json:"kubectl_script"`
		Floor         spread `json:"floor"`
	} `json:"handoff_seconds_single"`
	// ManagerSecondsPerOrdinal is a whole Migration in the manager, from its
	// creation until it is completed, divided by the ordinals.
	ManagerSecondsPerOrdinal float64 `json:"manager_seconds_per_ordinal"`
	Plans                    spread  `json:"plan_1000_seconds_runs"`
	Ordinals                 int     `json:"ordinals"`
	Rounds                   int     `json:"rounds"`
	Cores                    int     `json:"cores"`
	Seconds                  float64 `json:"run_seconds"`
}

func (f *figures) takeHandoffs(sliceshift, script, floor *contender) {
	f.HandoffSeconds.Sliceshift = spreadOf(sliceshift.perOrdinal).Median
	f.HandoffSeconds.KubectlScript = spreadOf(script.perOrdinal).Median
	f.HandoffSeconds.Floor = spreadOf(floor.perOrdinal).Median
	f.RatioToScript = f.HandoffSeconds.Sliceshift / f.HandoffSeconds.KubectlScript
	f.RatioToFloor = f.HandoffSeconds.Sliceshift / f.HandoffSeconds.Floor
	f.Singles.Sliceshift = spreadOf(sliceshift.singles)
	f.Singles.KubectlScript = spreadOf(script.singles)
	f.Singles.Floor = spreadOf(floor.singles)
}

func (f *figures) takeRequests(sent counts, handoffs int) {
	f.WritesPerHandoff = share(int(sent.writes), handoffs)
	f.RefusedPerHandoff = share(int(sent.refused), handoffs)
	f.ReadsPerHandoff = share(int(sent.reads), handoffs)
}

func (f *figures) takePlan(took spread) {
	f.PlanSeconds, f.Plans = took.Median, took
}

// write writes the figures to a file, and makes its folder.
func (f *figures) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
