package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// nth makes a report that calls do once, after the n-th write of that kind.
func nth(n int, verb migration.Verb, do func() error) report {
	return func(_ *api.Migration, outcome migration.Outcome) error {
		if !outcome.Wrote || outcome.Decision.Effect.Verb != verb {
			return nil
		}
		if n--; n != 0 {
			return nil
		}
		return do()
	}
}

// TestRollback turns round when one ordinal has arrived and the next one is stopped.
func TestRollback(t *testing.T) {
	t.Parallel()
	v := deploy(t, usual())
	v.watch()
	mover := v.mover()
	v.drive(mover, nth(2, migration.ScaleDown, func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
	journals := v.expectBack()
	for i, runs := range []int{1, 2, 3} {
		if have := len(journals[i].Runs); have != runs {
			t.Errorf("%s ran %d times, want %d: %+v", journals[i].Pod, have, runs, journals[i].Runs)
		}
	}
	v.audit(journals, "turned round with one moved and one stopped")
}

// TestTermination: a pod has a preStop hook of 3 s and then goes on writing for 2 s. The
// destination waits for all of it.
func TestTermination(t *testing.T) {
	t.Parallel()
	v := deploy(t, app{replicas: 2, grace: 60, drain: "3s", linger: "2s"})
	v.watch()
	v.drive(v.mover())
	journals := v.expectMoved()
	want := []journal.Note{journal.Start, journal.Drain, journal.Drained, journal.Stop}
	for _, j := range journals {
		if diff := cmp.Diff(want, j.Runs[0].Notes); diff != "" {
			t.Errorf("%s was not left to end in peace at the source: %s", j.Pod, diff)
		}
	}
	v.audit(journals, "preStop 3 s, then 2 s to end")
}
