package progress

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// pass is one recorded pass of an engine.
type pass struct {
	after   time.Duration
	change  func(*api.Migration)
	outcome engine.Outcome
}

// story records the passes of a move of shop/web, two replicas.
type story struct {
	m        *api.Migration
	snapshot plan.Snapshot
	passes   []pass
}

func newStory() *story {
	return &story{m: movetest.Moving(0, 2), snapshot: movetest.Application{Replicas: 2, Templates: []string{"data"}}.Snapshot()}
}

// wrote records a pass that executed an effect.
func (s *story) wrote(after time.Duration, step api.Step, e plan.Effect) {
	s.add(after, nil, engine.Outcome{Wrote: true, Decision: plan.Decision{Effect: &e, Step: step}})
}

// held records a pass that ended in a hold.
func (s *story) held(after time.Duration, step api.Step, hold plan.Hold) {
	s.add(after, nil, engine.Outcome{Saved: true, Decision: plan.Decision{Hold: &hold, Step: step}})
}

func (s *story) add(after time.Duration, change func(*api.Migration), outcome engine.Outcome) {
	outcome.Snapshot = s.snapshot
	s.passes = append(s.passes, pass{after, change, outcome})
}

// begin records the beginning of an ordinal's handoff, and the end of the previous one.
func (s *story) begin(after time.Duration, ordinal int32, finished *api.Handoff) {
	s.add(after, func(m *api.Migration) {
		m.Status.Handoff = &api.Handoff{Ordinal: ordinal, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(after)), Attempts: 1}
	}, engine.Outcome{Saved: true, Finished: finished, Decision: plan.Decision{Record: &plan.Record{}, Step: api.StepGate}})
}

// own sets the number of replicas on each side of the snapshot.
func (s *story) own(source, destination int32, down ...int32) {
	s.snapshot = movetest.Application{Replicas: 2, Templates: []string{"data"}}.Snapshot()
	all := s.snapshot.Source.Pods
	s.snapshot.Source.Set.Replicas, s.snapshot.Source.Pods = source, all[:source]
	s.snapshot.Destination.Set = plan.Set{Presence: plan.Seen, Name: "web", Start: 2 - destination, Replicas: destination, Observed: true, RolledOut: true}
	s.snapshot.Destination.Pods = all[2-destination:]
	for _, ordinal := range down {
		for i := range all {
			all[i].Ready = all[i].Ready && all[i].Ordinal != ordinal
		}
	}
}

func (s *story) events() (events []Event, last *Tracker) {
	m := s.m.DeepCopy()
	n := NewTracker(commandtest.Noon, m)
	for _, p := range s.passes {
		if p.change != nil {
			p.change(m)
		}
		events = append(events, n.Observe(commandtest.Noon.Add(p.after), m, p.outcome)...)
	}
	return events, n
}

// aMove returns a complete move, with a stall in the middle.
func aMove() *story {
	s := newStory()
	s.wrote(100*time.Millisecond, "", plan.Effect{Verb: plan.WriteFence, Side: plan.SourceSide, Name: "web"})
	s.own(2, 0)
	s.begin(200*time.Millisecond, 1, nil)
	confirming := plan.Hold{Reason: api.ReasonBudgetUnconfirmed, Message: "waiting until the disruption controller has observed the PodDisruptionBudgets"}
	s.held(250*time.Millisecond, api.StepReserveBudget, confirming)
	s.held(260*time.Millisecond, api.StepReserveBudget, confirming)
	s.add(270*time.Millisecond, nil, engine.Outcome{}) // the cache was behind: nothing was observed
	s.held(280*time.Millisecond, api.StepReserveBudget, confirming)
	s.wrote(300*time.Millisecond, api.StepSecureVolumes, plan.Effect{
		Verb: plan.CarryVolume, Side: plan.SourceSide, Ordinal: 1, Name: "pvc-data-web-1", Template: "data",
		Volume: volumes.Action{Verb: volumes.Secure, Volume: "pvc-data-web-1"},
	})
	s.wrote(400*time.Millisecond, api.StepScaleDown, plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Ordinal: 1, Name: "web", After: plan.SetState{Replicas: 1}})
	s.own(1, 0)
	s.held(time.Second, api.StepAwaitRelease, plan.Hold{Reason: api.ReasonPodTerminating, Message: "waiting until pod shop/web-1 in cluster east is gone"})
	s.own(1, 1, 1)
	s.wrote(3*time.Second, api.StepScaleUp, plan.Effect{Verb: plan.ScaleUp, Side: plan.DestinationSide, Ordinal: 1, Name: "web", After: plan.SetState{Start: 1, Replicas: 1}})
	waiting := plan.Hold{Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-1 in cluster west is Ready", Remedy: "kubectl describe pod -n shop web-1"}
	s.held(4*time.Second, api.StepAwaitReadiness, waiting)
	waiting.Message, waiting.Stalled = "ordinal 1 has been at AwaitReadiness for longer than 1m0s: "+waiting.Message, true
	s.held(64*time.Second, api.StepAwaitReadiness, waiting)
	s.held(65*time.Second, api.StepAwaitReadiness, waiting)
	s.own(1, 1)
	s.begin(70*time.Second, 0, &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(200 * time.Millisecond))})
	s.wrote(71*time.Second, api.StepScaleDown, plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Ordinal: 0, Name: "web"})
	s.own(0, 2)
	s.add(80*time.Second, func(m *api.Migration) { m.Status.Handoff = nil }, engine.Outcome{
		Saved: true, Finished: &api.Handoff{Ordinal: 0, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(70 * time.Second))}, Decision: plan.Decision{Record: &plan.Record{}},
	})
	s.wrote(81*time.Second, "", plan.Effect{Verb: plan.ReleaseFence, Side: plan.SourceSide, Name: "web"})
	s.add(82*time.Second, nil, engine.Outcome{Done: true, Saved: true, Decision: plan.Decision{Done: api.ReasonMoved}})
	return s
}

// aReturn returns a move that is paused, reversed, and rolled back.
func aReturn() *story {
	s := newStory()
	s.m.Status.Handoff = &api.Handoff{Ordinal: 1, Step: api.StepAwaitReadiness, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(-time.Minute))}
	s.own(1, 1, 1)
	s.held(time.Second, api.StepAwaitReadiness, plan.Hold{Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-1 in cluster west is Ready"})
	s.add(2*time.Second, func(m *api.Migration) { m.Spec.Mode = api.ModePause }, engine.Outcome{})
	s.own(1, 1)
	s.add(3*time.Second, func(m *api.Migration) { m.Status.Handoff = nil }, engine.Outcome{
		Saved: true, Finished: &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(-time.Minute))}, Decision: plan.Decision{Record: &plan.Record{}},
	})
	s.held(4*time.Second, "", plan.Hold{Reason: api.ReasonPaused, Message: "mode is Pause; ordinal 0 is next"})
	s.add(5*time.Second, func(m *api.Migration) {
		m.Spec.Mode = api.ModeRollback
		m.Status.Fence = &api.Fence{Epoch: 2, Direction: api.Back}
	}, engine.Outcome{Saved: true, Decision: plan.Decision{Record: &plan.Record{}}})
	s.begin(6*time.Second, 1, nil)
	s.own(2, 0)
	s.add(9*time.Second, func(m *api.Migration) { m.Status.Handoff = nil }, engine.Outcome{
		Saved: true, Finished: &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(commandtest.Noon.Add(6 * time.Second))}, Decision: plan.Decision{Record: &plan.Record{}},
	})
	s.add(10*time.Second, nil, engine.Outcome{Done: true, Saved: true, Decision: plan.Decision{Done: api.ReasonRolledBack}})
	return s
}

func TestRunOutput(t *testing.T) {
	for name, tc := range map[string]struct {
		story *story
		show  func(*bytes.Buffer) Display
	}{
		"run.txt":          {aMove(), func(out *bytes.Buffer) Display { return plain(out, terminal.Painter{}) }},
		"run_color.txt":    {aMove(), func(out *bytes.Buffer) Display { return plain(out, terminal.Painter{On: true}) }},
		"run.json":         {aMove(), func(out *bytes.Buffer) Display { return jsonLines(out) }},
		"run_quiet.txt":    {aMove(), func(out *bytes.Buffer) Display { return quiet(out) }},
		"run_rollback.txt": {aReturn(), func(out *bytes.Buffer) Display { return plain(out, terminal.Painter{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			d := tc.show(&out)
			events, n := tc.story.events()
			for _, e := range events {
				d.Show(e)
				d.Update(n.State)
			}
			d.Close()
			golden.Compare(t, name, out.String())
		})
	}
}

// TestJSONLines: each line is one JSON object.
func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	events, _ := aMove().events()
	for _, e := range events {
		jsonLines(&out)(e)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events", len(lines), len(events))
	}
	for i, line := range lines {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != events[i].Kind {
			t.Errorf("line %d: %v: %s", i+1, err, line)
		}
	}
}

func TestSummary(t *testing.T) {
	for name, tc := range map[string]struct {
		took []time.Duration
		want Summary
	}{
		"none": {nil, Summary{}},
		"one":  {[]time.Duration{2 * time.Second}, Summary{Ordinals: 1, MinSeconds: 2, MedianSeconds: 2, MaxSeconds: 2}},
		"two":  {[]time.Duration{4 * time.Second, 2 * time.Second}, Summary{Ordinals: 2, MinSeconds: 2, MedianSeconds: 3, MaxSeconds: 4}},
		"odd":  {[]time.Duration{9 * time.Second, 1 * time.Second, 2 * time.Second}, Summary{Ordinals: 3, MinSeconds: 1, MedianSeconds: 2, MaxSeconds: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			var got Summary
			got.times(tc.took)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStalledTwice: an unreachable cluster is reported once, although its error text changes.
func TestStalledTwice(t *testing.T) {
	n := NewTracker(commandtest.Noon, movetest.Moving(0, 2))
	hold := func(reason, message string) plan.Hold {
		return plan.Hold{Reason: reason, Message: message, Stalled: true}
	}
	for i, tc := range []struct {
		hold plan.Hold
		want int
	}{
		{hold(api.ReasonClusterUnreachable, "cluster west cannot be read: connection refused"), 1},
		{hold(api.ReasonClusterUnreachable, "cluster west cannot be read: context deadline exceeded"), 0},
		{hold(api.ReasonClusterUnreachable, "cluster east cannot be read: connection refused"), 1},
		{hold(api.ReasonForeignScale, "replicas were changed: to 3"), 1},
		{hold(api.ReasonForeignScale, "replicas were changed: to 4"), 1},
		{hold(api.ReasonForeignScale, "replicas were changed: to 4"), 0},
	} {
		if got := n.Held(commandtest.Noon, tc.hold, nil); len(got) != tc.want {
			t.Errorf("hold %d: %d events, want %d", i, len(got), tc.want)
		}
		if n.Hold.Message != tc.hold.Message {
			t.Errorf("hold %d: the bar shows %q", i, n.Hold.Message)
		}
	}
}

// TestSealed: each sealed copy is reported once. A second copy of the same claim is reported again.
func TestSealed(t *testing.T) {
	sealed := func(root string) func(*api.Migration) {
		return func(m *api.Migration) {
			m.Status.Handoff = &api.Handoff{Ordinal: 1, Volumes: []api.HandoffVolume{
				{ClaimTemplate: "logs"},
				{ClaimTemplate: "data", Copy: api.CopyAttempt{Seal: api.CopySeal{Root: root, Bytes: 8 << 20, Files: 33, Seconds: 2}}},
			}}
		}
	}
	const first, second = "blake3:0123456789abcdef", "blake3:fedcba9876543210"
	s := newStory()
	for _, root := range []string{"", first, first, second} {
		s.add(time.Second, sealed(root), engine.Outcome{Saved: true})
	}
	s.add(2*time.Second, func(m *api.Migration) { m.Status.Handoff = nil }, engine.Outcome{Saved: true})
	events, _ := s.events()
	var got []string
	for _, e := range events {
		if e.Kind == Sealed && *e.Ordinal == 1 && e.Seal.Files == 33 {
			got = append(got, e.Message)
		}
	}
	want := []string{
		"data was copied, 8.0 MiB in 33 files, and both sides are equal: blake3:01234567",
		"data was copied, 8.0 MiB in 33 files, and both sides are equal: blake3:fedcba98",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	trusted := api.CopySeal{Verify: api.CopyVerifyChanged, Read: 1 << 20, Trusted: 7 << 20}
	if got, want := equal(trusted), "verify: Changed (1.0 MiB were read again on the two sides; 7.0 MiB were not, because"; !strings.Contains(got, want) {
		t.Errorf("a seal by Changed: %s", got)
	}
	m := movetest.Moving(0, 2)
	sealed(first)(m)
	if events := NewTracker(commandtest.Noon, m).sealed(commandtest.Noon, m); len(events) != 0 {
		t.Errorf("what an earlier run has told is told again: %v", events)
	}
}

func TestStopped(t *testing.T) {
	for step, want := range map[api.Step]string{
		api.StepReserveBudget:  "stopped: 0 of 2 ordinals are moved; ordinal 1 is in flight (reserve the disruption budget)",
		api.StepCarryVolumes:   "stopped: 0 of 2 ordinals are moved; ordinal 1 is in flight (carry its volumes over), and stays down until the run continues",
		api.StepAwaitReadiness: "stopped: 0 of 2 ordinals are moved; ordinal 1 is in flight (wait until it is available), and starts without the run",
	} {
		m := movetest.Moving(0, 2)
		m.Status.Handoff = &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(commandtest.Noon)}
		n := NewTracker(commandtest.Noon, m)
		n.Handoff.Step = step
		if got := n.Stopped(commandtest.Noon.Add(time.Minute)); got.Message != want || got.Kind != Stopped {
			t.Errorf("%s: %q, want %q", step, got.Message, want)
		}
	}
}

// TestDown: the event of an arrived ordinal states how long it was down, as far as that is recorded, or that it was not
// stopped.
func TestDown(t *testing.T) {
	at := func(seconds float64) metav1.MicroTime {
		return metav1.NewMicroTime(commandtest.Noon.Add(time.Duration(seconds * float64(time.Second))))
	}
	for name, tc := range map[string]struct {
		past      api.PastHandoff
		direction api.Direction
		want      string
		down      *float64
	}{
		"not recorded":   {api.PastHandoff{Ordinal: 0}, api.Forward, "ordinal 1 is available at the destination after 13.0s (1/2)", nil},
		"there":          {api.PastHandoff{Ordinal: 1, StartTime: at(0), StopTime: at(6.3), ReadyTime: at(13), EndTime: at(13)}, api.Forward, "ordinal 1 is available at the destination after 13.0s, 6.7s of it down (1/2)", new(6.7)},
		"back":           {api.PastHandoff{Ordinal: 1, StartTime: at(0), StopTime: at(-30), ReadyTime: at(13), EndTime: at(13)}, api.Back, "ordinal 1 is available at the source again after 13.0s, down for 43.0s in all (0 left)", new(43.0)},
		"not stopped":    {api.PastHandoff{Ordinal: 1, StartTime: at(0), EndTime: at(13), Stayed: true}, api.Back, "ordinal 1 is available where it was: it had not been stopped (0 left)", nil},
		"of a turn only": {api.PastHandoff{Ordinal: 1, StopTime: at(6), EndTime: at(8), Outcome: api.HandoffTurnedBack}, api.Back, "ordinal 1 is available at the source again after 13.0s (0 left)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.m.Status.Fence = &api.Fence{Epoch: 2, Direction: tc.direction}
			s.m.Status.Handoff = &api.Handoff{Ordinal: 1, StartTime: at(0), Attempts: 1}
			s.m.Status.History = &api.History{Handoffs: []api.PastHandoff{tc.past}}
			s.own(1, 1)
			if tc.direction == api.Back {
				s.own(2, 0)
			}
			s.add(13*time.Second, func(m *api.Migration) { m.Status.Handoff = nil }, engine.Outcome{
				Saved: true, Finished: &api.Handoff{Ordinal: 1, StartTime: at(0)}, Decision: plan.Decision{Record: &plan.Record{}},
			})
			events, _ := s.events()
			var got Event
			for _, e := range events {
				if e.Kind == OrdinalDone {
					got = e
				}
			}
			if got.Message != tc.want || got.Stayed != tc.past.Stayed {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
			if diff := cmp.Diff(tc.down, got.DownSeconds); diff != "" {
				t.Errorf("down, -want +got:\n%s", diff)
			}
		})
	}
}
