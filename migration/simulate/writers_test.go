package simulate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// writer returns a writer with the given setting.
func writer(name, value string) plan.Writer {
	return plan.Writer{
		WriterReference: api.WriterReference{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject", Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Found:           true, ResourceVersion: "1", Writes: true, Value: value, Pause: `"true"`,
	}
}

// withWriters is an application with these writers.
func withWriters(all ...plan.Writer) plan.Snapshot {
	s := plantest.Scenario{Replicas: 2}.Build()
	s.Spec.PauseWriters = true
	s.Writers = plan.Writers{Read: true, List: all}
	return s
}

// run takes steps of a plan in a world in which nothing fails, until it ends or stop reports true.
type run struct {
	*World
	effects []plan.Effect
	done    string
	held    *plan.Hold
}

func newRun(s plan.Snapshot) *run {
	s.Holder, s.Engaged = "a", true
	return &run{World: NewWorld(s)}
}

// step is false at the end, and when the plan is held.
func (r *run) step(t interface{ Fatalf(string, ...any) }) bool {
	r.Settle()
	decision := planner.Plan(r.State)
	switch {
	case decision.Record != nil:
		r.State.Record = *decision.Record
		if fence := decision.Record.Fence; fence != nil {
			r.State.Engaged = fence.Holder == r.State.Holder
		}
	case decision.Effect != nil:
		r.effects = append(r.effects, *decision.Effect)
		if v := r.State; decision.Effect.Writer.Sets && decision.Effect.Verb == plan.ReleaseWriter && v.Spec.PauseWriters && v.Destination.Set.Replicas > 0 {
			t.Fatalf("%s fills the source again", decision.Effect.Name)
		}
		if err := r.Apply(*decision.Effect); err != nil {
			t.Fatalf("%s: %v", decision.Effect, err)
		}
	default:
		r.done, r.held = decision.Done, decision.Hold
		return false
	}
	return true
}

// toTheEnd takes all steps.
func (r *run) toTheEnd(t interface{ Fatalf(string, ...any) }) {
	for range 1000 {
		if !r.step(t) {
			return
		}
	}
	t.Fatalf("it does not end")
}

// pausedUntilMoved takes steps until the writers would fill the source again, and reports whether an ordinal was
// stopped. From then on none of them writes.
func (r *run) pausedUntilMoved(t *testing.T) (stopped bool) {
	t.Helper()
	for range 1000 {
		stopped = stopped || len(r.effects) > 0 && r.effects[len(r.effects)-1].Verb == plan.ScaleDown
		for _, w := range r.State.Writers.List {
			if stopped && w.Value != w.Pause {
				t.Fatalf("%s writes: %+v", w.Name, w)
			}
		}
		if !r.step(t) {
			break
		}
	}
	if r.done != "" || r.held == nil || r.held.Reason != api.ReasonWriterWouldRefill {
		t.Fatalf("everything has moved, and it ends with %q, %+v", r.done, r.held)
	}
	return stopped
}

// TestWritersArePausedForTheMove: each writer is paused before the first stop, and has its former setting at the
// end. A foreign pause is not touched.
func TestWritersArePausedForTheMove(t *testing.T) {
	writers := []plan.Writer{writer("a", ""), writer("b", `"false"`), writer("c", `"true"`)}
	before := slices.Clone(writers)
	r := newRun(withWriters(writers...))
	stopped := r.pausedUntilMoved(t)
	r.State.Spec.PauseWriters = false
	r.toTheEnd(t)
	if r.done != api.ReasonMoved || !stopped || len(r.State.Record.Writers) > 0 {
		t.Fatalf("it ends with %q, %+v, and %+v", r.done, r.held, r.State.Record.Writers)
	}
	for i, w := range r.State.Writers.List {
		if w.Value != before[i].Value || w.Mark != "" {
			t.Errorf("%s is at the end %+v", w.Name, w)
		}
	}
	for _, e := range r.effects {
		if e.Writer.Name == "c" {
			t.Errorf("what somebody has paused is written: %s", e)
		}
	}
}

// TestNoPauseStays: wherever a process crashes, and however the move ends, no writer stays paused that was not
// before, and no mark remains on it. A late pause write is refused. A setting that a user has changed since
// remains (I7, I8, I9).
func TestNoPauseStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]string{"", `"false"`, `"true"`}), 1, 3).Draw(t, "values")
		var writers []plan.Writer
		for i, value := range values {
			writers = append(writers, writer(string(rune('a'+i)), value))
		}
		r := newRun(withWriters(writers...))
		for range rapid.IntRange(0, 40).Draw(t, "steps before") {
			if !r.step(t) {
				break
			}
		}
		late := plan.Effect{}
		if decision := planner.Plan(r.State); decision.Effect != nil && decision.Effect.Verb == plan.PauseWriter {
			late = *decision.Effect // the process has sent it, and has died
		}
		r.State.Holder, r.State.Engaged = "b", false
		touched := rapid.IntRange(-1, len(values)-1).Draw(t, "touched")
		if rapid.Bool().Draw(t, "updated") { // the operator serves another version
			for i := range r.State.Writers.List {
				r.State.Writers.List[i].Version = "v1"
			}
		}
		if touched >= 0 {
			w := &r.State.Writers.List[touched]
			w.Value, w.ResourceVersion = rapid.SampledFrom([]string{"", `"false"`, `"soon"`}).Draw(t, "by somebody"), r.NewVersion()
			values[touched] = w.Value
		}
		switch rapid.SampledFrom([]string{"deleted", "rolled back", "as asked"}).Draw(t, "end") {
		case "deleted":
			r.State.Deleting = true
		case "rolled back":
			r.State.Spec.Mode = api.ModeRollback
		default:
			r.State.Spec.PauseWriters = false
		}
		r.toTheEnd(t)
		if r.done == "" && r.held.Reason == api.ReasonWriterWouldRefill && r.State.Destination.Set.Replicas > 0 {
			r.State.Spec.PauseWriters = false // the user who deleted it confirms that
			r.toTheEnd(t)
		}
		if r.done == "" {
			t.Fatalf("it is held: %+v", r.held)
		}
		for i, w := range r.State.Writers.List {
			if w.Value != values[i] || w.Mark != "" {
				t.Fatalf("%s has %s and the mark %q, it had %s", w.Name, w.Value, w.Mark, values[i])
			}
		}
		if late.Verb != "" && r.Apply(late) == nil {
			t.Fatal("a pause came late, and stays")
		}
	})
}

// TestNoWriterFillsTheSourceAgain: no writer's setting is restored while the destination has ordinals that it
// would start at the source, and afterwards each is. This holds for any sequence of modes, at any progress (I1,
// I7).
func TestNoWriterFillsTheSourceAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(withWriters(writer("a", "")))
		for range rapid.IntRange(1, 3).Draw(t, "changes of mind") {
			for range rapid.IntRange(0, 60).Draw(t, "steps before") {
				if !r.step(t) {
					break
				}
			}
			r.State.Spec.Mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModePause, api.ModeRollback}).Draw(t, "mode")
			r.State.Deleting = r.State.Deleting || rapid.Bool().Draw(t, "deleted")
		}
		if r.State.Spec.Mode == api.ModePause {
			r.State.Spec.Mode = api.ModeRun
		}
		r.toTheEnd(t)
		if r.done == "" && r.held.Reason == api.ReasonWriterWouldRefill {
			r.State.Spec.PauseWriters = false
			r.toTheEnd(t)
		}
		if w := r.State.Writers.List[0]; r.done == "" || w.Value != "" || w.Mark != "" {
			t.Fatalf("it ends with %q, %+v, and %+v", r.done, r.held, w)
		}
	})
}

// TestWritersHold: an unknown writer, a foreign pause, and a pause that another party has ended hold the next
// stop, with the writer's name.
func TestWritersHold(t *testing.T) {
	paused := func(mark string) plan.Writer {
		w := writer("a", `"true"`)
		w.Mark = mark
		return w
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"they could not be read":     {func(s *plan.Snapshot) { s.Writers = plan.Writers{Trouble: "timeout"} }, api.ReasonWriterNotRead},
		"U-30: they may not be read": {func(s *plan.Snapshot) { s.Writers = plan.Writers{Trouble: "forbidden", LacksRight: true} }, api.ReasonPermissionMissing},
		"U-30: another migration":    {func(s *plan.Snapshot) { s.Writers.List[0] = paused("other.3 paused") }, api.ReasonWriterHeld},
		"U-30: nobody any more": {func(s *plan.Snapshot) {
			w := writer("a", "")
			w.Mark = string(s.UID) + ".1 paused"
			s.Writers.List[0] = w
			s.Record.Writers = []api.PausedWriter{{WriterReference: w.WriterReference}}
		}, api.ReasonWriterNotPaused},
		"H8: not found":  {func(s *plan.Snapshot) { s.Writers.List[0].Found = false }, api.ReasonWriterNotFound},
		"of another set": {func(s *plan.Snapshot) { s.Writers.List[0].Writes = false }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(withWriters(writer("a", "")))
			for r.State.Record.Fence == nil || len(r.effects) < 1 {
				if !r.step(t) {
					t.Fatalf("held: %+v", r.held)
				}
			}
			tc.change(&r.State)
			r.toTheEnd(t)
			got := ""
			if r.done == "" {
				got = r.held.Reason
			}
			if got != tc.want || got != "" && (!r.held.Stalled || r.held.Remedy == "") {
				t.Errorf("it ends with %q: %+v", r.done, r.held)
			}
			if tc.want == "" && slices.ContainsFunc(r.effects, func(e plan.Effect) bool { return e.Writer.Kind != "" }) {
				t.Errorf("it is written: %v", r.effects)
			}
		})
	}
}

// TestWriterStillScales: a paused writer whose autoscaler still exists continues to scale: no ordinal is stopped
// before that is deleted (I1).
func TestWriterStillScales(t *testing.T) {
	w := writer("a", "")
	w.Scaler = "keda-hpa-a"
	r := newRun(withWriters(w))
	r.toTheEnd(t)
	if r.held == nil || r.held.Reason != api.ReasonWriterNotPaused || r.held.Remedy == "" || r.State.Writers.List[0].Value != `"true"` {
		t.Fatalf("it ends with %q, %+v", r.done, r.held)
	}
	if slices.ContainsFunc(r.effects, func(e plan.Effect) bool { return e.Verb == plan.ScaleDown }) {
		t.Errorf("an ordinal was stopped: %v", r.effects)
	}
	r.State.Writers.List[0].Scaler = ""
	if !r.pausedUntilMoved(t) {
		t.Error("it does not go on")
	}
}

// TestWritersPreflight: a writer that cannot be paused prevents the migration before anything is written.
func TestWritersPreflight(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"all is well":        {func(*plan.Snapshot) {}, ""},
		"not asked for":      {func(s *plan.Snapshot) { s.Spec.PauseWriters, s.Writers = false, plan.Writers{} }, ""},
		"it is not read":     {func(s *plan.Snapshot) { s.Writers = plan.Writers{Trouble: "timeout"} }, api.ReasonWriterNotRead},
		"it may not be read": {func(s *plan.Snapshot) { s.Writers = plan.Writers{Trouble: "forbidden", LacksRight: true} }, api.ReasonPermissionMissing},
		"it is held":         {func(s *plan.Snapshot) { s.Writers.List[0].Mark = "other.1 paused" }, api.ReasonWriterHeld},
		"of another set":     {func(s *plan.Snapshot) { s.Writers.List[0].Mark, s.Writers.List[0].Writes = "other.1 paused", false }, ""},
	} {
		s := withWriters(writer("a", ""))
		tc.change(&s)
		got := ""
		for _, finding := range planner.Preflight(s) {
			got = finding.Reason
			if finding.Check != plan.CheckWriters || finding.Remedy == "" {
				t.Errorf("%s: %+v", name, finding)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestWritersOfNoMove: nothing is paused if the spec does not request it, or during a rollback.
func TestWritersOfNoMove(t *testing.T) {
	for name, change := range map[string]func(*plan.Snapshot){
		"not asked for": func(s *plan.Snapshot) { s.Spec.PauseWriters = false },
		"back":          func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback },
	} {
		s := withWriters(writer("a", ""))
		change(&s)
		r := newRun(s)
		r.toTheEnd(t)
		if diff := cmp.Diff(s.Writers, r.State.Writers); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
