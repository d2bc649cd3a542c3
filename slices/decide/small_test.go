package decide

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// hasReason gives a pod a termination reason, written now.
func hasReason(pod *Pod) { pod.Reason, pod.ReasonSince = api.TerminationScaleDown, noon }

// TestAsFarAsItIsHeld: an ordinal that is acted on or held is reported once. An ordinal in its desired state is not
// reported.
func TestAsFarAsItIsHeld(t *testing.T) {
	broken := func(p *Pod) { p.IdentityOK = false }
	check(t, []row{
		{
			name: "a pod that is mended is not said to be not Ready", in: slice(1, "b-", settledAt("b")).with(0, broken),
			want: "Repair 0", held: map[int32]string{0: ""},
		},
		{name: "a pod that keeps the current revision", in: slice(2, "a b", partition(1)), want: "", held: map[int32]string{0: "", 1: ""}},
		{name: "a pod that keeps another one", in: slice(2, "x b", partition(1)), want: "", held: map[int32]string{0: HeldPartition, 1: ""}},
		{
			name: "the one that goes is not said to wait", in: slice(1, "b b b", settledAt("b")),
			want: "Delete 2", held: map[int32]string{1: HeldScaleDown, 2: ""},
		},
		{
			name: "one that is asked to go waits for the budget alone", in: slice(3, "b- a* b"),
			want: "", held: map[int32]string{0: HeldNotReady, 1: HeldBudget},
		},
		{name: "in place, on its way out", in: slice(2, "b bit", settledAt("b")), want: "", held: map[int32]string{1: HeldTerminating}},
		{name: "in place, ended", in: slice(1, "b!i", settledAt("b")), want: "Delete 0", held: map[int32]string{0: ""}},
		{
			name: "a stand-in that has ended", in: slice(2, "b b b! b", settledAt("b"), surge(1)),
			want: "Delete 2, Delete 3", held: map[int32]string{2: "", 3: ""},
		},
	})
}

// TestEndedPods: a pod that has ended gets no termination reason and no label, and no hook delays its deletion.
func TestEndedPods(t *testing.T) {
	growing := func(p *Pod) { p.Growth.State = ToGrow }
	duplicate := func(p *Pod) { p.SameAs = "a" }
	preDelete := func(p *Pod) { p.HeldForDelete = true }
	again := func(in *Input) {
		in.Failures = []Failure{{Revision: "b", UID: "former", At: noon.Add(-time.Second), Count: 9}}
	}
	check(t, []row{
		{name: "no hook holds it back", in: slice(1, "b!", settledAt("b")).with(0, preDelete), want: "Delete 0"},
		{name: "nothing is taken back", in: slice(1, "b!", settledAt("b"), again).with(0, hasReason), want: "", held: map[int32]string{0: HeldBackoff}},
		{name: "its claims do not grow yet", in: slice(1, "b!", settledAt("b"), again).with(0, growing), want: "", held: map[int32]string{0: HeldBackoff}},
		{name: "it gets no other label", in: slice(1, "b- d!", settledAt("b")).with(1, duplicate), want: "", held: map[int32]string{1: HeldScaleDown}},
	})
}

// TestFailuresCount: the delay grows with the number of consecutive failures of an ordinal, up to 5 minutes. Each pod counts
// once, for 10 minutes.
func TestFailuresCount(t *testing.T) {
	for count, want := range map[int32]time.Duration{
		1: time.Second, 2: 2 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 11: 5 * time.Minute,
	} {
		if got := (Failure{Count: count}).backoff(); got != want {
			t.Errorf("after %d: %s, want %s", count, got, want)
		}
	}
	for name, tc := range map[string]struct {
		failure Failure
		want    int32
	}{
		"of 10 minutes ago":             {Failure{Revision: "b", UID: "former", At: noon.Add(-10 * time.Minute), Count: 9}, 10},
		"of longer ago":                 {Failure{Revision: "b", UID: "former", At: noon.Add(-10*time.Minute - 1), Count: 9}, 1},
		"it was to be deleted already":  {Failure{Revision: "b", UID: "uid-0", At: noon.Add(-time.Hour / 10), Count: 1}, 1},
		"the one before it, of an hour": {Failure{Revision: "b", UID: "former", At: noon.Add(-time.Hour), Count: 1}, 1},
	} {
		in := slice(1, "b!", settledAt("b"))
		in.Failures = []Failure{tc.failure}
		if d := Decide(in); len(d.Failures) != 1 || d.Failures[0].Count != tc.want || short(d) != "Delete 0" {
			t.Errorf("%s: %q, %+v, want %d", name, short(d), d.Failures, tc.want)
		}
	}
}

// TestScalesByItsRules: which surge pods are created, which pods are waited for, and which are deleted when the slice is
// scaled.
func TestScalesByItsRules(t *testing.T) {
	broken := func(p *Pod) { p.IdentityOK = false }
	settled := settledAt("b")
	recreating, migrating := by(api.Recreate), func(in *Input) { in.Spec.Migrating = true }
	scale := func(n int32) func(*Input) { return func(in *Input) { in.Spec.ScaleMaxUnavailable = n } }
	check(t, []row{
		{name: "the identity of a pod that goes is left as it is", in: slice(1, "b b", settled).with(1, broken), want: "Delete 1"},
		{name: "none stands in while the budget lets a pod go that is asked to", in: slice(3, "b b* b", settled, surge(1)), want: "Delete 1"},
		{name: "nor for one that the slice does not own", in: slice(2, "b b . b*", settled, unavailable(0), surge(1)), want: "Delete 3"},
		{name: "nor for one that is on its way out", in: slice(3, "b b*t b", settled, unavailable(0), surge(1), parallel), want: ""},
		{name: "a stand-in that is asked to go", in: slice(2, "a a b*", surge(1)), want: "Delete 2, Delete 1"},
		{
			name: "beside a migration only the first ordinal is not waited for", in: slice(3, "b b- .", settled, migrating),
			want: "", held: map[int32]string{2: HeldPredecessor},
		},
		{
			name: "scaleStrategy counts those that are not available", in: slice(4, "b- . . .", settled, parallel, scale(2)),
			want: "Create 1b", held: map[int32]string{2: HeldScaleStrategy, 3: HeldScaleStrategy},
		},
		{name: "scaleStrategy does not count the others", in: slice(4, "b b b .", settled, parallel, scale(1)), want: "Create 3b"},
		{name: "scaleStrategy does not count those that leave", in: slice(2, "b- . 5: b-", settled, parallel, scale(2)), want: "Create 1b", held: map[int32]string{5: HeldScaleDown}},
		{
			name: "scaleStrategy of 1", in: slice(3, "b- . .", settled, parallel, scale(1)),
			want: "", held: map[int32]string{1: HeldScaleStrategy, 2: HeldScaleStrategy},
		},
		{
			name: "what was told to a pod that waits to go is not taken back", in: slice(1, "b- b", settled).with(1, hasReason),
			want: "", held: map[int32]string{1: HeldScaleDown},
		},
		{
			name: "nor to a stand-in that waits", in: slice(2, "b b b b", settled, surge(1)).with(2, hasReason),
			want: "Delete 3", held: map[int32]string{2: HeldScaleDown},
		},
		{
			name: "a paused Recreate scales down in order", in: slice(1, "a a a", recreating, paused),
			want: "Delete 2", held: map[int32]string{1: HeldScaleDown},
		},
		{
			name: "so do the new pods of one that runs", in: slice(1, "a b b", recreating),
			want: "Delete 2, Delete 0", held: map[int32]string{1: HeldScaleDown},
		},
		{name: "a paused set ends its stand-ins when nothing is left", in: slice(3, "b b b b", unavailable(0), surge(1), paused), want: "Delete 3"},
		{name: "in Parallel they wait for nobody further up", in: slice(2, "b b b b", settled, surge(1), parallel), want: "Delete 3, Delete 2"},
		{
			name: "in order they wait for ordinal 0 as well", in: slice(1, "0: b b b", from(1), settled, surge(1)),
			want: "Delete 0", held: map[int32]string{2: HeldScaleDown},
		},
		{
			name: "all of them wait", in: slice(2, "b b b b b", settled, surge(2)),
			want: "Delete 4", held: map[int32]string{2: HeldScaleDown, 3: HeldScaleDown},
		},
	})
}

// TestWhoIsWaitedFor: a held ordinal names the lowest ordinal that it waits for.
func TestWhoIsWaitedFor(t *testing.T) {
	settled := settledAt("b")
	for name, tc := range map[string]struct {
		in      Input
		ordinal int32
		want    string
	}{
		"a pod is made":            {slice(4, "b b- b- .", settled), 3, "it is created when ordinal 1 is available"},
		"a pod is scaled away":     {slice(3, "b b- b- b", settled), 3, "it is deleted when ordinal 1 is available"},
		"a missing one":            {slice(3, "b . b- b", settled), 3, "it is deleted when ordinal 1 is available"},
		"one below a missing one":  {slice(3, "b- . b b", settled), 3, "it is deleted when ordinal 0 is available"},
		"the first one is missing": {slice(3, ". b- b b", settled), 3, "it is deleted when ordinal 0 is available"},
		"the next one":             {slice(1, "b b b", settled), 1, "it is deleted after ordinal 2"},
		"a stand-in":               {slice(2, "b b b b", settled, surge(1)), 2, "it is deleted after ordinal 3"},
		"a pod asked to go":        {slice(2, "b- b*", settled), 1, "it waits until fewer than maxUnavailable (1) pods are unavailable"},
		"one below it, and more":   {slice(4, "b- b- . .", settled), 3, "it is created when ordinal 0 is available"},
	} {
		var got []string
		for _, h := range Decide(tc.in).Held {
			if h.Ordinal == tc.ordinal {
				got = append(got, h.Message)
			}
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestOfOnePod: an action or hold concerns only its own pod. A Terminating pod costs no budget.
func TestOfOnePod(t *testing.T) {
	d := newDecider(slice(1, "b b bt"))
	d.act(Delete, d.at[1], "b", "")
	for ordinal, want := range map[int32]bool{0: false, 1: true, 2: false} {
		if got := d.deletes(d.at[ordinal]); got != want {
			t.Errorf("ordinal %d is deleted: %t", ordinal, got)
		}
	}
	for ordinal, want := range map[int32]bool{0: false, 2: true} {
		if got := d.free(d.at[ordinal]); got != want {
			t.Errorf("ordinal %d is free: %t", ordinal, got)
		}
	}
}

// TestUpdatesByItsRules: which pods are deleted on request, relabelled, grown or updated, in combination with other pods.
func TestUpdatesByItsRules(t *testing.T) {
	recreating, settled := by(api.Recreate), settledAt("b")
	growing := func(p *Pod) { p.Growth.State = ToGrow }
	blocked := func(p *Pod) {
		p.Change = Change{Blocker: "spec"}
		p.InPlace = &InPlace{Revision: "x", Since: noon, Done: true}
	}
	begun := func(p *Pod) {
		possible(p)
		p.Ready, p.InPlace = false, &InPlace{Revision: "b", Since: noon}
	}
	mixed := func(in *Input) { in.Spec.Policy, in.Spec.InPlaceGrace = api.InPlaceIfPossible, 10*time.Second }
	only := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	check(t, []row{
		{name: "asked to go while Recreate is paused", in: slice(2, "a a*", recreating, paused), want: "Delete 1"},
		{name: "asked to go, and Recreate has nothing to do with it", in: slice(2, "b b*", recreating, settled), want: "Delete 1"},
		{name: "asked to go beside one that goes with all others", in: slice(2, "b* a*", recreating), want: "Delete 0, Delete 1"},
		{name: "asked to go, and outside of the range", in: slice(2, "b b b*", settled), want: "Delete 2"},
		{name: "one that goes is not relabelled", in: slice(2, "b c*").with(1, same), want: "Delete 1"},
		{name: "nor one below the partition", in: slice(2, "c b", partition(1)).with(0, same), want: ""},
		{name: "no claims grow below the partition", in: slice(2, "b b", partition(1)).with(0, growing), want: ""},
		{
			name: "nor while the update is taken back", in: slice(2, "a b-", since(time.Hour, Progress{Updated: 1, Late: true})).with(1, growing),
			want: "", held: map[int32]string{0: HeldRollback},
		},
		{
			name: "in place, which is impossible now", in: slice(1, "a", only).with(0, blocked),
			want: "FinishInPlace 0", held: map[int32]string{0: HeldInPlaceOnly},
		},
		{
			name: "one in place below one that is through", in: slice(3, "a a b", mixed, unavailable(2)).with(1, begun),
			want: "", held: map[int32]string{0: HeldBatch, 1: HeldInPlaceGrace},
		},
	})
}

// TestLooksAgain: the passing of time matters only for Ready pods that stay and are not updated in place, and for pods in
// the grace period before a patch.
func TestLooksAgain(t *testing.T) {
	mixed := func(in *Input) { in.Spec.Policy, in.Spec.InPlaceGrace = api.InPlaceIfPossible, 10*time.Second }
	begun := func(p *Pod) {
		possible(p)
		p.Ready, p.InPlace = false, &InPlace{Revision: "b", Since: noon.Add(-time.Second)}
	}
	patched := func(p *Pod) { p.InPlace = &InPlace{Revision: "b", Patched: true} }
	settled := settledAt("b")
	for name, tc := range map[string]struct {
		in   Input
		want time.Duration
	}{
		"it is Ready":            {slice(1, "b3", settled, minReady(5)), 2 * time.Second},
		"it is on its way out":   {slice(1, "b3t", settled, minReady(5)), 0},
		"it is not Ready":        {slice(1, "b3-", settled, minReady(5)), 0},
		"it is in place":         {slice(1, "b3", settled, minReady(5)).with(0, patched), 0},
		"it is about to be that": {slice(1, "a", mixed).with(0, begun), 9 * time.Second},
	} {
		if got := Decide(tc.in).Wait; got != tc.want {
			t.Errorf("%s: after %s, want %s", name, got, tc.want)
		}
	}
}
