package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

// TestTermination: a pod has a preStop hook of 3 s and then continues to write for 2 s. The destination waits for all
// of it.
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
