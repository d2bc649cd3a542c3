package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestPodAvailable: a pod is available when its set controls it, it is not terminating, and it has been Ready for
// minReadySeconds (I4, I5).
func TestPodAvailable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Pod)
		want   bool
	}{
		"just long enough":    {func(*plan.Pod) {}, true},
		"longer":              {func(p *plan.Pod) { p.ReadySince = p.ReadySince.Add(-time.Hour) }, true},
		"not long enough":     {func(p *plan.Pod) { p.ReadySince = p.ReadySince.Add(1) }, false},
		"not Ready":           {func(p *plan.Pod) { p.Ready = false }, false},
		"on its way out":      {func(p *plan.Pod) { p.Terminating = true }, false},
		"it is somebody's":    {func(p *plan.Pod) { p.Owned = false }, false},
		"neither Ready nor":   {func(p *plan.Pod) { p.Ready, p.Terminating = false, true }, false},
		"nobody's, and going": {func(p *plan.Pod) { p.Owned, p.Terminating = false, true }, false},
	} {
		pod := plan.Pod{Ready: true, Owned: true, ReadySince: plantest.Epoch.Add(-time.Minute)}
		tc.change(&pod)
		if got := pod.Available(plantest.Epoch, time.Minute); got != tc.want {
			t.Errorf("%s: available %t", name, got)
		}
	}
}

// TestUnavailable: a replica is unavailable when its pod is missing, has not been available for long enough, or
// may be evicted at any moment (I5). A pod outside the slice does not count.
func TestUnavailable(t *testing.T) {
	three, five := int32(3), int32(5)
	pod := func(ordinal int32) plan.Pod {
		return plan.Pod{Ordinal: ordinal, Ready: true, ReadySince: plantest.Epoch.Add(-time.Minute), Owned: true}
	}
	young, unready := pod(4), pod(3)
	young.ReadySince, unready.Ready = plantest.Epoch.Add(-time.Second), false
	for name, tc := range map[string]struct {
		pods      []plan.Pod
		disrupted []string
		leaveOut  *int32
		want      []string
	}{
		"all are there":           {pods: []plan.Pod{pod(2), pod(3), pod(4), pod(5)}},
		"none is there":           {want: []string{"web-2", "web-3", "web-4", "web-5"}},
		"one is missing":          {pods: []plan.Pod{pod(2), pod(4), pod(5)}, want: []string{"web-3"}},
		"the last one is missing": {pods: []plan.Pod{pod(2), pod(3), pod(4)}, want: []string{"web-5"}},
		"others are there, too":   {pods: []plan.Pod{pod(0), pod(1), pod(2), pod(3), pod(4), pod(6)}, want: []string{"web-5"}},
		"one is not Ready":        {pods: []plan.Pod{pod(2), unready, pod(4), pod(5)}, want: []string{"web-3"}},
		"one is young":            {pods: []plan.Pod{pod(2), pod(3), young, pod(5)}, want: []string{"web-4"}},
		"one may be evicted":      {pods: []plan.Pod{pod(2), pod(3), pod(4), pod(5)}, disrupted: []string{"db-3", "web-4"}, want: []string{"web-4"}},
		"one is left out":         {pods: []plan.Pod{pod(2), unready, young, pod(5)}, leaveOut: &three, want: []string{"web-4"}},
		"a good one is left out":  {pods: []plan.Pod{pod(2), unready, pod(4), pod(5)}, leaveOut: &five, want: []string{"web-3"}},
	} {
		side := plan.Side{Set: plan.Set{Name: "web", Start: 2, Replicas: 4, MinReady: 10 * time.Second}, Pods: tc.pods, Budgets: []plan.Budget{{}, {Disrupted: tc.disrupted}}}
		if diff := cmp.Diff(tc.want, plan.PodNames(side, plan.Down(plan.Snapshot{Now: plantest.Epoch}, side), tc.leaveOut)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestFindingHolds: a finding during the move holds until it is fixed (I6).
func TestFindingHolds(t *testing.T) {
	want := &plan.Hold{Reason: "Found", Message: "it was found", Remedy: "mend it", Stalled: true}
	if diff := cmp.Diff(want, plan.Finding{Reason: "Found", Object: "web", Message: "it was found", Remedy: "mend it"}.Hold()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAvailableOfASlice: a pod counts when the slice owns its ordinal and it has been Ready long enough.
func TestAvailableOfASlice(t *testing.T) {
	pod := func(ordinal int32, since time.Duration) plan.Pod {
		return plan.Pod{Ordinal: ordinal, Ready: true, Owned: true, ReadySince: plantest.Epoch.Add(-since)}
	}
	side := plan.Side{Set: plantest.OfRange(2, 3), Pods: []plan.Pod{pod(1, time.Hour), pod(2, time.Hour), pod(3, time.Second), pod(4, time.Hour)}}
	side.Set.MinReady = 10 * time.Second
	if got := plan.Available(plantest.Epoch, side); got != 2 {
		t.Errorf("%d of 2 to 4 are available, want 2 and 4", got)
	}
	side.Pods[1].Owned, side.Pods[3].Owned, side.Pods[3].Orphan = false, false, true
	if got := plan.Available(plantest.Epoch, side); got != 1 {
		t.Errorf("%d of 2 to 4 are available, want 4, which nothing controls", got)
	}
}

// TestAllowedOfASlice: the allowance of a PodDisruptionBudget is reported once the migration has written it, and
// while it is valid. In one namespace it covers both slices.
func TestAllowedOfASlice(t *testing.T) {
	half, one := *pdbtest.MaxUnavailablePercent(50), *pdbtest.MaxUnavailable(1)
	written := func(form pdb.Form) []plan.Budget { return []plan.Budget{{Form: form, Fence: "m.1"}} }
	for name, tc := range map[string]struct {
		budgets []plan.Budget
		shared  bool
		want    int32
	}{
		"none":                      {nil, false, -1},
		"its author's":              {[]plan.Budget{{Form: one}}, false, -1},
		"this migration's":          {written(one), false, 1},
		"half of the slice":         {written(half), false, 1},
		"half of both":              {written(half), true, 3},
		"two of them":               {append(written(one), written(one)...), false, -1},
		"one that cannot be read":   {written(pdb.Form{MaxUnavailable: pdbtest.Unparsable()}), false, -1},
		"one that allows all of it": {written(*pdbtest.MinAvailable(0)), true, 6},
	} {
		s := plan.Snapshot{Spec: plan.Spec{SameNamespace: tc.shared}, Source: plan.Side{Set: plantest.OfRange(0, 4)}, Destination: plan.Side{Set: plantest.OfRange(4, 2), Budgets: tc.budgets}}
		want := &tc.want
		if tc.want < 0 {
			want = nil
		}
		if diff := cmp.Diff(want, plan.Allowed(s, s.Destination)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestAllowed: the status and the dry run report the allowance of a slice's budget.
func TestAllowed(t *testing.T) {
	s := plan.Snapshot{Source: plan.Side{Set: plan.Set{Replicas: 3}}}
	two := s
	two.Spec.SameNamespace = true
	two.Destination.Set.Replicas = 2
	for name, tc := range map[string]struct {
		s    plan.Snapshot
		b    *plan.Budget
		want *int32
	}{
		"none":              {s, nil, nil},
		"its author's":      {s, &plan.Budget{Form: pdb.Unavailable(1)}, nil},
		"a number":          {s, &plan.Budget{Form: pdb.Unavailable(1), Fence: "x.1"}, new(int32(1))},
		"what must stay":    {s, &plan.Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(2))},
		"of both slices":    {two, &plan.Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(4))},
		"of a smaller one":  {s, &plan.Budget{Form: pdb.Available(4), Fence: "x.1"}, new(int32(0))},
		"that is malformed": {s, &plan.Budget{Form: pdb.Form{MaxUnavailable: pdbtest.Unparsable()}, Fence: "x.1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			side := tc.s.Source
			side.Budgets = nil
			if tc.b != nil {
				side.Budgets = []plan.Budget{*tc.b}
			}
			if diff := cmp.Diff(tc.want, plan.Allowed(tc.s, side)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
