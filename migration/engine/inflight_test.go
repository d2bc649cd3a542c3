package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
)

// TestRecordOfSeveral: whatever handoff a record is about, the status lists all of them in the order of the move, and
// each is read again as the one in focus.
func TestRecordOfSeveral(t *testing.T) {
	record := plan.Record{Baseline: &api.Baseline{Replicas: 9}, Handoff: &api.Handoff{Ordinal: 6}, Further: []api.Handoff{{Ordinal: 8}, {Ordinal: 7}}}
	m := &api.Migration{}
	applyRecord(m, record)
	if m.Status.Handoff.Ordinal != 8 || len(m.Status.FurtherHandoffs) != 2 || m.Status.FurtherHandoffs[0].Ordinal != 7 {
		t.Errorf("stored as %+v", m.Status.Handoffs())
	}
	m.Status.History = &api.History{Stopped: &api.StoppedOrdinal{Ordinal: 8}, FurtherStopped: []api.StoppedOrdinal{{Ordinal: 6}}}
	for _, k := range []int32{8, 7, 6} {
		focused := world.RecordOf(plan.Focus{Ordinal: &k}.On(m))
		if focused.Handoff.Ordinal != k || len(focused.Further) != 2 || !focused.Moves(k) {
			t.Errorf("ordinal %d: %+v", k, focused.InFlight())
		}
		if stopped := focused.Stopped; (k == 7) != (stopped == nil) || stopped != nil && stopped.Ordinal != k {
			t.Errorf("ordinal %d: stopped %+v", k, stopped)
		}
	}
	none := world.RecordOf(plan.Focus{Begins: true}.On(m))
	if none.Handoff != nil || len(none.Further) != 3 {
		t.Errorf("none: %+v", none.InFlight())
	}
	m.Spec.Ordinals.Order = api.LowestFirst
	applyRecord(m, record)
	if m.Status.Handoff.Ordinal != 6 {
		t.Errorf("lowest first, stored as %+v", m.Status.Handoffs())
	}
}

// TestStepsOfSeveral: each ordinal in flight has its own step, whichever one a pass was about.
func TestStepsOfSeveral(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := &api.Migration{}
	applyRecord(m, plan.Record{Baseline: &api.Baseline{Replicas: 9}, Handoff: &api.Handoff{Ordinal: 8}, Further: []api.Handoff{{Ordinal: 7}, {Ordinal: 6}}})
	step := planner.Step{Snapshot: plan.Snapshot{Now: now}, Waits: []planner.Waiter{{Ordinal: 8, Step: api.StepAwaitReadiness}, {Ordinal: 7, Step: api.StepAwaitRelease}}}
	renderWaits(m, step)
	k := int32(6)
	s := plan.Snapshot{Now: now, Record: plan.Focus{Ordinal: &k}.Of(world.RecordOf(m))}
	render(m, s, plan.Decision{Step: api.StepScaleDown, Hold: &plan.Hold{Reason: api.ReasonMoving}})
	steps := map[int32]api.Step{}
	for _, handoff := range m.Status.Handoffs() {
		steps[handoff.Ordinal] = handoff.Step
		if !handoff.StepTime.Time.Equal(now) || len(handoff.Steps) != 1 {
			t.Errorf("ordinal %d: since %s, %+v", handoff.Ordinal, handoff.StepTime, handoff.Steps)
		}
	}
	if diff := cmp.Diff(map[int32]api.Step{8: api.StepAwaitReadiness, 7: api.StepAwaitRelease, 6: api.StepScaleDown}, steps); diff != "" {
		t.Error(diff)
	}
}

// TestOutagesOfSeveral: the history has the outage of each ordinal of a block, and the status since when each is down.
func TestOutagesOfSeveral(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.MicroTime {
		return metav1.NewMicroTime(now.Add(time.Duration(seconds) * time.Second))
	}
	m := &api.Migration{Status: api.MigrationStatus{Baseline: &api.Baseline{Replicas: 4}, Fence: &api.Fence{Epoch: 1, Direction: api.Forward}}}
	applyRecord(m, plan.Record{Baseline: m.Status.Baseline, Fence: m.Status.Fence, Handoff: &api.Handoff{Ordinal: 3, StartTime: at(0)}, Further: []api.Handoff{{Ordinal: 2, StartTime: at(0)}}})
	look := func(seconds int, source, start int32, pods ...plan.Pod) plan.Snapshot {
		s := plan.Snapshot{Now: now.Add(time.Duration(seconds) * time.Second)}
		s.Source.Reach, s.Destination.Reach = plan.Seen, plan.Seen
		s.Source.Set = plan.Set{Presence: plan.Seen, Replicas: source}
		s.Destination.Set = plan.Set{Presence: plan.Seen, Start: start, Replicas: 4 - start}
		s.Destination.Pods = pods
		return s
	}
	seen := &observations{}
	renderHistory(m, api.MigrationStatus{}, now, nil, seen)
	for _, s := range []plan.Snapshot{
		look(0, 4, 4), look(1, 3, 4), look(2, 2, 4),
		look(5, 2, 3, plan.Pod{Ordinal: 3, Ready: true, Owned: true, ReadySince: now.Add(4 * time.Second)}),
	} {
		before := *m.Status.DeepCopy()
		seen.note(m, s)
		renderHistory(m, before, s.Now, nil, seen)
	}
	if h := m.Status.History; h == nil || h.StoppedOf(3) == nil || h.StoppedOf(2) == nil || !h.StoppedOf(2).StopTime.Equal(new(at(2))) {
		t.Fatalf("%+v", m.Status.History)
	}
	finished, before := *m.Status.Handoff, *m.Status.DeepCopy()
	applyRecord(m, plan.Record{Baseline: m.Status.Baseline, Fence: m.Status.Fence, Further: m.Status.FurtherHandoffs})
	renderHistory(m, before, now.Add(6*time.Second), &finished, seen)
	h := m.Status.History
	if len(h.Handoffs) != 1 || h.Handoffs[0].Ordinal != 3 || !h.Handoffs[0].StopTime.Equal(new(at(1))) {
		t.Errorf("arrived: %+v", h.Handoffs)
	}
	if m.Status.Handoff.Ordinal != 2 || h.Stopped == nil || h.Stopped.Ordinal != 2 || h.FurtherStopped != nil {
		t.Errorf("left in flight: %+v, %+v", m.Status.Handoffs(), h.Stopped)
	}
}
