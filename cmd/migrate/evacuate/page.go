package evacuate

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// chart returns the picture: a row for each set, which is away while an ordinal of it is down.
func (d document) chart() chart.Chart {
	begin := time.Unix(0, 0).UTC()
	c := chart.Chart{
		Title:       fmt.Sprintf("Expected evacuation of cluster %s to %s", d.Source, d.Destination),
		Description: d.lead(),
		Source:      "at cluster " + d.Source, Destination: "at cluster " + d.Destination, Away: "an ordinal is down",
		Begin: begin, End: begin.Add(d.plan.Lasts), Relative: true,
	}
	for _, r := range d.plan.Rows {
		lane := chart.Lane{Label: r.Set.String()}
		since := begin
		for _, h := range r.Handoffs {
			lane.Spans = append(
				lane.Spans,
				chart.Span{From: since, To: begin.Add(h.Down), Place: chart.AtSource},
				chart.Span{From: begin.Add(h.Down), To: begin.Add(h.Up), Place: chart.OnItsWay, Text: fmt.Sprintf("%s, ordinal %d: down from +%s for %s", r.Set.String(), h.Ordinal, view.Coarse(h.Down), view.Coarse(h.Up-h.Down))},
			)
			since = begin.Add(h.Up)
		}
		lane.Spans = append(lane.Spans, chart.Span{From: since, To: c.End, Place: chart.AtDestination})
		c.Lanes = append(c.Lanes, lane)
	}
	return c
}

// page returns the plan as one document.
func (d document) page() page.Page {
	picture := d.chart()
	p := page.Page{
		Title: fmt.Sprintf("Evacuation of cluster %s to %s", d.Source, d.Destination),
		Lead:  d.lead() + " Nothing has been written.",
		Note:  "Both clusters were read. The times are expected if each handoff takes the time of earlier ones, or of an assumption.",
		Facts: []page.Fact{
			{Name: "StatefulSets", Value: fmt.Sprintf("%d: %d move, %d cannot, %d are held by these, %d have no replicas", d.Summary.StatefulSets, d.Summary.Moving, d.Summary.Refused, d.Summary.Held, d.Summary.Idle)},
			{Name: "Ordinals", Value: strconv.Itoa(d.Summary.Ordinals)},
			{Name: "Volumes", Value: fmt.Sprintf("%s, of which %s are new", view.Size(d.Summary.Bytes), view.Size(d.Summary.FilledBytes))},
			{Name: "Time", Value: "about " + view.Coarse(d.plan.Lasts)},
		},
	}
	if len(d.StatefulSets) > 0 {
		p.Chart = &picture
	}
	moving := page.Section{Title: "What moves", Head: d.table().Head}
	for _, r := range d.plan.Rows {
		moving.Rows = append(moving.Rows, cells(r))
	}
	p.Sections = append(p.Sections, moving, d.refusals(), d.dependencies(), d.roomsSection())
	if len(d.Notes) > 0 {
		notes := page.Section{Title: "What this plan does not know", Head: []string{"Note"}}
		for _, note := range d.Notes {
			notes.Rows = append(notes.Rows, []string{note})
		}
		p.Sections = append(p.Sections, notes)
	}
	return p
}

// refusals returns the sets that cannot move.
func (d document) refusals() page.Section {
	s := page.Section{Title: "What cannot move", Head: []string{"Reason", "StatefulSet", "Why", "What to do"}}
	for _, c := range d.Causes {
		for _, set := range c.StatefulSets {
			s.Rows = append(s.Rows, []string{c.Reason, set.Namespace + "/" + set.Name, set.Finding.Message, set.Finding.Remedy})
		}
	}
	for _, h := range d.Held {
		s.Rows = append(s.Rows, []string{"held", h.Namespace + "/" + h.Name, fmt.Sprintf("it depends on %s/%s, which cannot move: %s", h.On.Namespace, h.On.Name, h.Why), ""})
	}
	if len(s.Rows) == 0 {
		s.Text = "All of them can."
	}
	return s
}

// dependencies returns why sets wait for others.
func (d document) dependencies() page.Section {
	s := page.Section{Title: "What waits for what", Head: []string{"StatefulSet", "Waits for", "Why"}}
	for _, r := range d.StatefulSets {
		for _, e := range r.After {
			s.Rows = append(s.Rows, []string{r.Namespace + "/" + r.Name, e.Namespace + "/" + e.Name, e.Why})
		}
	}
	for _, h := range d.Ignored {
		s.Rows = append(s.Rows, []string{h.Namespace + "/" + h.Name, "not for " + h.On.Namespace + "/" + h.On.Name, h.Why})
	}
	if len(s.Rows) == 0 {
		s.Text = "None depends on another one."
	}
	return s
}

// roomsSection returns what the destination needs.
func (d document) roomsSection() page.Section {
	s := page.Section{Title: "What the destination needs", Head: []string{"Resource", "Needs", "Free", "Fits"}}
	for _, r := range d.Rooms {
		s.Rows = append(s.Rows, r.cells())
	}
	for _, u := range d.Unplaced {
		s.Rows = append(s.Rows, []string{"a node", u.text(), "", "no"})
	}
	return s
}
