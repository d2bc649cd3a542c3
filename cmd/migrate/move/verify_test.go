package move

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestForgedRecords: a forged ConfigMap can move no other StatefulSet, into no other cluster, and not more replicas at
// once than the PodDisruptionBudgets allow (S6).
func TestForgedRecords(t *testing.T) {
	store := records.ConfigMap{Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		forge func(*api.Migration, *plan.Snapshot)
		want  string
	}{
		"as it was kept":                   {func(*api.Migration, *plan.Snapshot) {}, ""},
		"a budget that it has not used up": {func(_ *api.Migration, s *plan.Snapshot) { s.Source.Budgets[0].Form = pdb.Unavailable(3) }, ""},
		"of another set":                   {func(m *api.Migration, _ *plan.Snapshot) { m.Spec.Source.Name = "victim" }, "it is of StatefulSet shop/victim"},
		"of another namespace":             {func(m *api.Migration, _ *plan.Snapshot) { m.Spec.Source.Namespace = "bank" }, "it is of StatefulSet bank/web"},
		"its own namespace":                {func(m *api.Migration, _ *plan.Snapshot) { m.Spec.Source.Namespace = "shop" }, ""},
		"another UID":                      {func(m *api.Migration, _ *plan.Snapshot) { m.Status.Baseline.SourceUID = "x" }, "UID x"},
		"another source":                   {func(m *api.Migration, _ *plan.Snapshot) { m.Status.Baseline.SourceCluster = "x" }, "a source in the cluster"},
		"another destination":              {func(m *api.Migration, _ *plan.Snapshot) { m.Status.Baseline.DestinationCluster = "x" }, "a destination in the cluster"},
		"a large budget":                   {func(m *api.Migration, _ *plan.Snapshot) { m.Status.Baseline.Budget = 4 }, "it says that 4 replicas may be unavailable, and no more than 1 may"},
		"a large form": {func(m *api.Migration, _ *plan.Snapshot) {
			m.Status.Baseline.Budget, m.Status.Baseline.DisruptionBudget = 4, &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(4))}
		}, "no more than 1 may"},
		"a budget that is taken over": {func(m *api.Migration, s *plan.Snapshot) {
			m.Status.Baseline.Budget = 2
			s.Source.Budgets[0].Form, s.Source.Budgets[0].Author, s.Source.Budgets[0].Fence = pdb.Available(4), new(pdb.Unavailable(2)), "migration.1"
		}, ""},
		"more than it was taken over with": {func(m *api.Migration, s *plan.Snapshot) {
			m.Status.Baseline.Budget = 3
			s.Source.Budgets[0].Form, s.Source.Budgets[0].Author, s.Source.Budgets[0].Fence = pdb.Available(0), new(pdb.Unavailable(2)), "migration.1"
		}, "no more than 2 may"},
		"the destination's": {func(m *api.Migration, s *plan.Snapshot) {
			s.Destination.Budgets, s.Source.Budgets = s.Source.Budgets, nil
			m.Status.Baseline.Budget = 2
		}, "no more than 1 may"},
		"none":              {func(_ *api.Migration, s *plan.Snapshot) { s.Source.Budgets = nil }, ""},
		"more, without one": {func(m *api.Migration, s *plan.Snapshot) { s.Source.Budgets, m.Status.Baseline.Budget = nil, 2 }, "no more than 1 may"},
		"asked for with none": {func(m *api.Migration, s *plan.Snapshot) {
			s.Source.Budgets, m.Status.Baseline.Budget, s.Spec.MaxUnavailable = nil, 2, new(intstr.FromInt32(2))
		}, ""},
		"hostile replicas": {func(m *api.Migration, _ *plan.Snapshot) { m.Status.Baseline.Replicas = 1 << 30 }, "no application has those"},
	} {
		t.Run(name, func(t *testing.T) {
			s := movetest.Application{Replicas: 4}.Snapshot()
			s.Source.ClusterID, s.Destination.ClusterID = "cluster-east", "cluster-west"
			m := movetest.Moving(0, 4)
			m.Status.Baseline.SourceUID, m.Status.Baseline.SourceCluster, m.Status.Baseline.DestinationCluster = "source", "cluster-east", "cluster-west"
			tc.forge(m, &s)
			s.Record.Baseline = m.Status.Baseline
			err := verify(store, m, s)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || command.ExitCode(err) != command.ExitStalled {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{tc.want, "ConfigMap shop/sliceshift-web", "nothing has been changed", "kubectl --context east get configmap -n shop sliceshift-web"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: it lacks %q", err, want)
				}
			}
		})
	}
}

// TestForgedSourceIsNotResolved: a record of another StatefulSet is rejected before that StatefulSet is read (S6).
func TestForgedSourceIsNotResolved(t *testing.T) {
	forged := recordOf(movetest.InFlight())(t)
	forged.Spec.Source.Name = "victim"
	if _, _, err := taskOf(t, forged).resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "shop/victim") {
		t.Errorf("got %v", err)
	}
}
