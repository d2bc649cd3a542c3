package preview

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/view"
)

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
