package decide

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// checkUnhealthy checks D6: a pod that may have been available at the current revision and is not Ready is taken down only
// while at most maxUnavailable pods, or the share of a migration, are unavailable.
func checkUnhealthy(t failer, in Input, d Decision) { //nolint:gocyclo // one condition after the other, each a line
	t.Helper()
	if in.Spec.Unhealthy == api.AlwaysAllow || in.Spec.Strategy == api.Recreate {
		return
	}
	f := newDecider(in)
	goes := func(a Action) bool {
		pod := f.at[a.Ordinal]
		leaves := a.Verb == BeginInPlace || a.Verb == Delete && (a.Reason == api.TerminationUpdate || a.Reason == api.TerminationDeletion)
		return leaves && f.ours[a.Ordinal] && !pod.Terminating && !ended(pod) && pod.InPlace == nil && !ready(pod) && !pod.NeverAvailable && f.current(pod)
	}
	if !slices.ContainsFunc(d.Actions, goes) {
		return
	}
	left := 0
	for _, pod := range f.pods {
		acted := slices.ContainsFunc(d.Actions, func(a Action) bool {
			return a.Ordinal == pod.Ordinal && (a.Verb == Delete || a.Verb == BeginInPlace)
		})
		left += int(one((f.ours[pod.Ordinal] || f.stands[pod.Ordinal]) && f.available(pod) && !acted))
	}
	if least := int(f.size) - int(in.Spec.MostUnavailable()); left < least {
		t.Fatalf("D6: %d are available, of at least %d, and one goes that was available and is not Ready: %s", left, least, short(d))
	}
}

// TestY2Unhealthy: D6 holds for any input.
func TestY2Unhealthy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		checkUnhealthy(t, in, Decide(in))
	})
}

// TestY2NotReadyIsNotBroken: a pod of the current revision that is not Ready is replaced at once if it was never available.
// Others are replaced while the budget has room, and Held reports what they wait for.
func TestY2NotReadyIsNotBroken(t *testing.T) {
	always := func(in *Input) { in.Spec.Unhealthy = api.AlwaysAllow }
	never := func(p *Pod) { p.NeverAvailable = true }
	alike := func(p *Pod) { p.SameAs = "a" }
	none := func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(int32) }
	held := func(ordinals ...int32) map[int32]string {
		all := map[int32]string{}
		for _, ordinal := range ordinals {
			all[ordinal] = HeldBudget
		}
		return all
	}
	check(t, []row{
		{name: "all of them", in: slice(5, "a- a- a- a- a-"), want: "", held: held(0, 1, 2, 3, 4)},
		{name: "all of them, in Parallel", in: slice(5, "a- a- a- a- a-", parallel), want: "", held: held(0, 1, 2, 3, 4)},
		{name: "all of them, and that is asked for", in: slice(3, "a- a- a-", always), want: "Delete 2, Delete 1, Delete 0"},
		{name: "one of them", in: slice(3, "a a- a"), want: "Delete 1", held: held(0, 2)},
		{name: "two of them, of one", in: slice(3, "a- a a-"), want: "", held: held(0, 1, 2)},
		{name: "two of them, of two", in: slice(4, "a- a a- a", unavailable(2)), want: "Delete 2, Delete 0", held: held(1, 3)},
		{name: "one of them, beside a migration that gives nothing", in: slice(3, "a a- a", none), want: "", held: held(0, 1, 2)},
		{name: "of another revision", in: slice(3, "x- a- a-"), want: "Delete 0", held: held(1, 2)},
		{name: "of a revision that means the same", in: slice(3, "a- d- a-").with(1, alike), want: "Relabel 1", held: held(0, 1, 2)},
		{name: "one was never available", in: slice(3, "a- a- a-").with(1, never), want: "Delete 1", held: held(0, 2)},
		{name: "asked to go", in: slice(3, "b-* b- b", settledAt("b")), want: "", held: map[int32]string{0: HeldBudget, 1: HeldNotReady}},
	})
	for _, hold := range Decide(slice(2, "a- a-")).Held {
		if !strings.Contains(hold.Message, "maxUnavailable (1)") || !strings.Contains(hold.Message, "unhealthyPodEvictionPolicy: AlwaysAllow") {
			t.Errorf("ordinal %d: %s", hold.Ordinal, hold.Message)
		}
	}
}

// TestY2Served: the next pass knows each pod that is or may have been available.
func TestY2Served(t *testing.T) {
	never := func(p *Pod) { p.NeverAvailable = true }
	settled := settledAt("b")
	for name, tc := range map[string]struct {
		in   Input
		want []int32
	}{
		"it is available":         {slice(2, "b b", settled).with(0, never).with(1, never), []int32{0, 1}},
		"it is not Ready":         {slice(2, "b b-", settled).with(1, never), []int32{0}},
		"not for minReadySeconds": {slice(1, "b3", settled, minReady(5)).with(0, never), nil},
		"it is on its way out":    {slice(2, "b bt", settled).with(1, never), []int32{0}},
		"it may have been":        {slice(1, "b-", settled), []int32{0}},
	} {
		served, in := []int32(nil), tc.in
		known := Decide(in).Served
		for _, pod := range in.Pods {
			if known[pod.UID] {
				served = append(served, pod.Ordinal)
			}
		}
		if !slices.Equal(served, tc.want) {
			t.Errorf("%s: %v, want %v", name, served, tc.want)
		}
	}
}
