package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/view"
)

// mostHandoffs is how many handoffs are shown, so that the plan of a large application fits on a screen. The last
// handoff is always shown.
const mostHandoffs = 12

// brief prints a plan on one screen: the summary, the first handoff in full, and for each other handoff its range of
// writes and the state of both sides after it.
func (p Printer) brief(d Plan) {
	var prepare, restore []Step
	for _, step := range d.Steps {
		switch step.Phase {
		case phasePrepare:
			prepare = append(prepare, step)
		case phaseRestore:
			restore = append(restore, step)
		case phaseHandoff:
		}
	}
	p.part("Before the first handoff", prepare)
	p.handoffs(d.stretches(), d)
	p.part("In the end", restore)
}

// facts prints the summary of a plan, one fact a line.
func (p Printer) facts(d Plan) {
	for _, fact := range d.facts() {
		const width = 10
		fmt.Fprintln(p.Out, "  "+terminal.Pad(fact[0], width)+fact[1])
	}
	fmt.Fprintln(p.Out)
}

// facts returns the names and values of the summary.
func (d Plan) facts() [][2]string {
	sum := d.Summary
	facts := [][2]string{
		{"ordinals", fmt.Sprintf("%d of %d", sum.Ordinals, sum.Replicas)},
		{"budget", fmt.Sprintf("%d of %d may be unavailable at once; never fewer than %d available", sum.Budget, sum.Replicas, sum.FewestAvailable)},
		{"volumes", volumesText(sum)},
	}
	if sum.MaxInFlight > 1 {
		facts = append(facts, [2]string{"at once", sum.inFlightText()})
	}
	for _, t := range d.Templates {
		if t.Asked != nil {
			facts = append(facts, [2]string{"claims", fmt.Sprintf("those of %s at the destination: %s", t.ClaimTemplate, t.Asked.text())})
		}
	}
	if text := sum.timeText(); text != "" {
		facts = append(facts, [2]string{"time", text})
	}
	if sum.Outage != nil {
		facts = append(facts, [2]string{"outage", sum.outageText()})
	}
	if d.WayBack != "" {
		facts = append(facts, [2]string{"back", d.WayBack})
	}
	return append(facts, [2]string{"writes", fmt.Sprintf("%d; -o wide lists each", sum.Writes)})
}

// volumesText returns how many volumes each method carries.
func volumesText(sum Summary) string {
	if sum.Volumes+sum.Kept == 0 {
		return "none"
	}
	texts := make([]string, 0, len(sum.VolumesByMethod))
	for _, method := range slices.Sorted(maps.Keys(sum.VolumesByMethod)) {
		texts = append(texts, fmt.Sprintf("%d by %s", sum.VolumesByMethod[method], method))
	}
	if sum.Kept > 0 {
		texts = append(texts, view.Count(sum.Kept, "volume")+" left behind, parked and kept")
	}
	return strings.Join(texts, ", ")
}

// timeText returns the expected duration and the source of the estimate, or an empty string if there is none.
func (s Summary) timeText() string {
	if s.HandoffSeconds == 0 {
		return ""
	}
	text := fmt.Sprintf("about %s, with %s for each handoff", view.Coarse(s.total()), view.Coarse(s.each()))
	switch s.HandoffSource {
	case HandoffMeasured:
		return text + " as the longest so far"
	case HandoffSaid:
		return text + " as expectedHandoffSeconds says"
	default:
		return text + ": an assumption, until the first one is measured"
	}
}

// outageText returns how long each ordinal is down, in parts, and how long it must then stay Ready.
func (s Summary) outageText() string {
	text := "of each ordinal " + s.Outage.Text
	if s.SoakSeconds > 0 {
		text += "; then it must stay Ready for " + view.Coarse(s.soak())
	}
	return text
}

func (s Summary) soak() time.Duration { return time.Duration(s.SoakSeconds * float64(time.Second)) }

// part prints steps under a heading. Without steps it prints nothing.
func (p Printer) part(title string, steps []Step) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintln(p.Out, p.Paint.Bold(title))
	for _, r := range folded(steps) {
		fmt.Fprintln(p.Out, p.line(r))
	}
	fmt.Fprintln(p.Out)
}

// handoffs prints the first handoff in full and the others in one line each.
func (p Printer) handoffs(all []stretch, d Plan) {
	if len(all) == 0 {
		return
	}
	p.part(fmt.Sprintf("Handoff of ordinal %d%s", all[0].ordinal, d.after(all[0].steps)), all[0].steps)
	rest := all[1:]
	if len(rest) == 0 {
		return
	}
	table := terminal.Table{Head: []string{"The others, in the same way", "WRITES", "SOURCE", "DESTINATION", "PDB", "AVAILABLE"}}
	for i, h := range rest {
		if left := len(rest) - mostHandoffs; left > 0 && i >= mostHandoffs-1 && i < len(rest)-1 {
			if i == mostHandoffs-1 {
				table.Add(p.Paint.Dim, fmt.Sprintf("  ... %d more", left))
			}
			continue
		}
		first, last := h.steps[0], h.steps[len(h.steps)-1]
		table.Add(nil, fmt.Sprintf("  ordinal %d", h.ordinal), between(first.Step, last.Step), sliceCell(last.Source), sliceCell(last.Destination),
			budgetCell(last.Source)+"/"+budgetCell(last.Destination), fmt.Sprintf("%d/%d", fewest(h.steps), d.Summary.Replicas))
	}
	_ = table.Write(p.Out, p.Paint) // Flush returns its error
	fmt.Fprintln(p.Out)
}

// between returns a range of writes, or a single number.
func between(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// after returns the state of both sides after a handoff, and how many replicas are available during it.
func (d Plan) after(steps []Step) string {
	last := steps[len(steps)-1]
	return fmt.Sprintf(": source %s, destination %s after it, %d/%d available in it", sliceCell(last.Source), sliceCell(last.Destination), fewest(steps), d.Summary.Replicas)
}

func fewest(steps []Step) int32 {
	least := steps[0].Available
	for _, step := range steps {
		least = min(least, step.Available)
	}
	return least
}

// run is a step, with the number of following steps that do the same on its side for the next ordinals.
type run struct {
	Step
	alike int
}

// folded combines consecutive steps that do the same for one ordinal after the other.
func folded(steps []Step) []run {
	var out []run
	for _, step := range steps {
		if len(out) > 0 && step.Phase == phaseRestore && step.Ordinal != nil {
			if last := &out[len(out)-1]; last.Ordinal != nil && last.Verb == step.Verb && last.Side == step.Side {
				last.alike++
				continue
			}
		}
		out = append(out, run{Step: step})
	}
	return out
}

func (p Printer) line(r run) string {
	const width = 7
	number := strconv.Itoa(r.Step.Step)
	if r.alike == 0 {
		return "  " + terminal.Pad(number, width) + "  " + p.action(r.Step)
	}
	return "  " + terminal.Pad(number+"-"+strconv.Itoa(r.Step.Step+r.alike), width) + "  " + p.action(r.Step) + fmt.Sprintf(", and %d more like it", r.alike)
}

// answer returns the first line of a plan: whether the application can move, and the effect on its users. If it cannot
// move, the line states what to correct first.
func (d Plan) answer() string {
	what := fmt.Sprintf("StatefulSet %s from %s to %s", d.Source.StatefulSet, d.Source, d.Destination)
	switch {
	case d.Refused:
		first := d.Findings[slices.IndexFunc(d.Findings, func(f plan.Finding) bool { return !f.Warning })]
		return fmt.Sprintf("No: %s cannot move yet: %s. Correct %s first.", what, view.Count(Refusals(d.Findings), "refusal"), first.Reason)
	case d.Stalled != nil && d.Summary.Ordinals == 0:
		return fmt.Sprintf("No: the move of %s would begin, and stall before an ordinal has moved: %s.", what, d.Stalled.Reason)
	case d.Stalled != nil:
		return fmt.Sprintf("No: the move of %s would stall once %s moved: %s.", what, haveOf(d.Summary.Ordinals), d.Stalled.Reason)
	case d.Mode == api.ModeRollback || d.Mode == api.ModeRecover || len(d.Steps) == 0 || d.Summary.Ordinals == 0:
		return what
	case d.Standing == Underway:
		return fmt.Sprintf("Yes: %s can continue. %s", what, d.comesTo())
	default:
		return fmt.Sprintf("Yes: %s can move. %s", what, d.comesTo())
	}
}

func haveOf(ordinals int32) string {
	if ordinals == 1 {
		return "1 ordinal has"
	}
	return fmt.Sprintf("%d ordinals have", ordinals)
}

// comesTo returns how many ordinals move, how long that takes, how many are down at once and for how long each, and how
// much data is copied.
func (d Plan) comesTo() string {
	sum := d.Summary
	text := view.Count(int(sum.Ordinals), "ordinal")
	if sum.HandoffSeconds > 0 {
		text += " in about " + view.Coarse(sum.total())
	}
	text += fmt.Sprintf(", %d of %d down at once", sum.Replicas-sum.FewestAvailable, sum.Replicas)
	if sum.Outage != nil {
		text += ", each for about " + view.Coarse(time.Duration(sum.Outage.Seconds*float64(time.Second)))
		switch {
		case sum.Outage.Measured > 0:
		case sum.Outage.Rehearsed > 0:
			text += " (rehearsed)"
		default:
			text += " (assumed)"
		}
	}
	return text + "; " + cmp.Or(sum.copiedText(), "nothing is copied") + "."
}

// total returns the expected duration of all handoffs.
func (s Summary) total() time.Duration {
	return s.each() * time.Duration(s.rounds(int(s.Ordinals)))
}

// rounds returns how many handoffs run one after the other if so many run in all.
func (s Summary) rounds(handoffs int) int {
	most := max(1, int(s.MaxInFlight))
	return (handoffs + most - 1) / most
}

// setInFlight sets how many ordinals move at once.
func (s *Summary) setInFlight(of plan.Snapshot) {
	most, _, _ := planner.MostInFlight(of)
	if most < 2 {
		return
	}
	s.MaxInFlight, s.StartsInOrder = most, of.Source.Set.Ordered
	if of.Destination.Set.Presence == plan.Seen {
		s.StartsInOrder = of.Destination.Set.Ordered
	}
}

// inFlightText returns how many ordinals move at once, and how they start.
func (s Summary) inFlightText() string {
	text := fmt.Sprintf("up to %d neighboring ordinals are in flight, and count as unavailable; the next one begins when the first of them has arrived", s.MaxInFlight)
	if s.StartsInOrder {
		text += "; the destination starts them one after the other (podManagementPolicy OrderedReady)"
	}
	return text
}

func (s Summary) each() time.Duration { return time.Duration(s.HandoffSeconds) * time.Second }

// copiedText returns how much data is copied, or an empty string if none is.
func (s Summary) copiedText() string {
	count := s.VolumesByMethod[api.MethodCopy] + s.VolumesByMethod[api.MethodSnapshot]
	switch {
	case count == 0:
		return ""
	case s.CopiedBytes == 0:
		return view.Count(count, "volume") + " copied"
	default:
		return fmt.Sprintf("%s copied, of %s", view.Count(count, "volume"), view.Size(s.CopiedBytes))
	}
}

// wayBack returns how to move back, and until when each way is possible.
func wayBack(m *api.Migration) string {
	const back = "migrate rollback, at any moment until the move is completed; then "
	if m.Spec.Cleanup.Source == api.CleanupDelete {
		return back + "the StatefulSet of the source is deleted, and a move the other way creates it again"
	}
	return back + "a move the other way"
}

// filled returns, for each ordinal, the bytes of its volumes that are filled from other volumes.
func filled(s plan.Snapshot) map[int32]int64 {
	bytes := map[int32]int64{}
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Method.FillsSecond() {
			bytes[v.Ordinal] += v.Source.Volume.Size
		}
	}
	return bytes
}
