package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// planPrinter shows a plan to people.
type planPrinter struct {
	out   io.Writer
	paint painter
	wide  bool
}

func (p planPrinter) print(d planDocument) error {
	fmt.Fprintf(p.out, "%s\n\n", p.paint.bold(fmt.Sprintf("StatefulSet %s from %s to %s", d.Source.StatefulSet, d.Source, d.Destination)))
	if d.Split != nil {
		fmt.Fprintf(p.out, "The application is split: %s\n\n", strings.Join(d.Split.text(), "\n  "))
	}
	if text := findingsText(d.Findings, p.paint); text != "" {
		fmt.Fprintln(p.out, text)
	}
	if d.Refused {
		_, err := fmt.Fprintf(p.out, "Nothing would be changed: %s.\n", count(refusals(d.Findings), "error"))
		return err
	}
	if len(d.Steps) > 0 {
		if err := p.steps(d); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
	}
	for _, line := range p.conclusion(d) {
		fmt.Fprintln(p.out, line)
	}
	return nil
}

func (s planSide) String() string { return fmt.Sprintf("%s (cluster %s)", s.Namespace, s.Cluster) }

func (p planPrinter) steps(d planDocument) error {
	t := table{head: []string{"STEP", "ORDINAL", "ACTION", "SOURCE", "DESTINATION", "PDB", "AVAILABLE"}}
	if p.wide {
		t.head = append(t.head, "SIDE", "OBJECT", "VOLUME")
	}
	for i, step := range d.Steps {
		if i > 0 && !sameGroup(d.Steps[i-1], step) {
			t.blank()
		}
		cells := []string{
			strconv.Itoa(step.Step), ordinalCell(step.Ordinal), p.action(step), sliceCell(step.Source), sliceCell(step.Destination),
			budgetCell(step.Source) + "/" + budgetCell(step.Destination), fmt.Sprintf("%d/%d", step.Available, d.Summary.Replicas),
		}
		if p.wide {
			volume := step.Volume
			if volume == "" {
				volume = "-"
			}
			cells = append(cells, string(step.Side), step.Object, volume)
		}
		paint := func(text string) string { return text }
		if step.Phase != phaseHandoff {
			paint = p.paint.dim
		}
		t.add(paint, cells...)
	}
	return t.write(p.out, p.paint)
}

// action is what a step does. The names of volumes are long and say little: without
// -o wide people read the claim template instead.
func (p planPrinter) action(step planStep) string {
	if name, volume := strings.CutPrefix(step.Object, "persistentvolume/"); volume && !p.wide && step.Volume != "" {
		return strings.ReplaceAll(step.Action, name, step.Volume)
	}
	return step.Action
}

func sameGroup(a, b planStep) bool {
	if a.Phase != b.Phase {
		return false
	}
	return a.Phase != phaseHandoff || *a.Ordinal == *b.Ordinal
}

func ordinalCell(ordinal *int32) string {
	if ordinal == nil {
		return "-"
	}
	return strconv.Itoa(int(*ordinal))
}

func sliceCell(slice *migration.Forecast) string {
	if slice == nil {
		return "-"
	}
	return span(slice.Start, slice.Replicas)
}

func budgetCell(slice *migration.Forecast) string {
	if slice == nil || slice.MaxUnavailable == nil {
		return "-"
	}
	return strconv.Itoa(int(*slice.MaxUnavailable))
}

// conclusion is the last lines: what it comes to, and how to do it.
func (p planPrinter) conclusion(d planDocument) []string {
	var lines []string
	sum := d.Summary
	switch {
	case d.Stalled == nil && len(d.Steps) == 0:
		lines = append(lines, "Nothing is to do"+map[string]string{
			api.ReasonMoved: ": the move is completed", api.ReasonRolledBack: ": everything is at the source", api.ReasonRecovered: ": everything is at the source",
		}[d.Outcome]+".")
	case len(d.Steps) > 0:
		text := fmt.Sprintf("%s to move in %s; never fewer than %d of %d replicas available (disruption budget %d)",
			count(int(sum.Ordinals), "ordinal"), count(sum.Writes, "write"), sum.FewestAvailable, sum.Replicas, sum.Budget)
		if sum.Volumes > 0 {
			text += fmt.Sprintf("; %s carried over", count(sum.Volumes, "volume"))
		}
		lines = append(lines, p.paint.bold(text+"."))
	}
	switch {
	case d.Mode == api.ModeRecover:
		lines = append(lines, "These are the steps to the source; nothing is asked of the destination.")
	case d.Mode == api.ModeRollback:
		lines = append(lines, "The migration is being rolled back: these are the steps to the source.")
	case d.Mode == api.ModePause:
		lines = append(lines, "The migration is paused: these are the steps once it is resumed.")
	case d.Standing == underway && len(d.Steps) > 0:
		lines = append(lines, "The move is under way: these are the steps that are left.")
	}
	if d.SplitAfter != nil {
		lines = append(lines, p.splitAfter(d)...)
	}
	if d.Stalled != nil {
		lines = append(lines, p.paint.red("It would stall there: "+d.Stalled.Reason)+"\n  "+d.Stalled.Message)
		if d.Stalled.Remedy != "" {
			lines = append(lines, "  to mend it: "+d.Stalled.Remedy)
		}
	}
	return lines
}

// splitAfter says what an application is like that stays split, and the way out of what a
// budget of one side means for the other.
func (p planPrinter) splitAfter(d planDocument) []string {
	text := "In the end it stays split: " + strings.Join(d.SplitAfter.text(), "\n  ")
	if side, waits := d.SplitAfter.waits(); waits {
		text += fmt.Sprintf("\n  before maintenance of the %s: kubectl migrate budget %s -n %s --to %s; or begin with --split-budget %s", side, d.Source.StatefulSet, d.Source.Namespace, side, side)
	}
	return []string{text}
}

// findingsText shows what a preflight found, the errors first.
func findingsText(findings []migration.Finding, paint painter) string {
	var b strings.Builder
	for _, warning := range []bool{false, true} {
		for _, f := range findings {
			if f.Warning != warning {
				continue
			}
			label := paint.red("error    ")
			if warning {
				label = paint.yellow("warning  ")
			}
			fmt.Fprintf(&b, "%s%s\n         %s\n", label, paint.bold(f.Reason), f.Message)
			if f.Remedy != "" {
				fmt.Fprintf(&b, "         to mend it: %s\n", f.Remedy)
			}
		}
	}
	return b.String()
}

// refusals are the findings that forbid a move.
func refusals(findings []migration.Finding) int {
	n := 0
	for _, f := range findings {
		if !f.Warning {
			n++
		}
	}
	return n
}
