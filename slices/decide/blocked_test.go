package decide

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

const missingInput = "ConfigMap web does not exist: create it"

// lacksInput blocks the roll-out.
func lacksInput(in *Input) { in.Revisions.Blocked = missingInput }

// TestRevisionInputsBlocked: while an input is missing, no pod is updated, and lost pods are recreated at revisions whose inputs
// exist.
func TestRevisionInputsBlocked(t *testing.T) {
	former := func(in *Input) { in.Revisions = Revisions{Current: "a", Update: "a", Blocked: missingInput} }
	asked := func(in *Input) { in.Spec.Strategy = api.Recreate }
	check(t, []row{
		{name: "no pod is updated", in: slice(3, "a a a", lacksInput), want: "", held: map[int32]string{0: HeldInput, 1: HeldInput, 2: HeldInput}},
		{name: "in mid-roll-out", in: slice(3, "a a b", lacksInput), want: "", held: map[int32]string{0: HeldInput, 1: HeldInput}},
		{name: "a broken pod of the former revision", in: slice(3, "a a- b", lacksInput), want: "", held: map[int32]string{0: HeldInput, 1: HeldInput}},
		{name: "before any pod has the new revision", in: slice(3, "a a a", former), want: ""},
		{name: "a lost pod", in: slice(3, "a . a", former), want: "Create 1a"},
		{name: "a lost pod in mid-roll-out", in: slice(3, "a a .", lacksInput), want: "Create 2b", held: map[int32]string{0: HeldInput, 1: HeldInput}},
		{name: "below the partition", in: slice(3, ". a b", lacksInput, partition(2)), want: "Create 0a"},
		{name: "Recreate does not stay down", in: slice(3, "a . a", lacksInput, asked), want: "Create 1a", held: map[int32]string{0: HeldInput, 2: HeldInput}},
		{name: "a scale-down", in: slice(2, "a a a", former), want: "Delete 2"},
		{name: "a specified deletion", in: slice(3, "a a* a", former), want: "Delete 1"},
	})
	if held := Decide(slice(2, "a a", lacksInput)).Held; held[0].Message != missingInput {
		t.Errorf("held %+v", held)
	}
}

// TestRevisionInputsDeadline: a missing input fails the roll-out after the deadline, which counts from the time at which it was
// missing. It is not rolled back, because no pod has the revision.
func TestRevisionInputsDeadline(t *testing.T) {
	late := func(since time.Duration, p Progress) func(*Input) {
		return func(in *Input) {
			in.Spec.Deadline, in.Spec.OnFailure = time.Minute, api.Rollback
			p.Since = noon.Add(-since)
			in.Progress = p
		}
	}
	for name, tc := range map[string]struct {
		change func(*Input)
		failed bool
		wait   time.Duration
	}{
		"it is missing now":         {late(time.Hour, Progress{Revision: "b", Complete: true}), false, time.Minute},
		"a pod was late before":     {late(time.Hour, Progress{Revision: "b", Late: true}), false, time.Minute},
		"it is missing for a while": {late(40*time.Second, Progress{Revision: "b", Blocked: true}), false, 20 * time.Second},
		"it is missing for long":    {late(time.Minute, Progress{Revision: "b", Blocked: true}), true, 0},
		"without a deadline": {func(in *Input) {
			late(time.Hour, Progress{Revision: "b", Blocked: true})(in)
			in.Spec.Deadline = 0
		}, false, 0},
	} {
		d := Decide(slice(2, "a b", lacksInput, tc.change))
		if d.Progress.Failed != tc.failed || !d.Progress.Blocked || d.Wait != tc.wait || d.FailedRevision != "" || d.Complete {
			t.Errorf("%s: %+v, wait %s, failed revision %q, complete %t", name, d.Progress, d.Wait, d.FailedRevision, d.Complete)
		}
		if r := d.Readiness; r.Ready || r.Waiting || r.Reason != api.ReasonRevisionInput || !strings.Contains(r.Message, missingInput) {
			t.Errorf("%s: %+v", name, r)
		}
		if tc.failed && d.Progress.Message != missingInput {
			t.Errorf("%s: message %q", name, d.Progress.Message)
		}
	}
	next := Decide(slice(2, "a b", late(time.Hour, Progress{Revision: "b", Blocked: true}), func(in *Input) { in.Spec.Deadline = 2 * time.Hour }))
	if p := next.Progress; p.Blocked || p.Failed || p.Since != noon {
		t.Errorf("it exists again: %+v", p)
	}
}

// TestRevisionInputsRolledBack: a revision that has failed is rolled back, unless the former revision lacks its inputs.
func TestRevisionInputsRolledBack(t *testing.T) {
	in := slice(3, "a a b-", failedBefore)
	in.Pods[2].Change = Change{Blocker: "spec"}
	for i := range 2 {
		in.Pods[i].Change = Change{Same: true}
	}
	if d := Decide(in); short(d) != "Delete 2" {
		t.Errorf("%s; held %+v", short(d), d.Held)
	}
	lacksInput(&in)
	d := Decide(in)
	if short(d) != "" || heldAs(d, 2) != HeldInput || !d.Progress.Failed || d.Progress.Blocked || d.Readiness.Reason != api.ReasonRevisionFailed {
		t.Errorf("%s; held %+v; %+v; %+v", short(d), d.Held, d.Progress, d.Readiness)
	}
}
