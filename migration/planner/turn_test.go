package planner_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// turning is a migration with automatic rollbacks, in which a test writes spec.mode.
type turning struct {
	*hooked
	// turns counts the automatic writes of Rollback, and stops the ordinals that were stopped for the destination.
	turns, stops int
}

// newTurning has a hook that fails after each ordinal, at the destination.
func newTurning(t interface{ Fatalf(string, ...any) }, replicas int32) *turning {
	join := hook("join", api.HookAfterOrdinal)
	join.OnFailure = api.HookFailureRollback
	w := &turning{hooked: newHooked(replicas, join)}
	w.ends = func(turn plan.HookTurn) api.HookState {
		if turn.Direction == api.Forward {
			return api.HookFailed
		}
		return api.HookSucceeded
	}
	lawful := notDown(t)
	w.check = func(s plan.Snapshot, d plan.Decision) {
		lawful(s, d)
		if d.Effect == nil || d.Effect.Verb != plan.ScaleDown || d.Effect.Side != plan.SourceSide {
			return
		}
		if w.stops++; s.Record.AutomaticRollback != nil {
			t.Fatalf("%s, and nobody has paused it since it was turned back by itself", d.Effect)
		}
	}
	return w
}

// write acts like the engine: once the status has the reason, it writes mode Rollback.
func (w *turning) write(decision plan.Decision) {
	if hold := decision.Hold; hold != nil && hold.TurnBack {
		w.State.Spec.Mode, w.State.RollbackWritten = api.ModeRollback, true
		w.turns++
	}
}

// goOn continues until nothing is left to do, or the migration waits for a user.
func (w *turning) goOn() plan.Decision {
	for {
		decision := w.run()
		turns := w.turns
		if w.write(decision); w.turns == turns {
			return decision
		}
	}
}

// turnedOnce is a migration after one automatic rollback, with an ordinal at the destination.
func turnedOnce(t *testing.T) *turning {
	w := newTurning(t, 3)
	for w.turns == 0 {
		decision, _ := w.step()
		w.write(decision)
	}
	return w
}

// TestModeIsWrittenBack: after an automatic rollback, a write of mode Run stops the migration where it is, with a
// report, however often it is repeated.
func TestModeIsWrittenBack(t *testing.T) {
	w := turnedOnce(t)
	if turn := w.State.Record.AutomaticRollback; turn == nil || turn.By != "hook join" || turn.Reason != api.ReasonHookFailed || !strings.Contains(turn.Message, "web-2") {
		t.Fatalf("recorded: %+v", turn)
	}
	stops := w.stops
	for _, writer := range []string{"kustomize-controller", ""} {
		w.State.Spec.Mode, w.State.ModeWriter = api.ModeRun, writer
		hold := w.goOn().Hold
		if hold == nil || hold.Reason != api.ReasonRollbackReverted || !hold.Stalled || hold.TurnBack || !strings.Contains(hold.Message, "hook join failed") || !strings.Contains(hold.Message, writer) {
			t.Fatalf("written back by %q: %+v", writer, hold)
		}
		for _, want := range []string{"mode: Rollback", "migrate pause web -n shop", "migrate resume web -n shop"} {
			if !strings.Contains(hold.Remedy, want) {
				t.Errorf("the remedy %q lacks %q", hold.Remedy, want)
			}
		}
	}
	if w.stops != stops || w.turns != 1 {
		t.Fatalf("%d turns, %q", w.turns, w.log)
	}
}

// TestModeIsWrittenBackAtTheEnd: with Rollback it completes the rollback. Mode Run does not restart it after that,
// before a pause.
func TestModeIsWrittenBackAtTheEnd(t *testing.T) {
	w := turnedOnce(t)
	ends := func(mode api.Mode, done, held string) {
		t.Helper()
		w.State.Spec.Mode = mode
		end, reason := w.goOn(), ""
		if end.Hold != nil {
			reason = end.Hold.Reason
		}
		if end.Done != done || reason != held {
			t.Fatalf("%s: it ends with %+v: %+v", mode, end, end.Hold)
		}
	}
	ends(api.ModeRun, "", api.ReasonRollbackReverted)
	ends(api.ModeRollback, api.ReasonRolledBack, "")
	ends(api.ModeRun, api.ReasonRolledBack, api.ReasonRollbackReverted)
	ends(api.ModePause, api.ReasonRolledBack, "")
	if w.State.Record.AutomaticRollback != nil {
		t.Fatal("a pause does not let it go on")
	}
	w.State.RollbackWritten, w.ends = false, well
	ends(api.ModeRun, api.ReasonMoved, "")
}

// TestTurnsBackOnce: there is one automatic rollback for each pause by a user, and only after that is another
// ordinal stopped for the destination. An ordinal that is down starts, and its rollback completes. This holds
// however often, by whichever writer and when spec.mode is set to Run, and whichever process dies between two
// writes (I6, I7, I8).
func TestTurnsBackOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTurning(t, 3)
		allowed := 1
		for range 150 {
			decision, goes := w.step()
			if !goes && rapid.IntRange(0, 2).Draw(t, "the process lives") > 0 {
				w.write(decision)
			}
			switch rapid.IntRange(0, 25).Draw(t, "upset") {
			case 0, 1, 2:
				w.State.Spec.Mode = api.ModeRun
			case 3:
				w.State.Spec.Mode = api.ModeRollback
			case 4:
				w.State.Spec.Mode = api.ModePause
				w.step()
				allowed++
			case 5:
				w.State.Engaged = false
				w.State.Holder += "x"
			}
			if w.State.Record.Fence != nil && w.State.Record.Fence.Holder == w.State.Holder {
				w.State.Engaged = true
			}
			if w.State.Record.AutomaticRollback == nil {
				w.State.RollbackWritten = false
			}
			if w.turns > allowed {
				t.Fatalf("it is turned back %d times, of %d: %q", w.turns, allowed, w.log)
			}
		}
		w.State.Spec.Mode = api.ModeRollback
		for range 500 {
			decision, _ := w.step()
			w.State.Engaged = w.State.Record.Fence != nil && w.State.Record.Fence.Holder == w.State.Holder
			if decision.Done != "" {
				return
			}
		}
		t.Fatalf("its way back has no end: %q", w.log)
	})
}
