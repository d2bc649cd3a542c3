package many

import (
	"fmt"
	"math"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// Goals of an Evacuation.
const (
	mostForecastOff  = 10.0 // percent
	mostEvacuateMiB  = 256.0
	timesAloneAtOnce = 3.0
)

// evacuationFigures are the measurements of an Evacuation, as written to the file.
type evacuationFigures struct {
	Sets      int `json:"sets"`
	Ordinals  int `json:"ordinals"`
	Completed int `json:"completed"`
	Arrived   int `json:"arrived"`
	// AlonePerSecond and PerSecond are in ordinals: of one StatefulSet alone, and of all.
	AlonePerSecond float64 `json:"alone_per_second"`
	PerSecond      float64 `json:"per_second"`
	TimesAlone     float64 `json:"times_alone"`
	// PlanSeconds is how long the command took to plan and to write the Evacuation.
	PlanSeconds float64 `json:"plan_seconds"`
	// PlannedSeconds is the time that the plan expected, ForecastSeconds what was expected ForecastAfter its begin, when
	// a tenth of the ordinals had arrived, and RealSeconds the real time.
	PlannedSeconds  float64 `json:"planned_seconds"`
	ForecastAfter   float64 `json:"forecast_after_seconds"`
	ForecastSeconds float64 `json:"forecast_seconds"`
	RealSeconds     float64 `json:"real_seconds"`
	// ForecastOff is the difference between forecast and reality, in percent of the real time.
	ForecastOff float64 `json:"forecast_off_percent"`
	PeakMiB     float64 `json:"peak_mib"`
	ObjectKiB   float64 `json:"object_kib"`
	// ManagerCPU and ControlPlanesCPU are processor seconds.
	ManagerCPU       float64 `json:"manager_cpu_seconds"`
	ControlPlanesCPU float64 `json:"control_planes_cpu_seconds"`
	Cores            int     `json:"cores"`
	Seconds          float64 `json:"run_seconds"`
}

// take fills in the figures that derive from the real time.
func (f *evacuationFigures) take(lasted float64) {
	f.RealSeconds = lasted
	f.PerSecond = float64(f.Arrived) / lasted
	f.ForecastOff = 100 * (f.ForecastSeconds/lasted - 1)
	if f.AlonePerSecond > 0 {
		f.TimesAlone = f.PerSecond / f.AlonePerSecond
	}
}

// share returns processor seconds in percent of those that the machine had.
func (f *evacuationFigures) share(seconds float64) float64 {
	return 100 * seconds / (f.RealSeconds * float64(max(1, f.Cores)))
}

// rows returns the measurements with their goals.
func (f *evacuationFigures) rows() []measure.Row {
	var rows []measure.Row
	if f.AlonePerSecond > 0 {
		rows = append(rows, measure.Shown("alone, handoffs a second", fmt.Sprintf("%.2f", f.AlonePerSecond)))
	}
	if f.Sets == 0 {
		return rows
	}
	rows = append(rows,
		measure.AtLeast("StatefulSets that have moved", "%.0f", float64(f.Completed), float64(f.Sets), fmt.Sprintf(" (%d handoffs in %.1f s)", f.Arrived, f.RealSeconds)),
		measure.Shown("the plan, s (and to read and to write it)", fmt.Sprintf("%.0f (%.1f)", f.PlannedSeconds, f.PlanSeconds)),
		measure.Judged("the forecast after a tenth is off by, %", "%.1f", math.Abs(f.ForecastOff), mostForecastOff, fmt.Sprintf(" (%.0f s, at %.0f s)", f.ForecastSeconds, f.ForecastAfter)),
		measure.Judged("manager's peak memory, MiB", "%.0f", f.PeakMiB, mostEvacuateMiB, ""),
		measure.Shown("the Evacuation, KiB", fmt.Sprintf("%.0f", f.ObjectKiB)),
		measure.Shown("handoffs a second", fmt.Sprintf("%.2f", f.PerSecond)),
	)
	if f.AlonePerSecond > 0 {
		rows = append(rows, measure.AtLeast("times as many as alone", "%.2f", f.TimesAlone, timesAloneAtOnce, "").AsAim())
	}
	return append(rows,
		measure.Shown(fmt.Sprintf("of %d processors: control planes, manager, %%", f.Cores), fmt.Sprintf("%.0f, %.0f", f.share(f.ControlPlanesCPU), f.share(f.ManagerCPU))))
}

// page renders the figures for the documentation.
func (f *evacuationFigures) page() string {
	return fmt.Sprintf(`| %d StatefulSets of %d | |
|---|---|
| planned, s | %.0f |
| forecast after a tenth of the ordinals, s | %.0f |
| real, s | %.0f |
| forecast / real | %.2f |
| handoffs a second, and of one StatefulSet alone | %.2f, %.2f |
| the manager's peak, MiB | %.0f |
| the Evacuation, KiB | %.0f |

Of the %d processors, the processes of the two control planes took %.0f %%, and the manager %.0f %%. The plan assumes that handoffs at once are as fast as one
alone. Where they share processors, they are not, and the forecast is the measure.
`, f.Sets, f.Ordinals, f.PlannedSeconds, f.ForecastSeconds, f.RealSeconds, f.ForecastSeconds/f.RealSeconds, f.PerSecond, f.AlonePerSecond, f.PeakMiB, f.ObjectKiB,
		f.Cores, f.share(f.ControlPlanesCPU), f.share(f.ManagerCPU))
}
