package preflight

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestCatalogue: each check has a unique name and a group, and is listed once.
func TestCatalogue(t *testing.T) {
	all := Catalogue()
	seen, links := map[string]bool{}, map[string]bool{}
	for _, check := range all {
		if check.Name == "" || check.Group == "" || seen[check.Name] || links[check.Docs()] {
			t.Errorf("check %q of group %q, %s", check.Name, check.Group, check.Docs())
		}
		seen[check.Name], links[check.Docs()] = true, true
	}
	if len(all) != len(others)+len(checks) {
		t.Errorf("%d checks are listed of %d and %d", len(all), len(others), len(checks))
	}
	if all[0].Name != checkKinds || all[1].Name != checkRights {
		t.Errorf("it begins with %s and %s", all[0].Name, all[1].Name)
	}
}

// TestReport: each check has a verdict, and no finding is lost. A check that did not run, because a foundation
// failed, has not passed.
func TestReport(t *testing.T) {
	warning := plan.Finding{Check: "GitOps", Reason: api.ReasonTrackedByGitOps, Warning: true}
	failure := plan.Finding{Check: "quotas", Reason: api.ReasonQuotaTooSmall}
	all := len(slices.DeleteFunc(Catalogue(), func(c Check) bool { return c.Group == GroupInPlace }))
	for name, tc := range map[string]struct {
		found                           []plan.Finding
		passed, warned, failed, skipped int
		verdicts                        map[string]Verdict
	}{
		"all is well":               {nil, all, 0, 0, 0, nil},
		"one of each":               {[]plan.Finding{warning, failure}, all - 2, 1, 1, 0, map[string]Verdict{"GitOps": Warn, "quotas": Fail, "owner": Pass}},
		"twice, of which one fails": {[]plan.Finding{warning, {Check: "GitOps"}}, all - 1, 0, 1, 0, map[string]Verdict{"GitOps": Fail}},
		"a right is missing":        {[]plan.Finding{{Check: checkRights}}, 1, 0, 1, all - 2, map[string]Verdict{checkKinds: Pass, checkRights: Fail, plan.CheckSource: Skip}},
		"no such source": {
			[]plan.Finding{{Check: plan.CheckSource, Reason: api.ReasonSourceMissing}},
			3, 0, 1, all - 4,
			map[string]Verdict{checkRights: Pass, plan.CheckOrdinals: Pass, plan.CheckSource: Fail, "owner": Skip},
		},
		"an unhealthy source": {[]plan.Finding{{Check: plan.CheckSource, Reason: api.ReasonSourceNotHealthy}}, all - 1, 0, 1, 0, nil},
		"of no check":         {[]plan.Finding{{Check: "on call"}}, all, 0, 1, 0, map[string]Verdict{"on call": Fail}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReport(tc.found)
			if diff := cmp.Diff([]int{tc.passed, tc.warned, tc.failed, tc.skipped}, []int{r.Passed, r.Warned, r.Failed, r.Skipped}); diff != "" {
				t.Errorf("passed, warned, failed, skipped: -want +got\n%s", diff)
			}
			found := 0
			for _, group := range r.Groups {
				for _, check := range group.Checks {
					found += len(check.Findings)
					if want, told := tc.verdicts[check.Check]; told && want != check.Verdict {
						t.Errorf("%s: %s, want %s", check.Check, check.Verdict, want)
					}
				}
			}
			if found != len(tc.found) {
				t.Errorf("%d of %d findings are told", found, len(tc.found))
			}
		})
	}
}

// TestFindings: refusals come first, then warnings, each in the order of the catalogue; findings of unknown checks
// come last.
func TestFindings(t *testing.T) {
	of := func(check string, warning bool) plan.Finding { return plan.Finding{Check: check, Warning: warning} }
	got := NewReport([]plan.Finding{of("on call", false), of("quotas", true), of("quotas", false), of("GitOps", true), of(checkRights, false)}).Findings()
	want := []plan.Finding{of(checkRights, false), of("quotas", false), of("on call", false), of("GitOps", true), of("quotas", true)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestReportInPlace: a change in place has its own checks, and those of a move that are also about it.
func TestReportInPlace(t *testing.T) {
	r := NewReportInPlace([]plan.Finding{{Check: "room in place", Reason: "CopySizeTooSmall", Warning: true}, {Check: plan.CheckStorage, Reason: "ClaimNotBound"}})
	verdicts := map[string]Verdict{}
	for _, group := range r.Groups {
		for _, check := range group.Checks {
			verdicts[check.Check] = check.Verdict
		}
	}
	for check, want := range map[string]Verdict{"room in place": Warn, plan.CheckStorage: Fail, "GitOps": Pass, "zones in place": Pass, plan.CheckBudget: Pass, "differences": "", "owner": "", plan.CheckDestination: ""} {
		if verdicts[check] != want {
			t.Errorf("check %s: %q, want %q", check, verdicts[check], want)
		}
	}
}
