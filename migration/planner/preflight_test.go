package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestPreflight: errors precede warnings, a side that was not read is not judged, and each check runs.
func TestPreflight(t *testing.T) {
	observed := func(s *plan.Snapshot) {
		s.Preflight = []plan.Finding{{Reason: "Forbidden", Warning: true}, {Reason: "NoAccess"}}
		s.Source.Set.Terminating = true
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   []string
	}{
		"nothing is wrong":   {func(*plan.Snapshot) {}, nil},
		"warnings come last": {observed, []string{"NoAccess", api.ReasonSourceBeingDeleted, "warning: Forbidden"}},
		"no source was read": {func(s *plan.Snapshot) { observed(s); s.Source.Reach = plan.Unreachable }, []string{"NoAccess"}},
		"no destination":     {func(s *plan.Snapshot) { observed(s); s.Destination.Reach = plan.Unreachable }, []string{"NoAccess"}},
		"neither was read": {func(s *plan.Snapshot) {
			observed(s)
			s.Source.Reach, s.Destination.Reach = plan.Unreachable, plan.Unreachable
		}, []string{"NoAccess"}},
		"no such numbers":      {func(s *plan.Snapshot) { observed(s); s.Source.Set.Replicas = -1 }, []string{"NoAccess", api.ReasonOrdinalsUnbounded}},
		"no source":            {func(s *plan.Snapshot) { observed(s); s.Source.Set.Presence = plan.Absent }, []string{"NoAccess", api.ReasonSourceMissing}},
		"of the source":        {func(s *plan.Snapshot) { s.Source.Set.RolledOut = false }, []string{api.ReasonRolloutInProgress}},
		"of the budget":        {func(s *plan.Snapshot) { s.Source.Budgets[0].Covers = "job" }, []string{api.ReasonBudgetCoversOthers}},
		"of the destination":   {func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }, []string{api.ReasonDestinationDeleted}},
		"of both side by side": {func(s *plan.Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 4, 1 }, []string{api.ReasonDestinationNotEmpty}},
		"of a volume":          {func(s *plan.Snapshot) { s.Volumes[2].Source.Claim = volumes.Claim{} }, []string{volumes.ReasonClaimMissing}},
		"of a name": {func(s *plan.Snapshot) {
			s.Destination.Names = []plan.Name{{Ordinal: 1, Service: plan.PodService{Found: true}}}
		}, []string{api.ReasonServiceTaken}},
	} {
		s := plantest.Unmoved()
		tc.change(&s)
		if diff := cmp.Diff(tc.want, plantest.ReasonsOf(Preflight(s))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestUnavailableOfBoth: the replicas of both slices count, except the one that is left out.
func TestUnavailableOfBoth(t *testing.T) {
	three := int32(3)
	p := &View{Snapshot: plan.Snapshot{Source: plan.Side{Set: plan.Set{Name: "web", Replicas: 1}}, Destination: plan.Side{Set: plan.Set{Name: "web", Start: 1, Replicas: 3}}}}
	if diff := cmp.Diff([]string{"web-0", "web-1", "web-2"}, p.allUnavailable(&three)); diff != "" {
		t.Errorf("of both slices: -want +got\n%s", diff)
	}
}

// TestAccept: a migration begins when no finding prevents it and its mode is Run. Until then nothing is written
// (I9), and the findings are reported.
func TestAccept(t *testing.T) {
	refuse := func(s *plan.Snapshot) { s.Source.Set.Terminating = true }
	queue := func(s *plan.Snapshot) { s.Queued = &plan.Hold{Reason: api.ReasonQueued, Message: "first of 2 in line"} }
	warn := func(s *plan.Snapshot) { s.Preflight = []plan.Finding{{Reason: "Forbidden", Warning: true}} }
	pause := func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }
	const leaves = api.ReasonSourceBeingDeleted
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		// reason is the reason of the hold; empty when it begins.
		reason  string
		stalled bool
		found   []string
	}{
		"it may begin":       {},
		"it is warned of":    {changes: []func(*plan.Snapshot){warn}, found: []string{"warning: Forbidden"}},
		"it is refused":      {changes: []func(*plan.Snapshot){refuse}, reason: leaves, stalled: true, found: []string{leaves}},
		"it is queued":       {changes: []func(*plan.Snapshot){queue}, reason: api.ReasonQueued},
		"warned in line":     {changes: []func(*plan.Snapshot){queue, warn}, reason: api.ReasonQueued, found: []string{"warning: Forbidden"}},
		"it pauses in line":  {changes: []func(*plan.Snapshot){pause, queue}, reason: api.ReasonPaused},
		"it pauses":          {changes: []func(*plan.Snapshot){pause}, reason: api.ReasonPaused},
		"warned in a pause":  {changes: []func(*plan.Snapshot){pause, warn}, reason: api.ReasonPaused, found: []string{"warning: Forbidden"}},
		"refused in a pause": {changes: []func(*plan.Snapshot){pause, refuse}, reason: leaves, stalled: true, found: []string{leaves}},
	} {
		s := plantest.Unmoved()
		for _, change := range tc.changes {
			change(&s)
		}
		got := newPlanner(s).accept()
		if diff := cmp.Diff(tc.found, plantest.ReasonsOf(got.Findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		hold := got.Hold
		if hold == nil {
			hold = &plan.Hold{}
		}
		if hold.Reason != tc.reason || hold.Stalled != tc.stalled || (got.Record != nil) != (tc.reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s := plantest.Unmoved()
	s.Record.Baseline = &api.Baseline{}
	if got := newPlanner(s).accept(); got != nil {
		t.Errorf("it has begun: %+v", got)
	}
}

// TestBaseline: the record begins with the whole application, and names the destination's StatefulSet if that
// already owns a part of it. It lists each claim template. The handoff of an earlier record is dropped.
func TestBaseline(t *testing.T) {
	plain := api.Baseline{
		Replicas: 3, Budget: 1, SourceUID: "source-set", SourceCluster: "cluster-east", DestinationCluster: "cluster-west",
		StartTime: metav1.NewTime(plantest.Epoch), DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: pdbtest.MaxUnavailable(1).MaxUnavailable},
		SourceBudget: &api.BudgetVersion{UID: "source-set-budget"}, DestinationBudget: &api.BudgetVersion{UID: "prepared-set-budget"},
		Volumes:  []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}},
		Services: &api.ServicesSpec{PerOrdinal: api.PerOrdinalNone},
	}
	copied := api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover"}}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   func(*api.Baseline)
	}{
		"all of it at the source":              {func(*plan.Snapshot) {}, func(*api.Baseline) {}},
		"from another ordinal, without claims": {func(s *plan.Snapshot) { *s = plantest.Healthy(5, 3, pdbtest.MaxUnavailable(1)) }, func(b *api.Baseline) { b.Start, b.Volumes = 5, nil }},
		"without a budget":                     {func(s *plan.Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil }, func(b *api.Baseline) { b.DisruptionBudget, b.SourceBudget, b.DestinationBudget = nil, nil, nil }},
		"with what its author wrote": {func(s *plan.Snapshot) {
			s.Source.Budgets[0].Author, s.Destination.Budgets[0].Form = pdbtest.MinAvailable(1), *pdbtest.MinAvailable(1)
		}, func(b *api.Baseline) {
			b.Budget, b.DisruptionBudget = 2, &api.DisruptionBudget{Name: "web", MinAvailable: pdbtest.MinAvailable(1).MinAvailable}
		}},
		"the destination has one of it": {func(s *plan.Snapshot) { plantest.HandOn(s, 2) }, func(b *api.Baseline) {
			b.DestinationReplicas, b.DestinationUID = 1, "prepared-set"
		}},
		"its volumes are copied": {func(s *plan.Snapshot) { s.Spec.Volumes = []api.VolumeSpec{copied} }, func(b *api.Baseline) {
			b.Volumes = []api.VolumeSpec{copied}
		}},
		"its ordinals get names": {func(s *plan.Snapshot) { s.Spec.Export, s.Spec.NameOrdinals = true, true }, func(b *api.Baseline) {
			b.Services = &api.ServicesSpec{Export: true, PerOrdinal: api.PerOrdinalExport}
		}},
	} {
		s := plantest.Unmoved()
		tc.change(&s)
		s.Record = plan.Record{Handoff: &api.Handoff{Ordinal: 1}, Fence: &api.Fence{Epoch: 4}}
		want := plain
		tc.want(&want)
		got := newPlanner(s).accept()
		if diff := cmp.Diff(&plan.Decision{Record: &plan.Record{Baseline: &want, Fence: &api.Fence{Epoch: 4}, Accepted: true}}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
