package planner

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestH12LimitsHaveAStartOfTheirOwn: re-entering a step does not reset its time, and the downtime of an ordinal
// does not depend on its current step.
func TestH12LimitsHaveAStartOfTheirOwn(t *testing.T) {
	const k = 2
	ago := func(s *plan.Snapshot, minutes int) metav1.MicroTime {
		return metav1.NewMicroTime(s.Now.Add(-time.Duration(minutes) * time.Minute))
	}
	down := func(s *plan.Snapshot) {
		s.Record.Stopped = &api.StoppedOrdinal{Ordinal: k, StopTime: ago(s, 32)}
		s.Record.Handoff = &api.Handoff{
			Ordinal: k, StartTime: ago(s, 60), Step: api.StepAwaitRelease, StepTime: ago(s, 1),
			Steps: []api.StepStart{{Step: api.StepGate, Time: ago(s, 59)}, {Step: api.StepAwaitRelease, Time: ago(s, 31)}, {Step: api.StepCarryVolumes, Time: ago(s, 20)}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		step   api.Step
		spent  int
		down   int
	}{
		"a step that came again":          {nil, api.StepAwaitRelease, 31, 32},
		"one that it is not at":           {nil, api.StepCarryVolumes, 20, 32},
		"one of before the stop":          {nil, api.StepGate, 0, 32},
		"one that has not come":           {nil, api.StepAwaitReadiness, 0, 32},
		"it was turned round since":       {func(s *plan.Snapshot) { s.Record.Handoff.StartTime = ago(s, 5) }, api.StepAwaitRelease, 1, 32},
		"another one is down":             {func(s *plan.Snapshot) { s.Record.Stopped.Ordinal = 1 }, api.StepAwaitRelease, 1, 1},
		"nobody knows since when":         {func(s *plan.Snapshot) { s.Record.Stopped = nil }, api.StepAwaitRelease, 1, 1},
		"an older record, of its volumes": {func(s *plan.Snapshot) { s.Record.Stopped, s.Record.Handoff.Step = nil, api.StepCarryVolumes }, api.StepCarryVolumes, 1, 1},
	} {
		p := halfway(func(s *plan.Snapshot) {
			down(s)
			if tc.change != nil {
				tc.change(s)
			}
		})
		if got := p.spent(tc.step); got != time.Duration(tc.spent)*time.Minute {
			t.Errorf("%s: spent %s, want %d min", name, got, tc.spent)
		}
		if got := p.downFor(); got != time.Duration(tc.down)*time.Minute {
			t.Errorf("%s: down for %s, want %d min", name, got, tc.down)
		}
	}
}
