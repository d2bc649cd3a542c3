package handoffs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// world is a migration whose status changes like an engine changes it.
type world struct {
	m       *api.Migration
	now     time.Time
	tracker Tracker
}

func newWorld() *world {
	w := &world{m: &api.Migration{}, now: time.Unix(1_000_000, 123_456_000).UTC()}
	w.m.UID = "uid"
	w.m.Status.Fence = &api.Fence{Epoch: 1, Direction: api.Forward}
	return w
}

func (w *world) pass(after time.Duration, step api.Step, reason string) Changes {
	w.now = w.now.Add(after)
	return w.tracker.See(w.m, Look{Now: w.now, Step: step, Reason: reason})
}

func (w *world) begin(ordinal int32) {
	w.m.Status.Handoff = &api.Handoff{Ordinal: ordinal, Step: api.StepGate, StartTime: metav1.NewMicroTime(w.now), Attempts: 1}
}

// arrive ends the handoff like an engine, which records it in the history.
func (w *world) arrive() {
	was := w.m.Status.Handoff
	if w.m.Status.History == nil {
		w.m.Status.History = &api.History{}
	}
	w.m.Status.History.Handoffs = append(w.m.Status.History.Handoffs, api.PastHandoff{
		Ordinal: was.Ordinal, StartTime: was.StartTime, EndTime: metav1.NewMicroTime(w.now), Attempts: was.Attempts,
	})
	w.m.Status.Handoff = nil
}

func (w *world) turn() {
	fence := *w.m.Status.Fence
	fence.Epoch++
	fence.Direction = map[api.Direction]api.Direction{api.Forward: api.Back, api.Back: api.Forward}[fence.Direction]
	w.m.Status.Fence = &fence
	if w.m.Status.Handoff != nil {
		handoff := *w.m.Status.Handoff
		handoff.StartTime = metav1.NewMicroTime(w.now)
		handoff.Attempts++
		w.m.Status.Handoff = &handoff
	}
}

// TestHandoff: a handoff is reported as begun, with each stay at a step and its waits, and as arrived.
func TestHandoff(t *testing.T) {
	w := newWorld()
	w.pass(0, "", "")
	start := w.now
	w.begin(4)
	of := Handoff{Migration: "uid", Ordinal: 4, Direction: api.Forward, Start: start}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	stay := func(step api.Step, from, to int, waits ...Wait) *Stay {
		return &Stay{Step: step, Start: at(from), End: at(to), Outcome: Done, Waits: waits}
	}
	check := func(what string, got, want Changes) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("begun", w.pass(0, api.StepGate, ""), Changes{Current: &of, Begun: &of})
	check("on to the next step", w.pass(time.Second, api.StepReserveBudget, "BudgetNotConfirmed"), Changes{Current: &of, Of: of, Stay: stay(api.StepGate, 0, 1)})
	check("a pass that says no step", w.pass(time.Second, "", "ClusterUnreachable"), Changes{Current: &of})
	check("stopped", w.pass(time.Second, api.StepAwaitRelease, "PodTerminating"), Changes{Current: &of, Of: of, Stay: stay(api.StepReserveBudget, 1, 3,
		Wait{"BudgetNotConfirmed", at(1)}, Wait{"ClusterUnreachable", at(2)})})
	w.pass(time.Second, api.StepAwaitReadiness, "PodNotReady")
	w.now = w.now.Add(time.Second)
	w.arrive()
	check("arrived", w.pass(0, api.StepAwaitReadiness, ""), Changes{
		Of: of, Stay: stay(api.StepAwaitReadiness, 4, 5, Wait{"PodNotReady", at(4)}),
		Ended: &Ending{Handoff: of, End: at(5), Outcome: Arrived, Attempts: 1, Past: &w.m.Status.History.Handoffs[0]},
	})
}

// TestTurnedRound: the return is another handoff.
func TestTurnedRound(t *testing.T) {
	w := newWorld()
	w.pass(0, "", "")
	w.begin(4)
	w.pass(0, api.StepGate, "")
	w.pass(time.Second, api.StepAwaitRelease, "PodTerminating")
	w.now = w.now.Add(time.Second)
	was := w.m.Status.Handoff
	w.turn()
	w.m.Status.History = &api.History{Handoffs: []api.PastHandoff{{
		Ordinal: 4, StartTime: was.StartTime, EndTime: w.m.Status.Handoff.StartTime, Outcome: api.HandoffTurnedBack,
	}}}
	got := w.pass(0, "", "")
	if got.Ended == nil || got.Ended.Outcome != TurnedBack || got.Begun == nil || got.Begun.Direction != api.Back || got.Stay.Outcome != TurnedBack {
		t.Errorf("got %+v", got)
	}
}

// TestTakenOver: a process that takes over a handoff does not report it as begun, and knows as much of it as the
// status.
func TestTakenOver(t *testing.T) {
	w := newWorld()
	w.begin(4)
	w.m.Status.Handoff.Step, w.m.Status.Handoff.StepTime = api.StepAwaitReadiness, metav1.NewMicroTime(w.now.Add(time.Second))
	start := w.now
	if got := w.pass(time.Minute, api.StepAwaitReadiness, "PodNotReady"); got.Begun != nil || got.Stay != nil || got.Current == nil {
		t.Errorf("got %+v", got)
	}
	w.arrive()
	if got := w.pass(0, api.StepAwaitReadiness, ""); got.Ended.Outcome != Arrived || !got.Stay.Start.Equal(start.Add(time.Second)) {
		t.Errorf("got %+v", got)
	}
}

// TestWithdrawn: a handoff that ends before the ordinal was stopped has not arrived.
func TestWithdrawn(t *testing.T) {
	w := newWorld()
	w.pass(0, "", "")
	w.begin(4)
	w.pass(0, api.StepGate, "")
	w.m.Status.Handoff = nil
	if got := w.pass(time.Second, api.StepGate, "Paused"); got.Ended.Outcome != Withdrawn {
		t.Errorf("got %+v", got)
	}
}

// TestAccounts: for any events, each handoff that begins ends once, unless it is in flight, and its stays cover
// all of its time.
func TestAccounts(t *testing.T) {
	steps := []api.Step{"", api.StepGate, api.StepReserveBudget, api.StepSecureVolumes, api.StepScaleDown, api.StepAwaitRelease, api.StepCarryVolumes, api.StepScaleUp, api.StepAwaitReadiness}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.pass(0, "", "")
		begun, ended, stayed := 0, 0, time.Duration(0)
		count := func(changes Changes) {
			if changes.Begun != nil {
				begun++
			}
			if changes.Stay != nil {
				stayed += changes.Stay.End.Sub(changes.Stay.Start)
			}
			if e := changes.Ended; e != nil {
				ended++
				if took := e.End.Sub(e.Start); took != stayed {
					t.Fatalf("a handoff of %s had stays of %s", took, stayed)
				}
				stayed = 0
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "passes") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			switch under := w.m.Status.Handoff != nil; rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				if under {
					w.arrive()
				}
			case 1:
				w.turn()
			case 2:
				w.m.Status.Handoff = nil
			case 3:
				if under {
					w.arrive()
				}
				w.begin(rapid.Int32Range(0, 3).Draw(t, "ordinal"))
			}
			count(w.pass(0, rapid.SampledFrom(steps).Draw(t, "step"), rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "reason")))
		}
		under := 0
		if w.m.Status.Handoff != nil {
			under = 1
		}
		if begun != ended+under {
			t.Fatalf("%d begun, %d ended, %d under way", begun, ended, under)
		}
	})
}

// TestSeveralAtOnce: each handoff of several in flight is followed on its own: it begins, stays at its steps and ends
// once, whatever ends first.
func TestSeveralAtOnce(t *testing.T) {
	w := newWorld()
	begun, ended, stays := map[int32]int{}, map[int32]Outcome{}, map[int32]int{}
	see := func(about int32, step api.Step) {
		w.now = w.now.Add(time.Second)
		for _, changes := range w.tracker.SeeAll(w.m, &about, Look{Now: w.now, Step: step}) {
			if changes.Begun != nil {
				begun[changes.Begun.Ordinal]++
			}
			if changes.Stay != nil {
				stays[changes.Of.Ordinal]++
			}
			if changes.Ended != nil {
				if _, twice := ended[changes.Ended.Ordinal]; twice {
					t.Errorf("ordinal %d ends twice", changes.Ended.Ordinal)
				}
				ended[changes.Ended.Ordinal] = changes.Ended.Outcome
			}
		}
	}
	see(5, "")
	w.begin(5)
	see(5, api.StepGate)
	further := *w.m.Status.Handoff
	further.Ordinal, further.StartTime = 4, metav1.NewMicroTime(w.now)
	w.m.Status.FurtherHandoffs = []api.Handoff{further}
	see(5, api.StepScaleDown)
	see(4, api.StepScaleDown)
	w.arrive()
	w.m.Status.Handoff, w.m.Status.FurtherHandoffs = &further, nil
	see(5, api.StepAwaitReadiness)
	see(4, api.StepAwaitReadiness)
	w.arrive()
	see(4, "")
	if diff := cmp.Diff(map[int32]int{5: 1, 4: 1}, begun); diff != "" {
		t.Errorf("begun: %s", diff)
	}
	if diff := cmp.Diff(map[int32]Outcome{5: Arrived, 4: Arrived}, ended); diff != "" {
		t.Errorf("ended: %s", diff)
	}
	if stays[5] < 2 || stays[4] < 2 {
		t.Errorf("stays: %v", stays)
	}
}
