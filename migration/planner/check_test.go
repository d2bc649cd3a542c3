package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// preflightCase changes the input of a part of the preflight, and holds its expected findings.
type preflightCase struct {
	change func(*plan.Snapshot)
	want   []string
}

func wantFindings(t *testing.T, cases map[string]preflightCase, look func(plan.Snapshot) []plan.Finding) {
	t.Helper()
	for name, tc := range cases {
		s := plantest.Unmoved()
		tc.change(&s)
		if diff := cmp.Diff(tc.want, plantest.ReasonsOf(look(s))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestSourceFindings: the source must be stable, must not be in deletion, and must have the ordinals to move.
func TestSourceFindings(t *testing.T) {
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":       {func(*plan.Snapshot) {}, nil},
		"it is being deleted":    {func(s *plan.Snapshot) { s.Source.Set.Terminating = true }, []string{api.ReasonSourceBeingDeleted}},
		"it has no replicas":     {func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }, []string{api.ReasonNothingToMove}},
		"it has one":             {func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }, nil},
		"all of it is to move":   {func(s *plan.Snapshot) { s.Spec.Count = 3 }, nil},
		"more are to move":       {func(s *plan.Snapshot) { s.Spec.Count = 4 }, []string{api.ReasonCountTooLarge}},
		"it is this migration's": {func(s *plan.Snapshot) { s.Source.Set.Fence = "migration.1" }, nil},
		"it is another one's":    {func(s *plan.Snapshot) { s.Source.Set.Fence = "another.1" }, []string{api.ReasonHeldByAnother}},
		"it deletes claims":      {func(s *plan.Snapshot) { s.Source.Set.DeletesClaims = true }, []string{api.ReasonClaimsDeletedOnScale}},
		"nobody looks after it":  {func(s *plan.Snapshot) { s.Source.Set.Observed = false }, []string{api.ReasonRolloutInProgress}},
		"nor after its roll-out": {func(s *plan.Snapshot) { s.Source.Set.Observed, s.Source.Set.RolledOut = false, false }, []string{api.ReasonRolloutInProgress}},
		"it is rolled out":       {func(s *plan.Snapshot) { s.Source.Set.RolledOut = false }, []string{api.ReasonRolloutInProgress}},
		"one pod is not Ready":   {func(s *plan.Snapshot) { s.Source.Pods[1].Ready = false }, []string{api.ReasonSourceNotHealthy}},
	}, Source)
}

// TestSingleFindings: checks that are also used during a move name the object and the fix.
func TestSingleFindings(t *testing.T) {
	s := plantest.Unmoved()
	s.Source.Set.DeletesClaims = true
	if finding := DeletesClaims(s.Source); finding == nil || finding.Object != s.Source.Object() || finding.Remedy == "" {
		t.Errorf("claims that are deleted: %+v", finding)
	}
	s.Source.Budgets = []plan.Budget{{Name: "a"}, {Name: "b"}}
	hold := SeveralBudgets(s.Source).Hold()
	if hold.Reason != api.ReasonSeveralBudgets || !hold.Stalled || !strings.Contains(hold.Message, ": a, b;") || !strings.HasSuffix(hold.Remedy, " b") {
		t.Errorf("several budgets: %+v", hold)
	}
}
