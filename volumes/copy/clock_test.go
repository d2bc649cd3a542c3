package copy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestPauses: a pause grows from the second failure on, up to an hour. If it began in the future, the clock was set back
// since, and nothing is left of it.
func TestPauses(t *testing.T) {
	for failures, want := range map[int32]time.Duration{0: 0, 1: 0, 2: time.Minute, 5: 8 * time.Minute, 40: time.Hour} {
		if got := growing(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := view{Handing: volumes.Handing{Copying: volumes.Copying{Now: now}}}
	for name, tc := range map[string]struct {
		since time.Time
		want  time.Duration
	}{
		"it begins":              {now, time.Minute},
		"a part of it is over":   {now.Add(-20 * time.Second), 40 * time.Second},
		"it is over":             {now.Add(-2 * time.Minute), 0},
		"nothing has failed":     {time.Time{}, 0},
		"a clock set back a bit": {now.Add(time.Second), 0},
		"a clock set back far":   {now.AddDate(400, 0, 0), 0},
	} {
		if got := v.left(time.Minute, tc.since); got != tc.want {
			t.Errorf("%s: %s is left, want %s", name, got, tc.want)
		}
	}
}

// jumps lets the clock of the process jump, in either direction.
func (w *world) jumps(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "jumps") == 0 {
		w.Now = w.Now.Add(time.Duration(rapid.IntRange(-48*60, 48*60).Draw(t, "minutes")) * time.Minute)
	}
}

// TestClockJumps: if the clock jumps at any moment, in either direction, the ordinal arrives on its data all the same (I3,
// I6). No two attempts have the same claims.
func TestClockJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		actions := w.actions()
		actions["the clock jumps"] = w.jumps
		t.Repeat(actions)
		w.heals(t)
	})
}

// TestClockJumpsInAProof: the same holds for a proof after the start. A disk that could not be read is read again soon
// after the clock was set back, and not only when it has caught up.
func TestClockJumpsInAProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newProofs()
		actions := w.events()
		actions["the clock jumps"] = w.jumps
		t.Repeat(actions)
		w.expectProven(t)
	})
	w := owing(t)
	w.owed.Seal.Proof.Tries, w.owed.Seal.Proof.Trouble, w.owed.Seal.Proof.TroubleTime = 1, "input/output error", metav1.NewTime(w.Now.Add(24*time.Hour))
	w.proceed(t, func() bool { return w.owed == nil })
}

// TestClockSetBackAfterWarmPass: the age of a warm pass that ended in the future is unknown, so another pass runs before
// the stop.
func TestClockSetBackAfterWarmPass(t *testing.T) {
	pair := until(t, ready).Pair()
	if got := ahead(pair, func(*volumes.Pair, *volumes.Copying) {}); !got.Done() {
		t.Fatalf("another pass is due although the clock runs: %+v", got)
	}
	got := ahead(pair, func(_ *volumes.Pair, c *volumes.Copying) { c.Now = c.Now.Add(-24 * time.Hour) })
	if a := got.Action; a == nil || a.Verb != volumes.DeleteMover || a.Copy.Role != volumes.RoleSender {
		t.Errorf("the sender of the last pass is not replaced by that of a warm pass: %+v", got)
	}
}
