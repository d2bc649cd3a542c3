package many

import (
	"strings"
	"testing"
)

// TestEvacuationFigures: a forecast that is off by more than a tenth, a set that has not moved, and a large manager miss
// their goals. Throughput is an aim.
func TestEvacuationFigures(t *testing.T) {
	good := evacuationFigures{Sets: 20, Ordinals: 5, Completed: 20, Arrived: 100, AlonePerSecond: 2, ForecastSeconds: 105, PeakMiB: 100, Cores: 2}
	with := func(change func(*evacuationFigures)) evacuationFigures {
		f := good
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		f    evacuationFigures
		want string
	}{
		"all are met":         {good, ""},
		"a late forecast":     {with(func(f *evacuationFigures) { f.ForecastSeconds = 111 }), "the forecast after a tenth is off by, %"},
		"an early forecast":   {with(func(f *evacuationFigures) { f.ForecastSeconds = 89 }), "the forecast after a tenth is off by, %"},
		"one has not moved":   {with(func(f *evacuationFigures) { f.Completed = 19 }), "StatefulSets that have moved"},
		"much memory":         {with(func(f *evacuationFigures) { f.PeakMiB = 300 }), "manager's peak memory, MiB"},
		"only the part alone": {evacuationFigures{AlonePerSecond: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.f.Sets > 0 {
				tc.f.take(100)
			}
			var missed []string
			for _, row := range tc.f.rows() {
				if row.Missed {
					missed = append(missed, row.Figure)
				}
			}
			if got := strings.Join(missed, ", "); got != tc.want {
				t.Errorf("missed: %q, want %q", got, tc.want)
			}
		})
	}
	if f := with(func(f *evacuationFigures) { f.take(50) }); f.PerSecond != 2 || f.TimesAlone != 1 || f.share(50) != 50 {
		t.Errorf("%+v", f)
	}
}
