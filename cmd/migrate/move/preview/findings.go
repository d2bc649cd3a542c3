package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/view"
)

// most is how many findings of one check and reason are shown in full if there are more than mostAlike of them. The
// others are only counted, because a set of a hundred ordinals may have a hundred findings.
const (
	most      = 2
	mostAlike = 3
)

// FindingsText formats the findings of a preflight, in their order.
func FindingsText(findings []plan.Finding, paint terminal.Painter) string {
	var b strings.Builder
	for len(findings) > 0 {
		n := slices.IndexFunc(findings, func(f plan.Finding) bool { return !alike(f, findings[0]) })
		if n < 0 {
			n = len(findings)
		}
		shown := n
		if n > mostAlike {
			shown = most
		}
		for _, f := range findings[:shown] {
			b.WriteString(findingText(f, paint))
		}
		if more := findings[shown:n]; len(more) > 0 {
			fmt.Fprintf(&b, "         %d more like it%s; -o json has each, with its commands\n", len(more), objects(more))
		}
		findings = findings[n:]
	}
	return b.String()
}

func alike(a, b plan.Finding) bool {
	return a.Check == b.Check && a.Reason == b.Reason && a.Warning == b.Warning
}

func findingText(f plan.Finding, paint terminal.Painter) string {
	label := paint.Red("error    ")
	if f.Warning {
		label = paint.Yellow("warning  ")
	}
	text := fmt.Sprintf("%s%s\n         %s\n", label, paint.Bold(f.Reason), f.Message)
	if f.Remedy != "" {
		text += fmt.Sprintf("         %s\n", terminal.Remedy(f.Remedy))
	}
	return text
}

// objects returns the names of the objects of the findings, or an empty string if they concern one object.
func objects(findings []plan.Finding) string {
	var names []string
	for _, f := range findings {
		if !slices.Contains(names, f.Object) {
			names = append(names, f.Object)
		}
	}
	if len(names) < len(findings) {
		return ""
	}
	return ", of " + plan.Listed(names)
}

// Refusals returns the number of findings that forbid a move.
func Refusals(findings []plan.Finding) int {
	n := 0
	for _, f := range findings {
		if !f.Warning {
			n++
		}
	}
	return n
}

// Report prints the findings and the number of checks with each verdict. Wide output shows each check, by group.
func (p Printer) Report(r preflight.Report) error {
	if p.Wide {
		p.groups(r)
	} else if text := FindingsText(r.Findings(), p.Paint); text != "" {
		fmt.Fprintln(p.Out, text)
	}
	counts := []string{fmt.Sprintf("%d passed", r.Passed), fmt.Sprintf("%d warned", r.Warned), fmt.Sprintf("%d failed", r.Failed)}
	if r.Skipped > 0 {
		counts = append(counts, fmt.Sprintf("%d could not run because of earlier failures", r.Skipped))
	}
	_, err := fmt.Fprintf(p.Out, "%s: %s.\n", view.Count(r.Passed+r.Warned+r.Failed+r.Skipped, "check"), strings.Join(counts, ", "))
	return err
}

func (p Printer) groups(r preflight.Report) {
	for _, group := range r.Groups {
		fmt.Fprintln(p.Out, p.Paint.Bold(string(group.Group)))
		for _, check := range group.Checks {
			p.check(check)
		}
		fmt.Fprintln(p.Out)
	}
}

func (p Printer) check(r preflight.Result) {
	const indent = "        "
	paint := map[preflight.Verdict]func(string) string{
		preflight.Pass: p.Paint.Green, preflight.Warn: p.Paint.Yellow, preflight.Fail: p.Paint.Red, preflight.Skip: p.Paint.Dim,
	}[r.Verdict]
	fmt.Fprintf(p.Out, "  %s  %s\n", paint(string(r.Verdict)), r.Check)
	for _, f := range r.Findings {
		fmt.Fprintf(p.Out, "%s%s: %s\n", indent, p.Paint.Bold(f.Reason), f.Message)
		if f.Remedy != "" {
			fmt.Fprintf(p.Out, "%s%s\n", indent, terminal.Remedy(f.Remedy))
		}
	}
	if len(r.Findings) > 0 && r.Docs != "" {
		fmt.Fprintf(p.Out, "%ssee %s\n", indent, r.Docs)
	}
}
