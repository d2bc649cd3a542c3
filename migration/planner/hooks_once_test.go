package planner_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestHooksRunOnce: no Job is started twice, none runs while an ordinal is down, and the migration completes. This
// holds whenever a Job ends, is deleted or is answered, seen or not, and however often the direction or the
// process changes (I6, I7, I8).
func TestHooksRunOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hooks := slices.Clone(allPoints)
		for i := range hooks {
			hooks[i].OnFailure = rapid.SampledFrom([]api.HookFailure{"", api.HookFailureContinue, api.HookFailureRollback}).Draw(t, "failure")
			hooks[i].OnRollback = rapid.SampledFrom([]api.HookRollback{"", api.HookRollbackSkip}).Draw(t, "rollback")
		}
		w := newHooked(int32(rapid.IntRange(1, 3).Draw(t, "replicas")), hooks...)
		made := map[string]bool{}
		once := func(turn plan.HookTurn, state api.HookState) api.HookState {
			if made[turn.Run.Job] {
				t.Fatalf("%s is started twice: %q", turn.Run.Job, w.log)
			}
			made[turn.Run.Job] = true
			return state
		}
		w.ends = func(turn plan.HookTurn) api.HookState {
			return once(turn, rapid.SampledFrom([]api.HookState{"", api.HookSucceeded, api.HookFailed, api.HookTimedOut}).Draw(t, "ends"))
		}
		w.check = notDown(t)
		upset := func() {
			for _, job := range slices.Clone(w.State.HookJobs.List) {
				if rapid.IntRange(0, 5).Draw(t, "removed") == 0 {
					w.RemoveHook(job.Name)
				}
			}
			switch rapid.IntRange(0, 30).Draw(t, "upset") {
			case 0:
				w.State.Spec.Mode = rapid.SampledFrom([]api.Mode{api.ModeRun, api.ModePause, api.ModeRollback}).Draw(t, "mode")
			case 1:
				w.State.Engaged = false
				w.State.Holder += "x"
			}
			if w.State.Record.Fence != nil && w.State.Record.Fence.Holder == w.State.Holder {
				w.State.Engaged = true
			}
		}
		for range 60 {
			w.step()
			upset()
			if turn, due := planner.DueHook(w.Snapshot()); due && rapid.IntRange(0, 3).Draw(t, "answers") == 0 {
				w.State.Spec.HookAnswer = &api.HookAnswer{Job: turn.Run.Job, Do: rapid.SampledFrom([]api.HookRemedy{api.HookRetry, api.HookSkip}).Draw(t, "do")}
			}
		}
		w.State.Spec.Mode = api.ModePause // confirms that it may continue after an automatic rollback
		w.step()
		w.State.Engaged, w.State.Spec.Mode = false, api.ModeRun
		w.State.Holder += "y"
		w.ends = func(turn plan.HookTurn) api.HookState { return once(turn, api.HookSucceeded) }
		for range 500 {
			decision, _ := w.step()
			if w.State.Record.Fence != nil && w.State.Record.Fence.Holder == w.State.Holder {
				w.State.Engaged = true
			}
			if decision.Done == api.ReasonMoved {
				return
			}
			w.answer(api.HookSkip)
		}
		t.Fatalf("it does not come to its end: %q", w.log)
	})
}
