package preview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/migration/view"
)

// stretch is a handoff of a plan.
type stretch struct {
	ordinal  int32
	steps    []Step
	from, to chart.Place
}

// stretches returns the handoffs of a plan, in order.
func (d Plan) stretches() []stretch {
	var all []stretch
	for i, step := range d.Steps {
		switch {
		case step.Phase != phaseHandoff:
			continue
		case d.Summary.MaxInFlight > 1 && extend(all, step):
		case i == 0 || d.Summary.MaxInFlight > 1 || !sameGroup(d.Steps[i-1], step):
			all = append(all, stretch{ordinal: *step.Ordinal, steps: d.Steps[i : i+1]})
		default:
			last := &all[len(all)-1]
			last.steps = d.Steps[i-len(last.steps) : i+1]
		}
	}
	for i := range all {
		all[i].from, all[i].to = chart.AtSource, chart.AtDestination
		if last := all[i].steps[len(all[i].steps)-1]; owns(last.Source, all[i].ordinal) {
			all[i].from, all[i].to = all[i].to, all[i].from
		}
	}
	return all
}

// extend adds a write to the handoff of its ordinal, which others interrupt. It reports whether there is one.
func extend(all []stretch, step Step) bool {
	at := slices.IndexFunc(all, func(s stretch) bool { return s.ordinal == *step.Ordinal })
	if at >= 0 {
		all[at].steps = append(slices.Clip(all[at].steps), step)
	}
	return at >= 0
}

func owns(slice *simulate.Forecast, ordinal int32) bool {
	return slice != nil && slice.Start <= ordinal && ordinal < slice.Start+slice.Replicas
}

// Chart returns the timeline of a plan, if each handoff takes the expected time. It does not include waits for a
// schedule, a gate or a user.
func (d Plan) Chart() chart.Chart {
	begin, each := time.Unix(0, 0).UTC(), planner.FirstHandoff
	if d.Summary.HandoffSeconds > 0 {
		each = time.Duration(d.Summary.HandoffSeconds) * time.Second
	}
	handoffs := d.stretches()
	c := chart.Chart{
		Title:  fmt.Sprintf("Expected timeline of StatefulSet %s/%s", d.Source.Namespace, d.Source.StatefulSet),
		Source: "at the source, " + d.Source.String(), Destination: "at the destination, " + d.Destination.String(),
		Begin: begin, End: begin.Add(each * time.Duration(max(1, d.Summary.rounds(len(handoffs))))), Relative: true,
		Replicas: d.Summary.Replicas, Budget: d.Summary.Budget, Available: []chart.Level{{From: begin, Value: d.Summary.Replicas}},
	}
	c.Description = fmt.Sprintf("%s, %s each; never fewer than %d of %d replicas are available.", view.Count(len(handoffs), "handoff"), view.Coarse(each), d.Summary.FewestAvailable, d.Summary.Replicas)
	spans := map[int32][]chart.Span{}
	for i, h := range handoffs {
		round := d.Summary.rounds(i+1) - 1
		from, to := begin.Add(each*time.Duration(round)), begin.Add(each*time.Duration(round+1))
		spans[h.ordinal] = []chart.Span{
			{From: begin, To: from, Place: h.from},
			{From: from, To: to, Place: chart.OnItsWay, Text: fmt.Sprintf("ordinal %d, writes %d to %d", h.ordinal, h.steps[0].Step, h.steps[len(h.steps)-1].Step)},
			{From: to, To: c.End, Place: h.to},
		}
		c.Available = append(c.Available, chart.Level{From: from, Value: fewest(h.steps)})
	}
	c.Available = append(c.Available, chart.Level{From: c.End, Value: d.Summary.Replicas})
	for _, ordinal := range d.ordinals(handoffs) {
		lane := chart.Lane{Label: fmt.Sprintf("%s-%d", d.Source.StatefulSet, ordinal), Spans: spans[ordinal]}
		if lane.Spans == nil {
			place := chart.AtSource
			if owns(d.Steps[0].Destination, ordinal) {
				place = chart.AtDestination
			}
			lane.Spans = []chart.Span{{From: begin, To: c.End, Place: place}}
		}
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}

// ordinals returns the ordinals of both slices and of the handoffs, the highest first.
func (d Plan) ordinals(handoffs []stretch) []int32 {
	var all []int32
	if len(d.Steps) > 0 {
		for _, slice := range []*simulate.Forecast{d.Steps[0].Source, d.Steps[0].Destination} {
			for i := range slices.Values(rangeOf(slice)) {
				all = append(all, i)
			}
		}
	}
	for _, h := range handoffs {
		all = append(all, h.ordinal)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	slices.Reverse(all)
	return all
}

func rangeOf(slice *simulate.Forecast) []int32 {
	if slice == nil {
		return nil
	}
	all := make([]int32, 0, slice.Replicas)
	for ordinal := slice.Start; ordinal < slice.Start+slice.Replicas; ordinal++ {
		all = append(all, ordinal)
	}
	return all
}

// Page returns the plan as a document: summary, timeline, findings, and every write.
func (d Plan) Page() page.Page {
	p := page.Page{
		Title: fmt.Sprintf("Plan for StatefulSet %s/%s", d.Source.Namespace, d.Source.StatefulSet),
		Lead:  fmt.Sprintf("From %s to %s. Nothing has been written.", d.Source, d.Destination),
		Note:  "Both clusters were read, and the planner that does the move was run over a model of them.",
	}
	found := page.Section{Title: "What was found", Head: []string{"", "Reason", "Object", "What was found", "Remedy"}}
	for _, f := range d.Findings {
		kind := "error"
		if f.Warning {
			kind = "warning"
		}
		found.Rows = append(found.Rows, []string{kind, f.Reason, f.Object, f.Message, f.Remedy})
	}
	if len(found.Rows) == 0 {
		found.Text = "Nothing stands in its way."
	}
	p.Sections = append(p.Sections, found)
	if len(d.Steps) == 0 {
		return p
	}
	for _, fact := range d.facts() {
		p.Facts = append(p.Facts, page.Fact{Name: fact[0], Value: fact[1]})
	}
	timeline := d.Chart()
	p.Chart = &timeline
	writes := page.Section{Title: "Writes", Head: []string{"No.", "Ordinal", "What is written", "Side", "Object", "Source after it", "Destination after it", "PDB", "Available"}}
	for _, step := range d.Steps {
		writes.Rows = append(writes.Rows, []string{
			strconv.Itoa(step.Step), ordinalCell(step.Ordinal), step.Action, string(step.Side), step.Object, sliceCell(step.Source), sliceCell(step.Destination),
			budgetCell(step.Source) + "/" + budgetCell(step.Destination), fmt.Sprintf("%d/%d", step.Available, d.Summary.Replicas),
		})
	}
	p.Sections = append(p.Sections, writes)
	if lines := (Printer{}).conclusion(d); len(lines) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Notes", Text: strings.Join(lines, " ")})
	}
	return p
}
