package planner

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestUnbelievable: a record that others may write is accepted if its source, clusters and budget match the
// observed ones (I4).
func TestUnbelievable(t *testing.T) {
	most := intstr.FromInt32(2)
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"as it was written":              {func(*plan.Snapshot) {}, ""},
		"no record":                      {func(s *plan.Snapshot) { s.Record.Baseline = nil; s.Source.ClusterID = "other" }, ""},
		"of another source":              {func(s *plan.Snapshot) { s.Source.ClusterID = "other" }, "it is of a source in the cluster whose namespace kube-system has the UID e"},
		"of another destination":         {func(s *plan.Snapshot) { s.Destination.ClusterID = "other" }, "it is of a destination in the cluster whose namespace kube-system has the UID w"},
		"of another set":                 {func(s *plan.Snapshot) { s.Source.Set.UID = "other" }, "it is of a StatefulSet with the UID s"},
		"its set is gone":                {func(s *plan.Snapshot) { s.Source.Set = plan.Set{Presence: plan.Absent} }, ""},
		"one more than without a budget": {func(s *plan.Snapshot) { s.Record.Baseline.Budget = 2 }, "it says that 2 replicas may be unavailable, and no more than 1 may"},
		"as much as was asked for":       {func(s *plan.Snapshot) { s.Record.Baseline.Budget, s.Spec.MaxUnavailable = 2, &most }, ""},
		"more than was asked for":        {func(s *plan.Snapshot) { s.Record.Baseline.Budget, s.Spec.MaxUnavailable = 3, &most }, "no more than 2 may"},
		"as much as a budget allows": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Source.Budgets = 2, budgetsOfForm(pdb.Unavailable(2))
		}, ""},
		"more than a budget allows": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Source.Budgets = 3, budgetsOfForm(pdb.Unavailable(2))
		}, "no more than 2 may"},
		"more than the destination's": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Destination.Budgets = 3, budgetsOfForm(pdb.Unavailable(2))
		}, "no more than 2 may"},
		"more than the smaller one": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Source.Budgets, s.Spec.MaxUnavailable = 3, budgetsOfForm(pdb.Unavailable(4)), &most
		}, "no more than 2 may"},
		"more than there are": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Source.Budgets = 6, budgetsOfForm(pdb.Unavailable(9))
		}, "no more than 5 may"},
		"the destination's still has the form before": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Source.Budgets, s.Destination.Budgets = 2, budgetsOfForm(pdb.Unavailable(2)), budgetsOfForm(pdb.Unavailable(1))
		}, ""},
		"a budget that cannot be read": {func(s *plan.Snapshot) {
			s.Source.Budgets = budgetsOfForm(pdb.Form{MaxUnavailable: pdbtest.Unparsable()})
		}, "budget"},
		"its budget is noted, and gone": {func(s *plan.Snapshot) {
			s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget = 2, &api.DisruptionBudget{Name: "web", MaxUnavailable: &most}
		}, "no more than 1 may"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plan.Snapshot{
				Source:      plan.Side{ClusterID: "e", Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, UID: "s", Name: "web", Replicas: 5}},
				Destination: plan.Side{ClusterID: "w", Reach: plan.Seen},
				Record:      plan.Record{Baseline: &api.Baseline{SourceCluster: "e", DestinationCluster: "w", SourceUID: "s", Replicas: 5, Budget: 1}},
			}
			tc.change(&s)
			if got := Unbelievable(s); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRecordable: without a record, and under an invalid budget, no replica may be unavailable (I4).
func TestRecordable(t *testing.T) {
	if n, err := recordable(plan.Snapshot{}); n != 0 || err != nil {
		t.Errorf("without a record: %d, %v", n, err)
	}
	s := plan.Snapshot{Record: plan.Record{Baseline: &api.Baseline{Replicas: 5}}, Source: plan.Side{Budgets: budgetsOfForm(pdb.Form{MaxUnavailable: pdbtest.Unparsable()})}}
	if n, err := recordable(s); n != 0 || err == nil {
		t.Errorf("under a budget that cannot be read: %d, %v", n, err)
	}
}

func budgetsOfForm(form pdb.Form) []plan.Budget { return []plan.Budget{{Name: "web", Form: form}} }
