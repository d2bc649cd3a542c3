package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// TestBudgetOfTheApplication: d is maxUnavailable, or without it the PodDisruptionBudget's budget, or 1 without either (I4).
// A maxUnavailable above the PodDisruptionBudget's is refused, and so is a budget of 0.
func TestBudgetOfTheApplication(t *testing.T) {
	const pod, set = "PodDisruptionBudget shop/web in cluster east", "StatefulSet shop/web in cluster east"
	none, one, two, three := intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromInt32(3)
	source := func(budgets []plan.Budget, asked *intstr.IntOrString) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Source.Budgets, s.Spec.MaxUnavailable = budgets, asked }
	}
	allows := func(n int32) []plan.Budget { return []plan.Budget{{Name: "web", Form: *pdbtest.MaxUnavailable(n)}} }
	unreadable := []plan.Budget{{Name: "web", Form: *pdbtest.MaxUnavailable(1)}}
	unreadable[0].Form.MaxUnavailable = pdbtest.Unparsable()
	written := []plan.Budget{{Name: "web", Form: *pdbtest.MaxUnavailable(0), Author: pdbtest.MaxUnavailable(2)}}
	for name, tc := range map[string]struct {
		change         func(*plan.Snapshot)
		want           int32
		reason, object string
	}{
		"nobody says how many":            {source(nil, nil), 1, "", ""},
		"the budget says one":             {source(allows(1), nil), 1, "", ""},
		"the budget says two":             {source(allows(2), nil), 2, "", ""},
		"its author says two":             {source(written, nil), 2, "", ""},
		"the budget says none":            {source(allows(0), nil), 0, api.ReasonBudgetZero, pod},
		"the budget cannot be read":       {source(unreadable, nil), 0, api.ReasonBudgetInvalid, pod},
		"one is asked for":                {source(nil, &one), 1, "", ""},
		"more are asked for":              {source(nil, &two), 2, "", ""},
		"none is asked for":               {source(nil, &none), 0, api.ReasonBudgetZero, set},
		"it cannot be read":               {source(nil, pdbtest.Unparsable()), 0, api.ReasonBudgetInvalid, set},
		"fewer than the budget says":      {source(allows(2), &one), 1, "", ""},
		"as many as the budget says":      {source(allows(2), &two), 2, "", ""},
		"more than the budget says":       {source(allows(2), &three), 0, api.ReasonBudgetExceeded, pod},
		"none, though the budget says so": {source(allows(2), &none), 0, api.ReasonBudgetZero, pod},
	} {
		s := plantest.Unmoved()
		tc.change(&s)
		d, finding := Allowance(s)
		if finding == nil {
			finding = &plan.Finding{}
		}
		if d != tc.want || finding.Reason != tc.reason || finding.Object != tc.object {
			t.Errorf("%s: %d, %+v, want %d, %s of %s", name, d, finding, tc.want, tc.reason, tc.object)
		}
	}
	s := plantest.Healthy(0, 1, pdbtest.MaxUnavailablePercent(50))
	s.Destination.Set = plan.Set{Presence: plan.Seen, Start: 1, Replicas: 3}
	if d, finding := Allowance(s); d != 2 || finding != nil {
		t.Errorf("half of the four of both slices are %d, %+v", d, finding)
	}
}

// TestBudgetFindings: a single PodDisruptionBudget that selects only pods of the application can be split.
func TestBudgetFindings(t *testing.T) {
	more := func(side *plan.Side) { side.Budgets = append(side.Budgets, plan.Budget{Name: "more"}) }
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":            {func(*plan.Snapshot) {}, nil},
		"several at the source":       {func(s *plan.Snapshot) { more(&s.Source) }, []string{api.ReasonSeveralBudgets}},
		"several at the destination":  {func(s *plan.Snapshot) { more(&s.Destination) }, []string{api.ReasonSeveralBudgets}},
		"the source's covers others":  {func(s *plan.Snapshot) { s.Source.Budgets[0].Covers = "job" }, []string{api.ReasonBudgetCoversOthers}},
		"the destination's covers":    {func(s *plan.Snapshot) { s.Destination.Budgets[0].Covers = "job" }, []string{api.ReasonBudgetCoversOthers}},
		"the source's leaves out":     {func(s *plan.Snapshot) { s.Source.Budgets[0].LeavesOut = "web-1" }, []string{api.ReasonBudgetLeavesOut}},
		"it allows nothing":           {func(s *plan.Snapshot) { s.Source.Budgets[0].Form = *pdbtest.MaxUnavailable(0) }, []string{api.ReasonBudgetZero}},
		"the destination has another": {func(s *plan.Snapshot) { s.Destination.Budgets[0].Form = *pdbtest.MaxUnavailable(2) }, []string{api.ReasonForeignBudget}},
	}, Budgets)
}

// TestCoversOthers: a budget that also selects other pods is reported with its cluster; several budgets are refused
// for another reason.
func TestCoversOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		budgets []plan.Budget
		want    bool
	}{
		"none":            {nil, false},
		"it covers none":  {[]plan.Budget{{Name: "web"}}, false},
		"it covers one":   {[]plan.Budget{{Name: "web", Covers: "job"}}, true},
		"there are two":   {[]plan.Budget{{Name: "web", Covers: "job"}, {Name: "more"}}, false},
		"neither of them": {[]plan.Budget{{Name: "web"}, {Name: "more"}}, false},
	} {
		got := CoversOthers(plan.Side{Cluster: "east", Namespace: "shop", Budgets: tc.budgets})
		if (got != nil) != tc.want || got != nil && got.Object != "PodDisruptionBudget shop/web in cluster east" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestForeignBudgetFindings: the destination's budget must agree with the source's: the same form in two namespaces,
// the same object in one.
func TestForeignBudgetFindings(t *testing.T) {
	apart := func(change func(source, destination *plan.Side)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(&s.Source, &s.Destination) }
	}
	together := func(change func(source, destination *plan.Side)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			*s = plantest.Healthy(0, 3, pdbtest.MaxUnavailable(1))
			s.Spec.SameNamespace, s.Destination.Budgets = true, []plan.Budget{s.Source.Budgets[0]}
			change(&s.Source, &s.Destination)
		}
	}
	another := *pdbtest.MaxUnavailable(2)
	foreign := []string{api.ReasonForeignBudget}
	wantFindings(t, map[string]preflightCase{
		"both in the same form":                 {apart(func(*plan.Side, *plan.Side) {}), nil},
		"neither has one":                       {apart(func(from, to *plan.Side) { from.Budgets, to.Budgets = nil, nil }), nil},
		"the source has one":                    {apart(func(_, to *plan.Side) { to.Budgets = nil }), nil},
		"and its name is free":                  {apart(func(_, to *plan.Side) { to.Budgets, to.OtherBudgets = nil, []string{"db"} }), nil},
		"and its name is taken":                 {apart(func(_, to *plan.Side) { to.Budgets, to.OtherBudgets = nil, []string{"db", "web"} }), foreign},
		"a name is taken, and none needs it":    {apart(func(from, to *plan.Side) { from.Budgets, to.Budgets, to.OtherBudgets = nil, nil, []string{"web"} }), nil},
		"a name is taken, and both have theirs": {apart(func(_, to *plan.Side) { to.OtherBudgets = []string{"web"} }), nil},
		"the destination alone has one":         {apart(func(from, _ *plan.Side) { from.Budgets = nil }), foreign},
		"another form":                          {apart(func(_, to *plan.Side) { to.Budgets[0].Form = another }), foreign},
		"another form, of a migration":          {apart(func(_, to *plan.Side) { to.Budgets[0].Form, to.Budgets[0].Fence = another, "before.1" }), nil},
		"another form, by another author":       {apart(func(_, to *plan.Side) { to.Budgets[0].Author = &another }), foreign},
		"the same author's": {apart(func(from, to *plan.Side) {
			from.Budgets[0].Author, to.Budgets[0].Author, to.Budgets[0].Form = &another, &another, *pdbtest.MinAvailable(3)
		}), nil},
		"one for both":                        {together(func(*plan.Side, *plan.Side) {}), nil},
		"it does not select the new ones":     {together(func(_, to *plan.Side) { to.Budgets = nil }), foreign},
		"another one selects the new ones":    {together(func(_, to *plan.Side) { to.Budgets[0].UID = "another" }), foreign},
		"in one namespace neither has one":    {together(func(from, to *plan.Side) { from.Budgets, to.Budgets = nil, nil }), nil},
		"it selects the new ones alone":       {together(func(from, _ *plan.Side) { from.Budgets = nil }), foreign},
		"one for both, and others are around": {together(func(_, to *plan.Side) { to.OtherBudgets = []string{"web"} }), nil},
	}, foreignBudgetFindings)
	s := plantest.Unmoved()
	s.Destination.Budgets = nil
	s.Destination.OtherBudgets = []string{"web"}
	if got := foreignBudgetFindings(s); len(got) != 1 || got[0].Object != s.Destination.Object() || cmp.Diff(got[0].Message, "") == "" || got[0].Remedy == "" {
		t.Errorf("a name that is taken: %+v", got)
	}
}

// TestFormFindings: a percentage that is rounded up is reported as a number, and so are different eviction policies.
func TestFormFindings(t *testing.T) {
	share := func(text string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			value := intstr.Parse(text)
			s.Source.Budgets[0].Form = pdb.Form{MaxUnavailable: &value}
		}
	}
	policy := func(here, there string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Source.Budgets[0].Unhealthy, s.Destination.Budgets[0].Unhealthy = here, there
		}
	}
	form := []string{"warning: " + api.ReasonBudgetForm}
	wantFindings(t, map[string]preflightCase{
		"a number":                   {func(*plan.Snapshot) {}, nil},
		"a share without a rest":     {share("100%"), nil},
		"a share that is rounded up": {share("34%"), form},
		"a number in words":          {share("2"), nil},
		"no budget":                  {func(s *plan.Snapshot) { s.Source.Budgets = nil }, nil},
		"no share at all":            {share("all of them"), nil},
		"the same policy":            {policy("AlwaysAllow", "AlwaysAllow"), nil},
		"the default, spelled out":   {policy("IfHealthyBudget", ""), nil},
		"other policies":             {policy("AlwaysAllow", ""), form},
		"one and the same budget":    {func(s *plan.Snapshot) { policy("AlwaysAllow", "")(s); s.Spec.SameNamespace = true }, nil},
	}, Forms)
}
