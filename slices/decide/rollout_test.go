package decide

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestDeletionTakesNothingBack: a set in deletion does not roll back a failed roll-out.
func TestDeletionTakesNothingBack(t *testing.T) {
	for _, deleting := range []bool{false, true} {
		in := slice(2, "a b-", since(time.Hour, Progress{Updated: 1, Late: true, Failed: true}))
		in.Spec.Deleting = deleting
		if d := Decide(in); (d.FailedRevision == "") != deleting || !d.Progress.Failed {
			t.Errorf("deleting %t: %q is taken back, failed %t", deleting, d.FailedRevision, d.Progress.Failed)
		}
	}
}

// TestDeadlineOfThoseThatRoll: minReadySeconds are added to the deadline only while an updated pod is Ready and not
// available yet.
func TestDeadlineOfThoseThatRoll(t *testing.T) {
	for pods, want := range map[string]time.Duration{"a b5": 11 * time.Minute, "a5 b": 10 * time.Minute, "a b": 10 * time.Minute, "a b5t": 10 * time.Minute} {
		if got := (rollout{newDecider(slice(2, pods, minReady(60), since(0, Progress{})))}).deadline(); got != want {
			t.Errorf("%s: %s, want %s", pods, got, want)
		}
	}
}

// TestRolled: an updated pod is one that stays and has an equivalent revision. It counts for the revision only if it has its
// label.
func TestRolled(t *testing.T) {
	d := rollout{newDecider(slice(4, "b c bt a b", surge(1)).with(1, same))}
	for ordinal, want := range map[int32]bool{0: true, 1: true, 2: false, 3: false, 4: true} {
		if got := d.rolled(d.at[ordinal]); got != want {
			t.Errorf("ordinal %d is rolled out: %t", ordinal, got)
		}
	}
	if updated, isReady, available := d.got(); updated != 2 || isReady != 2 || available != 2 {
		t.Errorf("%d have it, %d are Ready, %d available", updated, isReady, available)
	}
}

// TestLacksPod: a missing pod counts against the roll-out, unless it gets another revision, or something else prevents its
// creation: in order, an unavailable pod below it; with scaleStrategy, any unavailable pod; with Recreate, an old pod; a
// claim that is being deleted.
func TestLacksPod(t *testing.T) {
	scale := func(in *Input) { in.Spec.Parallel, in.Spec.ScaleMaxUnavailable = true, 1 }
	stale := func(in *Input) { in.StaleClaims = []int32{1} }
	for name, tc := range map[string]struct {
		in   Input
		want bool
	}{
		"none":                             {slice(2, "a b"), false},
		"in order":                         {slice(2, "a ."), true},
		"the first one":                    {slice(2, ". a"), true},
		"in order, above one that is not":  {slice(2, "a- ."), false},
		"in order, below one that is not":  {slice(2, ". a-"), true},
		"at once":                          {slice(2, "a- .", parallel), true},
		"scaleStrategy":                    {slice(2, "a .", scale), true},
		"scaleStrategy, below one of them": {slice(2, ". a-", scale), false},
		"scaleStrategy, one that leaves":   {slice(2, "a . 5: a-", scale), true},
		"Recreate, an old one":             {slice(2, "a .", by(api.Recreate)), false},
		"Recreate, none":                   {slice(2, "b .", by(api.Recreate)), true},
		"below the partition":              {slice(2, ". b", partition(1)), false},
		"above one below the partition":    {slice(2, ". .", partition(1)), false},
		"above it, at once":                {slice(2, ". .", partition(1), parallel), true},
		"a stale claim":                    {slice(2, "a .", stale), false},
		"beside a stale claim":             {slice(3, ". . .", stale, parallel), true},
		"one that stands in":               {slice(2, "a a", surge(1)), true},
		"one that stands in below it":      {slice(2, "a a*", surge(1), unavailable(0), partition(9)), false},
		"none has to stand in":             {slice(2, "b b", surge(1)), false},
	} {
		if _, got := (rollout{newDecider(tc.in)}).lacksPod(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCurrentWithPartition: if all pods have the revision of the template, it becomes the current one, whatever the
// partition is. Without replicas, the partition keeps the current revision.
func TestCurrentWithPartition(t *testing.T) {
	for name, tc := range map[string]struct {
		in   Input
		want string
	}{
		"all have it":                  {slice(2, "b b", partition(1)), "b"},
		"one has not":                  {slice(2, "a b", partition(1)), "a"},
		"no replicas":                  {slice(0, "", partition(1)), "a"},
		"no replicas and no partition": {slice(0, ""), "b"},
		"Y4 it has failed":             {slice(2, "b b", failedBefore), "a"},
		"Y4 it has failed for none":    {slice(0, "", failedBefore), "a"},
	} {
		if got := Decide(tc.in).Status.CurrentRevision; got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNothingLeftToRollOut: a roll-out is complete when its revision is the current one, no remaining pod has another one,
// and each pod was available. Without a recorded roll-out, each pod must exist.
func TestNothingLeftToRollOut(t *testing.T) {
	driven := Progress{Revision: "b", Complete: true}
	for name, tc := range map[string]struct {
		pods, current string
		progress      Progress
		want          bool
	}{
		"all have it":                     {"b b", "b", driven, true},
		"one has not":                     {"a b", "b", driven, false},
		"one has not, and goes":           {"at b", "b", driven, true},
		"it is not the current one":       {"b b", "a", driven, false},
		"they were never available":       {"b b", "b", Progress{Revision: "b"}, false},
		"nobody looked, and all are here": {"b b-", "b", Progress{}, true},
		"nobody looked, and one goes":     {"b bt", "b", Progress{}, false},
		"nobody looked, and one is not":   {"b .", "b", Progress{}, false},
		"nobody looked, and another goes": {"b b bt", "b", Progress{}, true},
	} {
		d := rollout{newDecider(slice(2, tc.pods))}
		if got := d.complete(Status{CurrentRevision: tc.current}, tc.progress); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
