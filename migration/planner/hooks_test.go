package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// hooked is a migration with hooks, in a world in which only the hooks fail.
type hooked struct {
	*simulate.World
	// ends returns how the Job of a hook ends; empty: it continues to run.
	ends func(plan.HookTurn) api.HookState
	// log lists the hooks that ran and the ordinals that were stopped and started, in their order.
	log []string
	// sick is a side whose pods do not become Ready; empty: neither.
	sick plan.SideName
	// check is called with each decision and its snapshot.
	check func(plan.Snapshot, plan.Decision)
}

func well(plan.HookTurn) api.HookState { return api.HookSucceeded }

func newHooked(replicas int32, hooks ...api.Hook) *hooked {
	s := plantest.Scenario{Replicas: replicas, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{Hooks: hooks, Deadline: time.Hour}}.Build()
	s.Engaged = true
	return &hooked{World: simulate.NewWorld(s), ends: well, check: func(plan.Snapshot, plan.Decision) {}}
}

// step performs the next step; false: the migration is complete, or waits only for a hook or a user.
func (w *hooked) step() (plan.Decision, bool) {
	s := w.Snapshot()
	decision := planner.Plan(s)
	w.check(s, decision)
	switch effect := decision.Effect; {
	case effect != nil:
		if err := w.Apply(*effect); err != nil {
			panic(err)
		}
		w.note(*effect)
	case decision.Record != nil:
		w.State.Record = *decision.Record
	case decision.Done != "" || decision.Hold.Stalled || decision.Hold.Reason == api.ReasonHookRunning || decision.Hold.Reason == api.ReasonPaused:
		return decision, false
	}
	for _, name := range plan.SideNames {
		for acted := true; acted; {
			acted = w.Learn(name) || w.ControlSet(name) || w.ControlBudgets(name)
		}
		for k := range int32(8) {
			_ = w.Gone(name, k) || name != w.sick && w.Ready(name, k)
		}
	}
	w.State.Now = w.State.Now.Add(max(decision.Wait, time.Second))
	return decision, true
}

func (w *hooked) note(e plan.Effect) {
	switch e.Verb {
	case plan.StartHook:
		w.log = append(w.log, fmt.Sprintf("%s %d on the %s, %s", e.Hook.Hook.Name, e.Ordinal, e.Side, e.Hook.Direction))
		if state := w.ends(*e.Hook); state != "" {
			w.EndHook(e.Name, state)
		}
	case plan.ScaleDown:
		w.log = append(w.log, fmt.Sprintf("stop %d", e.Ordinal))
	case plan.ScaleUp:
		w.log = append(w.log, fmt.Sprintf("start %d", e.Ordinal))
	default:
	}
}

func (w *hooked) run() plan.Decision {
	for range 5000 {
		if decision, goes := w.step(); !goes {
			return decision
		}
	}
	panic("it does not end")
}

// answer sets the user's answer to the current run.
func (w *hooked) answer(do api.HookRemedy) {
	turn, _ := planner.DueHook(w.Snapshot())
	w.State.Spec.HookAnswer = &api.HookAnswer{Job: turn.Run.Job, Do: do}
}

func hook(name string, point api.HookPoint) api.Hook {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tool", Image: "tool"}}}}
	return api.Hook{Name: name, Point: point, Job: api.HookJob{Spec: api.JobSpec{JobSpec: batchv1.JobSpec{Template: template}}}}
}

var allPoints = []api.Hook{
	hook("begin", api.HookBeforeMigration), hook("leave", api.HookBeforeOrdinal), hook("drain", api.HookBeforeOrdinal),
	hook("join", api.HookAfterOrdinal), hook("finish", api.HookAfterMigration),
}

// TestHooksInOrder: hooks run before and after each ordinal and the migration, those of a point one after the
// other. They run on the side that ordinals leave or arrive at, and none runs while an ordinal is down.
func TestHooksInOrder(t *testing.T) {
	w := newHooked(2, allPoints...)
	w.check = notDown(t)
	if decision := w.run(); decision.Done != api.ReasonMoved {
		t.Fatalf("it ends with %+v", decision)
	}
	want := []string{
		"begin -1 on the source, Forward",
		"leave 1 on the source, Forward", "drain 1 on the source, Forward", "stop 1", "start 1", "join 1 on the destination, Forward",
		"leave 0 on the source, Forward", "drain 0 on the source, Forward", "stop 0", "start 0", "join 0 on the destination, Forward",
		"finish -1 on the destination, Forward",
	}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// notDown fails if a hook runs, or is awaited, while an ordinal is down or in flight. It also fails if a hook runs
// without a record, or without both fences.
func notDown(t interface{ Fatalf(string, ...any) }) func(plan.Snapshot, plan.Decision) {
	return func(s plan.Snapshot, d plan.Decision) {
		runs := d.Effect != nil && d.Effect.RunsHook()
		down := s.Record.Baseline != nil && s.Source.Set.Replicas+s.Destination.Set.Replicas < s.Record.Baseline.Replicas
		switch {
		case (runs || d.Hold != nil && strings.HasPrefix(d.Hold.Reason, "Hook")) && (down || s.Record.Handoff != nil):
			t.Fatalf("an ordinal is down: %+v", d)
		case runs && !slices.ContainsFunc(s.Record.Hooks, func(run api.HookRun) bool { return run.Job == d.Effect.Name }):
			t.Fatalf("nobody could answer for it: %+v", d.Effect)
		case runs && slices.ContainsFunc([]plan.Set{s.Source.Set, s.Destination.Set}, func(set plan.Set) bool {
			return set.Presence == plan.Seen && set.Fence != planner.Fence(s.UID, s.Record.Fence.Epoch)
		}):
			t.Fatalf("without both fences: %+v", d.Effect)
		}
	}
}

// TestHooksOfARollback: in a rollback each hook runs again, on the other side, unless it is skipped.
func TestHooksOfARollback(t *testing.T) {
	hooks := slices.Clone(allPoints)
	hooks[2].OnRollback = api.HookRollbackSkip
	hooks[0].Side = api.GateDestination
	w := newHooked(2, hooks...)
	w.ends = func(turn plan.HookTurn) api.HookState {
		if turn.Hook.Name == "leave" && turn.Ordinal() == 0 && turn.Direction == api.Forward {
			return ""
		}
		return api.HookSucceeded
	}
	if decision := w.run(); decision.Hold == nil || decision.Hold.Reason != api.ReasonHookRunning {
		t.Fatalf("got %+v", decision)
	}
	w.log = nil
	w.State.Spec.Mode = api.ModeRollback
	if decision := w.run(); decision.Done != api.ReasonRolledBack {
		t.Fatalf("it ends with %+v", decision.Hold)
	}
	want := []string{
		"begin -1 on the destination, Back", "leave 1 on the destination, Back", "stop 1", "start 1",
		"join 1 on the source, Back", "finish -1 on the source, Back",
	}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.log = nil
	w.State.Spec.Mode, w.ends = api.ModeRun, well
	if decision := w.run(); decision.Done != api.ReasonMoved || len(w.log) != 12 {
		t.Errorf("run anew: %+v after %q", decision, w.log)
	}
}

// TestFailedHook: the effect of a failed hook, and the ways in which a user continues the migration (I6).
func TestFailedHook(t *testing.T) {
	for name, tc := range map[string]struct {
		state    api.HookState
		failure  api.HookFailure
		reason   string
		turnBack bool
	}{
		"U-20: fails":                    {api.HookFailed, "", api.ReasonHookFailed, false},
		"U-20: takes too long":           {api.HookTimedOut, api.HookFailureStall, api.ReasonHookTimedOut, false},
		"U-20: fails, and is taken back": {api.HookFailed, api.HookFailureRollback, api.ReasonHookFailed, true},
	} {
		for _, do := range []api.HookRemedy{api.HookRetry, api.HookSkip} {
			t.Run(name+", "+string(do), func(t *testing.T) {
				leave := hook("leave", api.HookBeforeOrdinal)
				leave.OnFailure = tc.failure
				w := newHooked(1, leave)
				w.ends = func(plan.HookTurn) api.HookState { return tc.state }
				w.check = notDown(t)
				first := w.run()
				if first.Hold == nil || first.Hold.Reason != tc.reason || first.Hold.TurnBack != tc.turnBack {
					t.Fatalf("got %+v", first.Hold)
				}
				for _, want := range []string{"hooks retry", "hooks skip"} {
					if !tc.turnBack && !strings.Contains(first.Hold.Remedy, want) {
						t.Errorf("the remedy is %q", first.Hold.Remedy)
					}
				}
				job, timedOut := w.State.Record.Hooks[0].Job, tc.state == api.HookTimedOut
				if !tc.turnBack && strings.Contains(first.Hold.Remedy, "logs -n shop job/"+job+")") == timedOut {
					t.Errorf("to look at pods that are there, and at no others, the remedy is %q", first.Hold.Remedy)
				}
				if timedOut && !strings.Contains(first.Hold.Remedy, "describe job -n shop "+job+";") {
					t.Errorf("to look at what is kept the remedy is %q", first.Hold.Remedy)
				}
				w.ends = well
				if again := w.run(); !cmp.Equal(again, first) {
					t.Errorf("by itself it comes to %+v", again.Hold)
				}
				if tc.turnBack { // a pause confirms that it may continue
					w.State.Spec.Mode = api.ModePause
					w.run()
					w.State.Spec.Mode = api.ModeRun
				}
				w.answer(do)
				if decision := w.run(); decision.Done != api.ReasonMoved {
					t.Fatalf("then %+v", decision.Hold)
				}
				want := []string{"leave 0 on the source, Forward", "leave 0 on the source, Forward", "stop 0", "start 0"}
				if do == api.HookSkip {
					want = want[1:]
				}
				if diff := cmp.Diff(want, w.log); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

// TestHookThatMayFail: with Continue the migration continues, and reports the failure.
func TestHookThatMayFail(t *testing.T) {
	join := hook("finish", api.HookAfterMigration)
	join.OnFailure = api.HookFailureContinue
	w := newHooked(1, join)
	w.ends = func(plan.HookTurn) api.HookState { return api.HookFailed }
	if decision := w.run(); decision.Done != api.ReasonMoved {
		t.Fatalf("got %+v", decision.Hold)
	}
	if runs := w.State.Record.Hooks; len(runs) != 1 || runs[0].State != api.HookFailed {
		t.Errorf("got %+v", runs)
	}
}

// TestHookWhoseJobIsGone: a Job that is deleted after its end was recorded does not run again. A Job that was
// deleted before may have done its work, so only a user can run it again.
func TestHookWhoseJobIsGone(t *testing.T) {
	w := newHooked(1, hook("leave", api.HookBeforeOrdinal))
	w.ends = func(plan.HookTurn) api.HookState { return "" }
	w.run()
	name := w.State.Record.Hooks[0].Job
	w.RemoveHook(name)
	decision := w.run()
	if decision.Hold == nil || decision.Hold.Reason != api.ReasonHookFailed || !strings.Contains(decision.Hold.Message, "is unknown") || len(w.log) != 1 {
		t.Fatalf("got %+v after %q", decision.Hold, w.log)
	}
	w.answer(api.HookRetry)
	w.ends = well
	if decision := w.run(); decision.Done != api.ReasonMoved || len(w.State.HookJobs.List) != 2 {
		t.Errorf("then %+v", decision)
	}
}

// TestHookThatCannotBeRun: a rejected pod, a foreign Job, an unreadable Job, and a Job that does not end in time
// each hold with their reason. A user can continue without the hook.
func TestHookThatCannotBeRun(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.HookJob)
		reason string
		stalls bool
	}{
		"its pod is refused":   {func(j *plan.HookJob) { j.Refused = "exceeded quota" }, api.ReasonHookRefused, true},
		"of somebody else":     {func(j *plan.HookJob) { j.Ours = false }, api.ReasonHookRefused, true},
		"it cannot be read":    {func(j *plan.HookJob) { j.Presence, j.Trouble = plan.Unreachable, "no" }, api.ReasonHookRunning, false},
		"a right is missing":   {func(j *plan.HookJob) { j.Presence, j.LacksRight = plan.Unreachable, true }, api.ReasonPermissionMissing, true},
		"it is not ended":      {func(j *plan.HookJob) { j.Since = j.Since.Add(-12 * time.Minute) }, api.ReasonHookTimedOut, true},
		"it runs, not so long": {func(j *plan.HookJob) { j.Since = j.Since.Add(-10 * time.Minute) }, api.ReasonHookRunning, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHooked(1, hook("leave", api.HookBeforeOrdinal))
			w.ends = func(plan.HookTurn) api.HookState { return "" }
			w.run()
			tc.change(&w.State.HookJobs.List[0])
			w.State.Record.Hooks[0].LastTransitionTime = metav1.NewTime(w.State.HookJobs.List[0].Since)
			decision := w.run()
			if decision.Hold == nil || decision.Hold.Reason != tc.reason || decision.Hold.Stalled != tc.stalls || decision.Wait == 0 && tc.reason != api.ReasonPermissionMissing {
				t.Fatalf("got %+v, wait %s", decision.Hold, decision.Wait)
			}
			w.answer(api.HookSkip)
			if decision := w.run(); decision.Done != api.ReasonMoved {
				t.Errorf("without it: %+v", decision.Hold)
			}
		})
	}
	unfit := hook("leave", api.HookBeforeOrdinal)
	unfit.Job.Spec.Suspend = new(true)
	s := newHooked(1, unfit)
	if decision := s.run(); decision.Hold == nil || decision.Hold.Reason != api.ReasonHookInvalid || len(s.log) != 0 {
		t.Errorf("one that never ends: %+v", decision)
	}
	s = newHooked(1, hook("leave", api.HookBeforeOrdinal))
	s.State.HookJobs.All = false
	if decision := s.run(); decision.Hold == nil || decision.Hold.Reason != api.ReasonHookRunning || len(s.log) != 0 {
		t.Errorf("a Job that was not looked for was made: %+v", decision)
	}
}

// TestHookOfOrdinalThatIsDown: an ordinal that is down at its giver moves back without its hooks (I8).
func TestHookOfOrdinalThatIsDown(t *testing.T) {
	w := newHooked(2, hook("leave", api.HookBeforeOrdinal), hook("join", api.HookAfterOrdinal))
	w.ends = func(turn plan.HookTurn) api.HookState {
		if turn.Hook.Name == "join" {
			return ""
		}
		return api.HookSucceeded
	}
	w.run()
	w.log = nil
	pod, _ := w.State.Destination.Pod(1)
	pod.Ready = false
	w.State.Destination.SetPod(pod)
	w.sick = plan.DestinationSide
	w.State.Spec.Mode = api.ModeRollback
	w.run()
	want := []string{"stop 1", "start 1", "join 1 on the source, Back"}
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestPausedHooks: in a pause no hook runs, and a hook that has run does not run again after it.
func TestPausedHooks(t *testing.T) {
	w := newHooked(2, hook("leave", api.HookBeforeOrdinal))
	for len(w.log) == 0 {
		w.step()
	}
	w.State.Spec.Mode = api.ModePause
	if decision := w.run(); decision.Hold == nil || decision.Hold.Reason != api.ReasonPaused {
		t.Fatalf("got %+v", decision.Hold)
	}
	w.State.Spec.Mode = api.ModeRun
	if decision := w.run(); decision.Done != api.ReasonMoved || len(w.log) != 6 {
		t.Errorf("got %+v after %q", decision.Hold, w.log)
	}
}
