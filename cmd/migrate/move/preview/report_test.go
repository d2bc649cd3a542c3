package preview

import (
	"bytes"
	"testing"

	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// TestReportText: errors are shown before warnings. A wide report has a line for each check.
func TestReportText(t *testing.T) {
	warned := plan.Finding{Reason: "TrackedByGitOps", Message: "StatefulSet shop/web in cluster east is tracked by Argo CD", Remedy: "pause it", Warning: true}
	failed := plan.Finding{Reason: "QuotaTooSmall", Message: "ResourceQuota shop/few in cluster west has no room", Remedy: "raise it"}
	report := preflight.Report{
		Groups: []preflight.GroupResult{
			{Group: preflight.GroupWriters, Checks: []preflight.Result{
				{Check: "owner", Verdict: preflight.Pass, Docs: "docs/preflight.md#owner"},
				{Check: "GitOps", Verdict: preflight.Warn, Docs: "docs/preflight.md#gitops", Findings: []plan.Finding{warned}},
			}},
			{Group: preflight.GroupPods, Checks: []preflight.Result{
				{Check: "quotas", Verdict: preflight.Fail, Docs: "docs/preflight.md#quotas", Findings: []plan.Finding{failed}},
				{Check: "ordinals", Verdict: preflight.Skip},
			}},
		},
		Passed: 1, Warned: 1, Failed: 1, Skipped: 1,
	}
	for name, wide := range map[string]bool{"report.txt": false, "report_wide.txt": true} {
		var out bytes.Buffer
		if err := (Printer{Out: &out, Wide: wide}).Report(report); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name, out.String())
	}
}
