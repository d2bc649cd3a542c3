package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// stay is a migration of ordinals [0,3), one of which is at the source, at the destination, or down. Further
// ordinals of the destination are left out.
type stay struct {
	source, destination int32
	// up is true if its pod is available.
	up bool
}

// at makes the next passes see ordinal 2 there.
func (h *historian) at(where stay) {
	h.slices = func(s *plan.Snapshot) {
		pod := plan.Pod{Ordinal: 2, Ready: where.up, Owned: true}
		s.Source.Set, s.Source.Pods = plan.Set{Presence: plan.Seen, Replicas: 2 + where.source}, []plan.Pod{pod}
		s.Destination.Set, s.Destination.Pods = plan.Set{Presence: plan.Seen, Start: 3 - where.destination, Replicas: where.destination}, []plan.Pod{pod}
	}
}

// turn reverses the migration and its current handoff.
func (h *historian) turn(after time.Duration) {
	h.pass(after, 2, func(s *api.MigrationStatus) {
		s.Fence = &api.Fence{Epoch: s.Fence.Epoch + 1, Holder: "other", Direction: map[api.Direction]api.Direction{api.Forward: api.Back, api.Back: api.Forward}[s.Fence.Direction]}
		s.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(h.now), Attempts: s.Handoff.Attempts + 1}
	}, nil)
}

// TestDowntime: the time since which an ordinal is down is recorded with its handoff. A reversed handoff is a
// record of its own. An ordinal that was not stopped is recorded as stayed.
func TestDowntime(t *testing.T) {
	const second = time.Second
	source, down, starting, there := stay{source: 1, up: true}, stay{}, stay{destination: 1}, stay{destination: 1, up: true}
	same := func(*api.MigrationStatus) {}
	look := func(after time.Duration, where stay) func(*historian) {
		return func(h *historian) {
			h.at(where)
			h.pass(after, 2, same, nil)
		}
	}
	turn := func(after time.Duration) func(*historian) { return func(h *historian) { h.turn(after) } }
	stop := func(after time.Duration) func(*historian) {
		return func(h *historian) {
			h.now = h.now.Add(after)
			h.seen.wrote(plan.Effect{Verb: plan.ScaleDown, Ordinal: 1}, h.now.Add(-second))
			h.seen.wrote(plan.Effect{Verb: plan.ScaleDown, Ordinal: 2}, h.now)
		}
	}
	takenOver := func(step api.Step) func(*historian) {
		return func(h *historian) {
			clear(h.seen.handoffs)
			h.m.Status.Handoff.Step, h.m.Status.Handoff.StepTime = step, metav1.NewMicroTime(h.now.Add(-second))
		}
	}
	unseen := func(h *historian) {
		h.slices = func(s *plan.Snapshot) { s.Source.Reach = plan.Unreachable }
		h.pass(second, 2, same, nil)
	}
	type row struct {
		direction       api.Direction
		start, stop, at int // seconds; a stop of 0 is unknown
		outcome         api.HandoffOutcome
		stayed          bool
	}
	const back = api.HandoffTurnedBack
	for name, tc := range map[string]struct {
		steps []func(*historian)
		want  []row
	}{
		"by a write":                     {[]func(*historian){look(1*second, source), stop(2 * second), look(1*second, down), look(1*second, there)}, []row{{api.Forward, 0, 3, 5, "", false}}},
		"by a write that none answers":   {[]func(*historian){look(1*second, source), look(3*second, down), look(1*second, there)}, []row{{api.Forward, 0, 4, 5, "", false}}},
		"while nothing could be seen":    {[]func(*historian){look(1*second, source), unseen, look(3*second, down), look(1*second, there)}, []row{{api.Forward, 0, 0, 6, "", false}}},
		"taken over":                     {[]func(*historian){look(1*second, source), stop(second), look(1*second, down), takenOver(api.StepCarryVolumes), look(1*second, there)}, []row{{api.Forward, 0, 2, 4, "", false}}},
		"taken over before it was noted": {[]func(*historian){look(1*second, source), stop(second), takenOver(api.StepSecureVolumes), look(1*second, down), look(1*second, there)}, []row{{api.Forward, 0, 0, 4, "", false}}},
		"turned round while it was down": {
			[]func(*historian){look(1*second, source), stop(second), look(1*second, down), turn(4 * second), look(1*second, down), look(9*second, source)},
			[]row{{api.Forward, 0, 2, 7, back, false}, {api.Back, 7, 2, 17, "", false}},
		},
		"turned round by another process": {
			[]func(*historian){look(1*second, source), stop(second), look(1*second, down), takenOver(api.StepAwaitRelease), turn(4 * second), look(10*second, source)},
			[]row{{api.Forward, 0, 2, 7, back, false}, {api.Back, 7, 2, 17, "", false}},
		},
		"turned round before it was stopped": {
			[]func(*historian){look(1*second, source), turn(2 * second), look(1*second, source)},
			[]row{{api.Forward, 0, 0, 3, back, true}, {api.Back, 3, 0, 4, "", true}},
		},
		"turned round twice, and stopped": {
			[]func(*historian){look(1*second, source), turn(2 * second), turn(1 * second), look(1*second, source), stop(second), look(1*second, there)},
			[]row{{api.Forward, 0, 0, 3, back, true}, {api.Back, 3, 0, 4, back, true}, {api.Forward, 4, 6, 7, "", false}},
		},
		"turned round twice, and not seen to be stopped": {
			[]func(*historian){look(1*second, source), turn(2 * second), turn(1 * second), unseen, look(1*second, there)},
			[]row{{api.Forward, 0, 0, 3, back, true}, {api.Back, 3, 0, 4, back, true}, {api.Forward, 4, 0, 6, "", false}},
		},
		"turned round while it came up": {
			[]func(*historian){look(1*second, source), stop(second), look(1*second, starting), turn(1 * second), look(1*second, starting), stop(second), look(4*second, source)},
			[]row{{api.Forward, 0, 2, 4, back, false}, {api.Back, 4, 2, 10, "", false}},
		},
		"turned round once it was up": {
			[]func(*historian){look(1*second, source), stop(second), look(1*second, starting), turn(1 * second), look(1*second, there), stop(second), look(4*second, source)},
			[]row{{api.Forward, 0, 2, 4, back, false}, {api.Back, 4, 6, 10, "", false}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistorian()
			begun := h.now
			h.at(source)
			h.pass(0, 3, h.begin(2), nil)
			for _, step := range tc.steps {
				step(h)
			}
			h.pass(0, 3, func(s *api.MigrationStatus) { s.Handoff = nil }, h.m.Status.Handoff)
			since := func(at metav1.MicroTime) int {
				if at.IsZero() {
					return 0
				}
				return int(at.Sub(begun) / second)
			}
			var got []row
			for _, p := range h.m.Status.History.Handoffs {
				got = append(got, row{p.Direction, since(p.StartTime), since(p.StopTime), since(p.EndTime), p.Outcome, p.Stayed})
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := h.m.Status.History.Stopped; got != nil {
				t.Errorf("it is stopped still: %+v", got)
			}
		})
	}
}

// TestStoppedIsNoReasonToWrite: the time since which an ordinal is down is written only together with other
// changes.
func TestStoppedIsNoReasonToWrite(t *testing.T) {
	before, after := &api.Migration{}, &api.Migration{}
	before.Status.History, after.Status.History = &api.History{}, &api.History{Stopped: &api.StoppedOrdinal{Ordinal: 1}}
	if changed(before, after) || after.Status.History.Stopped == nil {
		t.Error("it is a reason to write, or it is not written")
	}
}

// TestDriverOfTheMoveBefore: a record that begins again has the fence of the earlier move until a process takes
// it, and lists only the drivers of this move.
func TestDriverOfTheMoveBefore(t *testing.T) {
	h := newHistorian()
	h.m.Status.Fence, h.m.Status.History = &api.Fence{Epoch: 2, Holder: "former", Direction: api.Back}, nil
	h.pass(time.Second, 3, func(*api.MigrationStatus) {}, nil)
	h.pass(time.Second, 3, func(s *api.MigrationStatus) { s.Fence = &api.Fence{Epoch: 3, Holder: "one", Direction: api.Forward} }, nil)
	want := []api.Driver{{Epoch: 3, Holder: "one", Direction: api.Forward, StartTime: metav1.NewTime(h.now)}}
	if diff := cmp.Diff(want, h.m.Status.History.Drivers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
