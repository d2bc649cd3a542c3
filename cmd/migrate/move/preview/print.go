package preview

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Printer prints a plan as text.
type Printer struct {
	Out   io.Writer
	Paint terminal.Painter
	// Wide prints each step in its own line, with its object.
	Wide bool
}

// Print prints the summary, the findings and the steps.
func (p Printer) Print(d Plan) error {
	return p.buffered(func(p Printer) { p.plan(d) })
}

// buffered prints by a buffer, which keeps the first error of Out.
func (p Printer) buffered(show func(Printer)) error {
	out := bufio.NewWriter(p.Out)
	p.Out = out
	show(p)
	return out.Flush()
}

func (p Printer) plan(d Plan) {
	fmt.Fprintf(p.Out, "%s\n\n", p.Paint.Bold(d.Answer))
	if d.Split != nil {
		fmt.Fprintf(p.Out, "The application is split: %s\n\n", strings.Join(d.Split.Text(), "\n  "))
	}
	if len(d.Steps) > 0 && !p.Wide {
		p.facts(d)
	}
	if text := FindingsText(d.Findings, p.Paint); text != "" {
		fmt.Fprintln(p.Out, text)
	}
	for _, t := range d.Templates {
		if p.Wide || t.refusedFor() {
			fmt.Fprintf(p.Out, "%s\n\n", strings.Join(t.text(d.Findings), "\n"))
		}
	}
	if d.Refused {
		fmt.Fprintf(p.Out, "Nothing would be changed: %s.\n", view.Count(Refusals(d.Findings), "error"))
		return
	}
	p.steps(d)
}

// steps prints the steps on one screen, or each of them, and the conclusion.
func (p Printer) steps(d Plan) {
	switch {
	case len(d.Steps) == 0:
	case p.Wide:
		_ = p.Steps(d) // Flush returns its error
		fmt.Fprintln(p.Out)
	default:
		p.brief(d)
	}
	for _, line := range p.conclusion(d) {
		fmt.Fprintln(p.Out, line)
	}
}

// String returns the side for display.
func (s Side) String() string { return fmt.Sprintf("%s (cluster %s)", s.Namespace, s.Cluster) }

// Steps prints the table of the steps.
func (p Printer) Steps(d Plan) error {
	head := []string{"STEP", "ORDINAL", "ACTION", "SOURCE", "DESTINATION", "PDB", "AVAILABLE"}
	if p.Wide {
		head = append(head, "SIDE", "OBJECT", "VOLUME")
	}
	return terminal.WriteRows(p.Out, terminal.Row{Cells: head, Paint: p.Paint.Bold}, func(yield func(terminal.Row) bool) {
		for i, step := range d.Steps {
			if i > 0 && !sameGroup(d.Steps[i-1], step) && !yield(terminal.Row{}) {
				return
			}
			row := terminal.Row{Cells: p.cells(d, step)}
			if step.Phase != phaseHandoff {
				row.Paint = p.Paint.Dim
			}
			if !yield(row) {
				return
			}
		}
	})
}

func (p Printer) cells(d Plan, step Step) []string {
	cells := []string{
		strconv.Itoa(step.Step), ordinalCell(step.Ordinal), p.action(step), sliceCell(step.Source), sliceCell(step.Destination),
		budgetCell(step.Source) + "/" + budgetCell(step.Destination), fmt.Sprintf("%d/%d", step.Available, d.Summary.Replicas),
	}
	if p.Wide {
		cells = append(cells, string(step.Side), step.Object, cmp.Or(step.Volume, "-"))
	}
	return cells
}

// action returns what a step does. Wide output names volumes, and other output their claim templates.
func (p Printer) action(step Step) string {
	if p.Wide {
		return step.Action
	}
	return Brief(step.Action, step.PersistentVolume, step.Volume)
}

func sameGroup(a, b Step) bool {
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

func sliceCell(slice *simulate.Forecast) string {
	if slice == nil {
		return "-"
	}
	return plan.Span(slice.Start, slice.Replicas)
}

func budgetCell(slice *simulate.Forecast) string {
	if slice == nil || slice.MaxUnavailable == nil {
		return "-"
	}
	return strconv.Itoa(int(*slice.MaxUnavailable))
}

// conclusion returns the last lines: the result, and how to start the move.
func (p Printer) conclusion(d Plan) []string {
	var lines []string
	sum := d.Summary
	switch {
	case d.Stalled == nil && len(d.Steps) == 0:
		lines = append(lines, "There is nothing to do"+map[string]string{
			api.ReasonMoved: ": the move is completed", api.ReasonRolledBack: ": everything is at the source", api.ReasonRecovered: ": everything is at the source",
		}[d.Outcome]+".")
	case len(d.Steps) > 0 && p.Wide:
		text := fmt.Sprintf("%s to move in %s; never fewer than %d of %d replicas available (disruption budget %d)",
			view.Count(int(sum.Ordinals), "ordinal"), view.Count(sum.Writes, "write"), sum.FewestAvailable, sum.Replicas, sum.Budget)
		if sum.Volumes > 0 {
			text += fmt.Sprintf("; %s carried over", view.Count(sum.Volumes, "volume"))
		}
		if sum.Kept > 0 {
			text += fmt.Sprintf("; %s left behind, parked and kept", view.Count(sum.Kept, "volume"))
		}
		lines = append(lines, p.Paint.Bold(text+"."))
	}
	switch {
	case d.Mode == api.ModeRecover:
		lines = append(lines, "These are the steps to the source; nothing is asked of the destination.")
	case d.Mode == api.ModeRollback:
		lines = append(lines, "The migration is being rolled back: these are the steps to the source.")
	case d.Mode == api.ModePause:
		lines = append(lines, "The migration is paused: these are the steps once it is resumed.")
	case d.Standing == Underway && len(d.Steps) > 0:
		lines = append(lines, "The move is under way: these are the steps that are left.")
	}
	if d.SplitAfter != nil {
		lines = append(lines, d.SplitAfter.after())
	}
	if len(d.Gates) > 0 && len(d.Steps) > 0 {
		lines = append(lines, "It waits until its health gates pass, which are not asked here: "+gatesText(d.Gates))
	}
	if d.Schedule != nil && len(d.Steps) > 0 {
		lines = append(lines, d.Schedule.text())
	}
	if d.Stalled != nil {
		lines = append(lines, p.Paint.Red("It would stall there: "+d.Stalled.Reason)+"\n  "+d.Stalled.Message)
		if d.Stalled.Remedy != "" {
			lines = append(lines, "  "+terminal.Remedy(d.Stalled.Remedy))
		}
	}
	return lines
}

// gatesText returns which gates are evaluated at which points.
func gatesText(gates []api.HealthGate) string {
	texts := make([]string, 0, len(gates))
	for _, gate := range gates {
		points := make([]string, 0, len(gate.At))
		for _, at := range gate.At {
			points = append(points, string(at))
		}
		text := gate.Name + " " + strings.Join(points, ", ")
		if gate.DryRun {
			text += " (only warns)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// after describes an application that remains split. If the budget of one side blocks a drain on the other, it adds the
// remedy.
func (s Split) after() string {
	text := "In the end it stays split: " + strings.Join(s.Text(), "\n  ")
	if s.Remedy != "" {
		text += "\n  " + s.Remedy
	}
	return text
}
