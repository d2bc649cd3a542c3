package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// unsettled gives a migration work for each of its stages: exports, names, split budgets.
func unsettled(s *plan.Snapshot) {
	s.Spec.Export, s.Spec.NameOrdinals, s.Spec.DropNames = true, true, true
	for _, side := range []*plan.Side{&s.Source, &s.Destination} {
		side.Export = plan.Export{Found: true, Ours: true, UID: "exp", ResourceVersion: "@8"}
		side.Names = []plan.Name{{Ordinal: 1, Export: plan.Export{Found: true, Ours: true, UID: "name", ResourceVersion: "@9"}}}
	}
}

// TestSettling: the order in which objects are restored and deleted at the end. In direction Forward the
// destination's objects remain. In a rollback all created objects there are deleted, the claims before the
// StatefulSet. A Migration that is being deleted restores only the objects that nothing else restores. With the
// volumes of one ordinal, nothing is done that concerns all of them (I8).
func TestSettling(t *testing.T) {
	deleting := func(s *plan.Snapshot) { s.Deleting = true }
	focused := func(s *plan.Snapshot) { s.Focused = true }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   []string
	}{
		"all have moved": {plantest.AllMoved, []string{
			"RestoreBudget destination web db@3", "RestorePolicy destination pv-1 dv-1@6", "DeleteExport source web exp@8", "DeletePodExport source web-1 name@9",
		}},
		"of one ordinal": {plantest.InTurn(plantest.AllMoved, focused), []string{"RestorePolicy destination pv-1 dv-1@6", "DeletePodExport source web-1 name@9"}},
		"all are back": {plantest.AllBack, []string{
			"DeleteBudget destination web db@3", "DeleteClaim destination data-web-3 dc-3@5", "RestorePolicy source pv-3 sv-3@6",
			"DeleteExport destination web exp@8", "DeletePodExport source web-1 name@9", "something else", "",
		}},
		"of one that is back": {plantest.InTurn(plantest.AllBack, focused), []string{
			"DeleteClaim destination data-web-3 dc-3@5", "RestorePolicy source pv-3 sv-3@6", "DeletePodExport source web-1 name@9",
		}},
		"it is deleted":                    {plantest.InTurn(plantest.AllMoved, deleting), []string{"RestoreBudget destination web db@3", "RestorePolicy destination pv-1 dv-1@6"}},
		"it is deleted on its way back":    {plantest.InTurn(plantest.AllBack, deleting), []string{"RestoreBudget destination web db@3", "RestorePolicy source pv-3 sv-3@6"}},
		"of one, and it is deleted":        {plantest.InTurn(plantest.AllMoved, deleting, focused), []string{"RestorePolicy destination pv-1 dv-1@6"}},
		"of one on its way back, deleting": {plantest.InTurn(plantest.AllBack, deleting, focused), []string{"RestorePolicy source pv-3 sv-3@6"}},
	} {
		p := parted(plantest.InTurn(unsettled, tc.change))
		var got []string
		for _, stage := range p.settling() {
			got = append(got, does(stage()))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if first := does(p.settle()); first != tc.want[0] {
			t.Errorf("%s: first %q", name, first)
		}
	}
}

// TestSettleGoesOn: the first stage with work is next, and without any the migration completes.
func TestSettleGoesOn(t *testing.T) {
	restored := func(s *plan.Snapshot) {
		plantest.AuthorsOwn(&s.Source.Budgets[0])
		plantest.AuthorsOwn(&s.Destination.Budgets[0])
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the budgets are restored": {plantest.InTurn(plantest.AllMoved, restored), "RestorePolicy destination pv-1 dv-1@6"},
		"all is":                   {plantest.InTurn(plantest.AllMoved, restored, func(s *plan.Snapshot) { s.Volumes = nil }), ""},
	} {
		if got := does(parted(tc.change).settle()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBudgetsAtTheEnd: a budget is restored where it covers the whole application. Before that, the allowances of
// both sides are set to their final values (I4). An application that stays split keeps it split. The budget
// created for the destination is deleted in a rollback.
func TestBudgetsAtTheEnd(t *testing.T) {
	allows := func(b []plan.Budget, n int32) { b[0].Form = pdb.Unavailable(n) }
	oneMoved := func(s *plan.Snapshot) { s.Spec.Count = 1; plantest.Divide(s, 4) }
	oneBudget := func(s *plan.Snapshot) {
		s.Spec.SameCluster, s.Spec.SameNamespace = true, true
		s.Source.Budgets[0].Form = pdb.Available(2)
		s.Destination.Budgets = s.Source.Budgets
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the larger side's first": {plantest.AllMoved, "RestoreBudget destination web db@3"},
		"then the other's":        {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { plantest.AuthorsOwn(&s.Destination.Budgets[0]) }), "RestoreBudget source web sb@3"},
		"both are": {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) {
			plantest.AuthorsOwn(&s.Destination.Budgets[0])
			plantest.AuthorsOwn(&s.Source.Budgets[0])
		}), ""},
		"one allows too much":           {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { allows(s.Source.Budgets, 1) }), "SetBudget source web sb@3"},
		"it stays split":                {nil, ""},
		"it stays split, one has moved": {oneMoved, ""},
		"split under one budget":        {oneBudget, "RestoreBudget source web sb@3"},
		"all moved under one budget":    {plantest.InTurn(plantest.AllMoved, oneBudget), "RestoreBudget source web sb@3"},
		"what was made goes on the way": {plantest.AllBack, "DeleteBudget destination web db@3"},
		"its owner's stays":             {plantest.InTurn(plantest.AllBack, func(s *plan.Snapshot) { s.Destination.Budgets[0].Ours = false }), "RestoreBudget destination web db@3"},
		"it stays when it is deleted":   {plantest.InTurn(plantest.AllBack, func(s *plan.Snapshot) { s.Deleting = true }), "RestoreBudget destination web db@3"},
		"when it is gone, the source's": {plantest.InTurn(plantest.AllBack, func(s *plan.Snapshot) { s.Destination.Budgets = nil }), "RestoreBudget source web sb@3"},
		"there has never been any budget": {plantest.InTurn(plantest.AllBack, func(s *plan.Snapshot) {
			s.Record.Baseline.DisruptionBudget, s.Source.Budgets, s.Destination.Budgets = nil, nil, nil
		}), ""},
	} {
		if got := does(settleOf(parted(tc.change).View).budgets()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := parted(func(s *plan.Snapshot) { s.Source.Budgets = nil }).deleteBudget(plan.SourceSide); got != nil {
		t.Errorf("one that is gone: %+v", got)
	}
}

// TestPolicies: the reclaim policy of the volumes that the taker runs on is restored, unless they are not bound to
// their claims. A lost volume would be deleted with its disk (I3). A parked volume keeps Retain.
func TestPolicies(t *testing.T) {
	untouch := func(h *volumes.Holding) { h.Volume.Note, h.Volume.Fence = volumes.Note{}, "" }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the first of the taker's":       {nil, "RestorePolicy destination pv-3 dv-3@6"},
		"it has it":                      {func(s *plan.Snapshot) { untouch(&s.Volumes[2].Destination) }, "RestorePolicy destination pv-4 dv-4@6"},
		"both have it":                   {func(s *plan.Snapshot) { untouch(&s.Volumes[2].Destination); untouch(&s.Volumes[3].Destination) }, ""},
		"it is not bound any more":       {func(s *plan.Snapshot) { s.Volumes[2].Destination.Claim.Phase = corev1.ClaimLost }, api.ReasonVolumeUnbound},
		"of an ordinal that it gave":     {func(s *plan.Snapshot) { s.Volumes[0].Destination = plantest.ParkedAt("d", 1) }, "RestorePolicy destination pv-3 dv-3@6"},
		"on the way back, the source's":  {plantest.AllBack, "RestorePolicy source pv-3 sv-3@6"},
		"none that the source has given": {func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }, ""},
	} {
		if got := does(parted(tc.change).policies()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestKeepPolicies: when the Migration is deleted, the reclaim policy of the volumes of both sides is restored, as
// far as their slices run on them. A volume in flight keeps Retain (I3).
func TestKeepPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the first of the destination": {nil, "RestorePolicy destination pv-3 dv-3@6"},
		"one of the source":            {func(s *plan.Snapshot) { s.Volumes[1].Source = plantest.ToRetain(plantest.BoundAt("s", 2)) }, "RestorePolicy source pv-2 sv-2@6"},
		"it is not bound any more":     {func(s *plan.Snapshot) { s.Volumes[2].Destination.Claim.Found = false }, "RestorePolicy destination pv-4 dv-4@6"},
		"no migration has touched them": {func(s *plan.Snapshot) {
			s.Volumes[2].Destination, s.Volumes[3].Destination = plantest.BoundAt("d", 3), plantest.BoundAt("d", 4)
		}, ""},
		"one was stopped at the source": {func(s *plan.Snapshot) {
			s.Source.Set.Replicas, s.Volumes = 1, []plan.OrdinalVolume{plantest.Returned(2)}
		}, ""},
		"none that either side runs yet": {func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }, ""},
	} {
		if got := does(parted(tc.change).keepPolicies()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestMarked: a volume has a mark of this migration if it has its note or was written under its fence.
func TestMarked(t *testing.T) {
	for name, tc := range map[string]struct {
		volume volumes.Volume
		want   bool
	}{
		"both":                      {volumes.Volume{Found: true, Note: volumes.Note{By: "m"}, Fence: "m.1"}, true},
		"its note":                  {volumes.Volume{Found: true, Note: volumes.Note{By: "m"}}, true},
		"its fence":                 {volumes.Volume{Found: true, Note: volumes.Note{By: "another"}, Fence: "m.1"}, true},
		"another's":                 {volumes.Volume{Found: true, Note: volumes.Note{By: "another"}, Fence: "another.1"}, false},
		"none":                      {volumes.Volume{Found: true}, false},
		"it is gone":                {volumes.Volume{}, false},
		"it is gone, and had marks": {volumes.Volume{Note: volumes.Note{By: "m"}, Fence: "m.1"}, false},
	} {
		if got := (volumes.Pair{Owner: "m"}).Marked(tc.volume); got != tc.want {
			t.Errorf("%s: marked %t", name, got)
		}
	}
}

// TestWithdraw: the source's export is deleted when all ordinals have moved. In a rollback both are, the
// destination's first. Foreign exports remain.
func TestWithdraw(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		source string
		both   string
	}{
		"all moved":     {plantest.AllMoved, "DeleteExport source web exp@8", "DeleteExport destination web exp@8"},
		"half moved":    {nil, "", "DeleteExport destination web exp@8"},
		"not asked for": {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { s.Spec.Export = false }), "", "DeleteExport destination web exp@8"},
		"one is gone": {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) {
			s.Destination.Export.Found = false
		}), "DeleteExport source web exp@8", "DeleteExport source web exp@8"},
		"one is theirs": {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) {
			s.Destination.Export.Ours = false
		}), "DeleteExport source web exp@8", "DeleteExport source web exp@8"},
		"the other too":   {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { s.Destination.Export.Ours, s.Source.Export.Ours = false, false }), "", ""},
		"both are gone":   {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { s.Destination.Export.Found, s.Source.Export.Found = false, false }), "", ""},
		"there were none": {plantest.InTurn(plantest.AllMoved, func(s *plan.Snapshot) { s.Destination.Export, s.Source.Export = plan.Export{}, plan.Export{} }), "", ""},
	} {
		p := parted(plantest.InTurn(unsettled, tc.change))
		got := []string{does(p.withdrawSource()), does(p.withdrawBoth())}
		if !slices.Equal(got, []string{tc.source, tc.both}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
