package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// InPlace prints the outlook of a change in place. commands are the commands that carry it out.
func (p Printer) InPlace(d outlook.Plan, commands ...string) error {
	return p.buffered(func(p Printer) { p.inPlace(d, commands) })
}

func (p Printer) inPlace(d outlook.Plan, commands []string) {
	fmt.Fprintf(p.Out, "%s\n\n", p.Paint.Bold(answerInPlace(d)))
	if !d.Refused && d.Pending() {
		for _, fact := range factsInPlace(d) {
			const width = 10
			fmt.Fprintln(p.Out, "  "+terminal.Pad(fact[0], width)+fact[1])
		}
		fmt.Fprintln(p.Out)
	}
	if text := FindingsText(d.Findings, p.Paint); text != "" {
		fmt.Fprintln(p.Out, text)
	}
	p.claimsInPlace(d)
	if d.Refused {
		fmt.Fprintf(p.Out, "Nothing would be changed: %s.\n", view.Count(Refusals(d.Findings), "error"))
		return
	}
	if !d.Pending() {
		return
	}
	for _, line := range stepsInPlace(d) {
		fmt.Fprintln(p.Out, line)
	}
	if len(commands) > 0 {
		fmt.Fprintf(p.Out, "\nTo do it:\n  %s\n", strings.Join(commands, "\n  "))
	}
}

// answerInPlace states whether the storage can be changed, and the effect on the replicas.
func answerInPlace(d outlook.Plan) string {
	name := fmt.Sprintf("StatefulSet %s/%s (cluster %s)", d.Namespace, d.StatefulSet, d.Cluster)
	sum := d.Summary
	switch {
	case d.Refused:
		first := slices.IndexFunc(d.Findings, func(f plan.Finding) bool { return !f.Warning })
		return fmt.Sprintf("No: the storage of %s cannot be changed yet: %s. Correct %s first.", name, view.Count(Refusals(d.Findings), "refusal"), d.Findings[first].Reason)
	case !d.Pending():
		return fmt.Sprintf("Every claim of %s is as its template: there is nothing to do.", name)
	case sum.Stopped == 0:
		return fmt.Sprintf("Yes: the storage of %s can be changed in place. No replica is stopped.", name)
	}
	first := d.Ordinals[slices.IndexFunc(d.Ordinals, func(o outlook.Ordinal) bool { return o.Outage != nil })]
	return fmt.Sprintf("Yes: the storage of %s can be changed in place. %s, one after the other, each down for %s.", name,
		view.Count(sum.Stopped, "replica")+" of "+strconv.Itoa(sum.Replicas), briefOutage(first.Outage))
}

// briefOutage returns an outage without its parts.
func briefOutage(o *view.Outage) string {
	text, _, _ := strings.Cut(o.Text, ":")
	if strings.HasSuffix(o.Text, copyUnmeasured) {
		text += copyUnmeasured
	}
	return text
}

// copyUnmeasured ends the text of an outage whose last pass was not measured: see view.OutageOf.
const copyUnmeasured = "; and the last pass of its copy"

// factsInPlace returns the names and values of the summary.
func factsInPlace(d outlook.Plan) [][2]string {
	sum := d.Summary
	var facts [][2]string
	for _, t := range d.Templates {
		for _, c := range t.Changes {
			facts = append(facts, [2]string{"change", fmt.Sprintf("%s of claim template %s: %s instead of %s", c.Field, t.Name, cmp.Or(c.To, "none"), cmp.Or(c.From, "none"))})
		}
	}
	facts = append(facts, [2]string{"ordinals", fmt.Sprintf("%d of %d are behind, and %d of them are stopped once", sum.Behind, sum.Replicas, sum.Stopped)})
	if sum.Budget > 0 {
		facts = append(facts, [2]string{"budget", fmt.Sprintf("%d of %d may be unavailable at once", sum.Budget, sum.Replicas)})
	}
	facts = append(facts, [2]string{"claims", worksText(sum.ClaimsByWork)})
	if sum.CopiedBytes > 0 {
		facts = append(facts, [2]string{"bytes", "at most " + view.Size(sum.CopiedBytes) + " are copied; old and new volume exist until the end"})
	}
	for _, o := range d.Ordinals {
		if o.Outage != nil {
			facts = append(facts, [2]string{"outage", "of each ordinal " + o.Outage.Text})
			break
		}
	}
	back := "migrate rollback, at any moment until the change is completed"
	if sum.Stopped > 0 {
		back += "; the old volumes are kept"
	}
	if sum.ClaimsByWork[outlook.Expand] > 0 {
		back += "; a volume that has grown keeps its size"
	}
	return append(facts, [2]string{"back", back})
}

// worksText counts the claims by their work.
func worksText(by map[outlook.Work]int) string {
	var texts []string
	for _, work := range slices.Sorted(maps.Keys(by)) {
		texts = append(texts, fmt.Sprintf("%d %s", by[work], work))
	}
	return strings.Join(texts, ", ")
}

// claimsInPlace prints a line for each claim that differs, or for each claim.
func (p Printer) claimsInPlace(d outlook.Plan) {
	head := []string{"ORDINAL", "CLAIM", "DIFFERS", "WORK", "BYTES", "OUTAGE"}
	if p.Wide {
		head = append(head, "WHY")
	}
	t := terminal.Table{Head: head}
	rows := 0
	for _, o := range d.Ordinals {
		for _, c := range o.Claims {
			if c.Work == outlook.Nothing && !p.Wide {
				continue
			}
			rows++
			t.Add(nil, p.claimCells(o, c)...)
		}
	}
	if rows > 0 {
		_ = t.Write(p.Out, p.Paint) // Flush returns its error
		fmt.Fprintln(p.Out)
	}
}

func (p Printer) claimCells(o outlook.Ordinal, c outlook.Judged) []string {
	var fields, reasons []string
	for _, d := range c.Differs {
		fields = append(fields, fmt.Sprintf("%s %s -> %s", d.Field, cmp.Or(d.Claim, "none"), cmp.Or(d.Template, "none")))
		reasons = append(reasons, d.Reason)
	}
	for _, note := range c.Unknown {
		fields = append(fields, string(note.Field)+" ?")
		reasons = append(reasons, note.Reason)
	}
	bytes, outage := "-", "none"
	if c.Bytes > 0 {
		bytes = view.Size(c.Bytes)
	}
	if o.Outage != nil {
		outage, _, _ = strings.Cut(o.Outage.Text, ":")
	}
	cells := []string{strconv.Itoa(int(o.Ordinal)), c.Name, cmp.Or(strings.Join(fields, ", "), "-"), string(c.Work), bytes, outage}
	if p.Wide {
		cells = append(cells, strings.Join(reasons, "; "))
	}
	return cells
}

// stepsInPlace returns what happens, in order.
func stepsInPlace(d outlook.Plan) []string {
	var lines []string
	add := func(text string) { lines = append(lines, fmt.Sprintf("  %d  %s", len(lines)+1, text)) }
	if d.Recreated {
		add("recreate StatefulSet " + d.StatefulSet + " once with the new claim templates: its pods keep running, and keep their revision")
	}
	if d.Updated {
		add("write the new claim templates into StatefulSet " + d.StatefulSet + ": its pods keep running, and its claims stay")
	}
	by := d.Summary.ClaimsByWork
	if by[outlook.Expand]+by[outlook.Modify] > 0 {
		add("let the driver grow or modify volumes, one ordinal after the other, while their pods run; a pod is restarted, as its budget allows, if its node grows a file system only then")
	}
	if d.Summary.Stopped > 0 {
		add("for each ordinal, the highest first: fill new volumes while it runs; then evict its pod, as its budget allows; copy the changes, and compare")
		add("its claims are created again on the new volumes, and its pod starts; the old volumes are kept")
	}
	return append([]string{"What happens"}, lines...)
}
