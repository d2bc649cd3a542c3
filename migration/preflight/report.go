package preflight

import (
	"maps"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	// Pass: it has found nothing.
	Pass Verdict = "pass"
	// Warn: a migration may begin, and its user should know.
	Warn Verdict = "warn"
	// Fail: a migration is refused.
	Fail Verdict = "fail"
	// Skip: it was not done, because of what another check has found.
	Skip Verdict = "skip"
)

// Result is what one check has found.
type Result struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Docs is where the documentation tells more of the check; empty: nowhere.
	Docs     string         `json:"docs,omitempty"`
	Findings []plan.Finding `json:"findings,omitempty"`
}

// GroupResult are the results of one group.
type GroupResult struct {
	Group  Group    `json:"group"`
	Checks []Result `json:"checks"`
}

// Report is what all checks have found, group by group, and how many came to which verdict.
type Report struct {
	Groups  []GroupResult `json:"groups"`
	Passed  int           `json:"passed"`
	Warned  int           `json:"warned"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
}

// Findings are what all checks have found, in the order of Report.Findings. What is found of each ordinal in the same
// words is said once.
func Findings(s plan.Snapshot) []plan.Finding {
	said, findings := map[plan.Finding]bool{}, []plan.Finding{}
	for _, f := range planner.Preflight(s) {
		words := f
		words.Object = ""
		if !said[words] {
			said[words] = true
			findings = append(findings, f)
		}
	}
	return NewReport(findings).Findings()
}

// Findings are those of all checks: refusals first, then warnings, each in the order of the catalogue.
func (r Report) Findings() []plan.Finding {
	findings := []plan.Finding{}
	for _, warning := range []bool{false, true} {
		for _, group := range r.Groups {
			for _, check := range group.Checks {
				findings = append(findings, slices.DeleteFunc(slices.Clone(check.Findings), func(f plan.Finding) bool { return f.Warning != warning })...)
			}
		}
	}
	return findings
}

// NewReport sorts what was found by the checks of the catalogue.
func NewReport(findings []plan.Finding) Report {
	report := Report{Groups: []GroupResult{}}
	blocked := ""
	for _, f := range findings {
		if blocked == "" && (slices.Contains(foundations, f.Check) && !f.Warning || f.Reason == api.ReasonSourceMissing) {
			blocked = f.Check
		}
	}
	of := map[string][]plan.Finding{}
	for _, f := range findings {
		of[f.Check] = append(of[f.Check], f)
	}
	for _, check := range Catalogue() {
		result := Result{Check: check.Name, Docs: check.Docs(), Findings: of[check.Name], Verdict: verdictOf(of[check.Name])}
		if result.Verdict == Pass && blocked != "" && !before(check.Name, blocked) {
			result.Verdict = Skip
		}
		report.add(check.group(), result)
		delete(of, check.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) { // nothing that was found is lost
		report.add(GroupOther, Result{Check: name, Findings: of[name], Verdict: verdictOf(of[name])})
	}
	return report
}

// before says whether a check is done before another one, which has ended the preflight.
func before(name, end string) bool {
	at := slices.Index(foundations, name)
	return at >= 0 && (at < slices.Index(foundations, end) || !slices.Contains(foundations, end))
}

func verdictOf(findings []plan.Finding) Verdict {
	verdict := Pass
	for _, f := range findings {
		if !f.Warning {
			return Fail
		}
		verdict = Warn
	}
	return verdict
}

func (r *Report) add(group Group, result Result) {
	if last := len(r.Groups) - 1; last < 0 || r.Groups[last].Group != group {
		r.Groups = append(r.Groups, GroupResult{Group: group})
	}
	at := &r.Groups[len(r.Groups)-1]
	at.Checks = append(at.Checks, result)
	switch result.Verdict {
	case Warn:
		r.Warned++
	case Fail:
		r.Failed++
	case Skip:
		r.Skipped++
	default:
		r.Passed++
	}
}
