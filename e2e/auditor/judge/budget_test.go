package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// budgetCase is one sample during which nothing changed.
type budgetCase struct {
	source, destination ReplicaSide
	served              map[int32]SideIndex
	blamed              map[int32]bool
	budget              int32
	want                BudgetVerdict
}

func (tc budgetCase) run(t *testing.T) {
	got := Budget(BudgetInput{
		Ordinals: []int32{0, 1, 2, 3, 4},
		First:    [2]ReplicaSide{tc.source, tc.destination},
		Second:   [2]ReplicaSide{tc.source, tc.destination},
		Served:   tc.served,
		Blamed:   tc.blamed,
		Budget:   tc.budget,
	})
	if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(BudgetVerdict{}, "Shares")); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// servedOn returns where ordinals 0 to 4 were available: 0 to 3 at the source, 4 on the given side.
func servedOn(last SideIndex) map[int32]SideIndex {
	return map[int32]SideIndex{0: Source, 1: Source, 2: Source, 3: Source, 4: last}
}

// TestJudgeBudgetHeld: the verdict counts the ordinals that the move holds down.
func TestJudgeBudgetHeld(t *testing.T) {
	notReady := PodState{Ordinal: 4, UID: "new", RV: "1"}
	cases := map[string]budgetCase{
		"before the move": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Source), budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
		"a handoff with both budgets shut": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 0, 0)).obj(),
			destination: makeSide(5, 0).budget(makeBudget("b", 0, 0)).obj(),
			served:      servedOn(Nowhere), budget: 1,
			want: BudgetVerdict{Held: []int32{4}},
		},
		"I4 staged: a handoff while an eviction is allowed": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Nowhere), budget: 1,
			want: BudgetVerdict{Held: []int32{4}, Allowed: 1, Broken: true},
		},
		"I4 staged: the budget is given back before the pod is Ready": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(4, 1).pods(notReady).budget(makeBudget("b", 0, 0)).obj(),
			served:      servedOn(Nowhere), budget: 1,
			want: BudgetVerdict{Held: []int32{4}, Allowed: 1, Broken: true},
		},
		"the pod was Ready since its handoff and broke by itself later": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(4, 1).pods(notReady).budget(makeBudget("b", 0, 0)).obj(),
			served:      servedOn(Destination), budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
		"a test broke the ordinal": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(4, 1).pods(notReady).obj(),
			served:      servedOn(Nowhere), blamed: map[int32]bool{4: true}, budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
		"the destination does not exist yet": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).obj(),
			destination: ReplicaSide{},
			served:      servedOn(Source), budget: 1,
			want: BudgetVerdict{},
		},
		"two ordinals in flight with d=2": {
			source:      makeSide(0, 3).ready(0, 1, 2).obj(),
			destination: makeSide(4, 1).pods(notReady).obj(),
			served:      map[int32]SideIndex{0: Source, 1: Source, 2: Source, 3: Nowhere, 4: Nowhere}, budget: 2,
			want: BudgetVerdict{Held: []int32{3, 4}},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// TestJudgeBudgetAllowed: the verdict counts the evictions that the budgets allow.
func TestJudgeBudgetAllowed(t *testing.T) {
	cases := map[string]budgetCase{
		"I4 staged: both sides allow one": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(4, 1).ready(4).budget(makeBudget("b", 1, 1)).obj(),
			served:      servedOn(Destination), budget: 1,
			want: BudgetVerdict{Allowed: 2, Broken: true},
		},
		"one budget over both sides counts once": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 1, 1)).obj(),
			destination: makeSide(4, 1).ready(4).budget(makeBudget("a", 1, 1)).obj(),
			served:      servedOn(Destination), budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
		"a budget over other pods does not count": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).budget(makeBudget("a", 1, 1), makeBudget("x", 3, 3).selecting("db")).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Source), budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
		"a shrink that the controller has not seen counts as it will": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).budget(makeBudget("a", 0, 1).unseen()).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Source), budget: 1,
			want: BudgetVerdict{},
		},
		"I4 staged: a growth that the controller has not seen counts as it will": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).budget(makeBudget("a", 2, 0).unseen()).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Source), budget: 1,
			want: BudgetVerdict{Allowed: 2, Broken: true},
		},
		"a percentage is rounded up": {
			source:      makeSide(0, 5).ready(0, 1, 2, 3, 4).budget(makeBudget("a", 0, 0).minAvailable("50%").unseen()).obj(),
			destination: makeSide(5, 0).obj(),
			served:      servedOn(Source), budget: 2,
			want: BudgetVerdict{Allowed: 2},
		},
		"minAvailable as a number counts both sides' pods of a shared budget": {
			source:      makeSide(0, 4).ready(0, 1, 2, 3).budget(makeBudget("a", 0, 0).minAvailable("4").unseen()).obj(),
			destination: makeSide(4, 1).ready(4).budget(makeBudget("a", 0, 0).minAvailable("4").unseen()).obj(),
			served:      servedOn(Destination), budget: 1,
			want: BudgetVerdict{Allowed: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// TestJudgeBudgetWhileItChanges: of a sample that shows a violation, an object that changed between the phases is not
// counted, and all others are.
func TestJudgeBudgetWhileItChanges(t *testing.T) {
	held := PodState{Ordinal: 1, UID: "new", RV: "1"}
	ending := PodState{Ordinal: 1, UID: "old", RV: "1", Terminating: true}
	rewritten := func(p PodState) PodState {
		p.RV = "2"
		return p
	}
	write := func(b DisruptionBudget) DisruptionBudget {
		b.RV = "2"
		return b
	}
	scaled := makeSide(0, 1).ready(0).budget(makeBudget("a", 1, 1))
	scaled.Set.Generation = 2
	open := makeSide(0, 1).ready(0).budget(makeBudget("a", 1, 1)).obj()
	cases := map[string]struct {
		first, second [2]ReplicaSide
		want          BudgetVerdict
	}{
		"nothing changed": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			second: [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			want:   BudgetVerdict{Held: []int32{1}, Allowed: 1, Broken: true},
		},
		"another pod was written": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			second: [2]ReplicaSide{makeSide(0, 1).pods(rewritten(readyPod(0, "pod-0"))).budget(makeBudget("a", 1, 1)).obj(), makeSide(1, 1).pods(held).obj()},
			want:   BudgetVerdict{Held: []int32{1}, Allowed: 1, Broken: true},
		},
		"the held pod was written, it may have been Ready": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			second: [2]ReplicaSide{open, makeSide(1, 1).pods(rewritten(held)).obj()},
			want:   BudgetVerdict{Allowed: 1},
		},
		"a Terminating pod was written, it cannot have been available": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(ending).obj()},
			second: [2]ReplicaSide{open, makeSide(1, 1).pods(rewritten(ending)).obj()},
			want:   BudgetVerdict{Held: []int32{1}, Allowed: 1, Broken: true},
		},
		"the budget was written": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			second: [2]ReplicaSide{makeSide(0, 1).ready(0).budget(write(makeBudget("a", 1, 1))).obj(), makeSide(1, 1).pods(held).obj()},
			want:   BudgetVerdict{Held: []int32{1}},
		},
		"a range was written": {
			first:  [2]ReplicaSide{open, makeSide(1, 1).pods(held).obj()},
			second: [2]ReplicaSide{scaled.obj(), makeSide(1, 1).pods(held).obj()},
			want:   BudgetVerdict{Allowed: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Budget(BudgetInput{
				Ordinals: []int32{0, 1}, First: tc.first, Second: tc.second,
				Served: map[int32]SideIndex{0: Source, 1: Nowhere}, Budget: 1,
			})
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(BudgetVerdict{}, "Shares")); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMostAvailable(t *testing.T) {
	waiting := PodState{Ordinal: 1, UID: "new", RV: "1"}
	started := PodState{Ordinal: 1, UID: "new", RV: "2", Ready: true}
	notAsked := makeSide(1, 1).obj()
	notAsked.Asked = nil
	cases := map[string]struct {
		first, second ReplicaSide
		want          int32
	}{
		"down":                {makeSide(1, 1).pods(waiting).obj(), makeSide(1, 1).pods(waiting).obj(), 1},
		"up":                  {makeSide(1, 1).pods(started).obj(), makeSide(1, 1).pods(started).obj(), 2},
		"not there":           {makeSide(1, 1).obj(), makeSide(1, 1).obj(), 1},
		"came up meanwhile":   {makeSide(1, 1).pods(waiting).obj(), makeSide(1, 1).pods(started).obj(), 2},
		"appeared meanwhile":  {makeSide(1, 1).obj(), makeSide(1, 1).pods(waiting).obj(), 2},
		"not read":            {notAsked, notAsked, 2},
		"went down meanwhile": {makeSide(1, 1).pods(started).obj(), makeSide(1, 1).obj(), 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stays := makeSide(0, 1).ready(0).obj()
			got := MostAvailable([]int32{0, 1}, [2]ReplicaSide{stays, tc.first}, [2]ReplicaSide{stays, tc.second})
			if got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	base := func() *sideWrapper { return makeSide(0, 2).ready(0, 1).budget(makeBudget("a", 1, 1)) }
	scaled := base()
	scaled.Set.Generation = 2
	restarted := base()
	restarted.Pods[1].RV = "2"
	evicted := base()
	evicted.Budgets[0].RV = "2"
	cases := map[string]struct {
		second *sideWrapper
		want   bool
	}{
		"the same":        {base(), true},
		"scaled":          {scaled, false},
		"a pod changed":   {restarted, false},
		"a budget status": {evicted, false},
		"one pod more":    {base().ready(2), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			first := [2]ReplicaSide{base().obj(), makeSide(2, 0).obj()}
			second := [2]ReplicaSide{tc.second.obj(), makeSide(2, 0).obj()}
			if got := Unchanged(first, second); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
