package preflight

import (
	"maps"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	// Pass: it found nothing.
	Pass Verdict = "pass"
	// Warn: the migration may start, but its user should know of the finding.
	Warn Verdict = "warn"
	// Fail: the migration is refused.
	Fail Verdict = "fail"
	// Skip: it did not run, because of the finding of another check.
	Skip Verdict = "skip"
)

// Result is the result of one check.
type Result struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Docs is the link to the documentation of the check; empty if there is none.
	Docs     string         `json:"docs,omitempty"`
	Findings []plan.Finding `json:"findings,omitempty"`
}

// GroupResult holds the results of one group.
type GroupResult struct {
	Group  Group    `json:"group"`
	Checks []Result `json:"checks"`
}

// Report holds the results of all checks, by group, and the number of checks with each verdict.
type Report struct {
	Groups  []GroupResult `json:"groups"`
	Passed  int           `json:"passed"`
	Warned  int           `json:"warned"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
}

// Findings returns the findings of all checks of a snapshot, in the order of Report.Findings. Findings that differ
// only in their object are returned once.
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
	if s.Storage != nil {
		return NewReportInPlace(findings).Findings()
	}
	return NewReport(findings).Findings()
}

// Findings returns the findings of all checks: refusals first, then warnings, each in the order of the catalogue.
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

// NewReport assigns findings to the checks of a move.
func NewReport(findings []plan.Finding) Report {
	return reportOf(slices.DeleteFunc(Catalogue(), func(c Check) bool { return c.group() == GroupInPlace }), findings)
}

// reportOf assigns findings to checks.
func reportOf(catalogue []Check, findings []plan.Finding) Report {
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
	for _, check := range catalogue {
		result := Result{Check: check.Name, Docs: check.Docs(), Findings: of[check.Name], Verdict: verdictOf(of[check.Name])}
		if result.Verdict == Pass && blocked != "" && !before(check.Name, blocked) {
			result.Verdict = Skip
		}
		report.add(check.group(), result)
		delete(of, check.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) { // no finding is lost
		report.add(GroupOther, Result{Check: name, Findings: of[name], Verdict: verdictOf(of[name])})
	}
	return report
}

// before reports whether a check runs before the check that ended the preflight.
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
