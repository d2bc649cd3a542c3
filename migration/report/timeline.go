package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Chart is the timeline of the report: each ordinal on both sides, what was available, and the stops. It begins
// when the migration did.
func (r Report) Chart() chart.Chart {
	c := chart.Chart{
		Title:       fmt.Sprintf("Timeline of StatefulSet %s/%s", r.Source.Namespace, r.Source.StatefulSet),
		Description: r.described(),
		Source:      "at " + r.Source.String(), Destination: "at " + r.Destination.String(),
		Begin: *r.Started, End: r.end(), Replicas: r.Replicas, Budget: r.Budget,
	}
	for ordinal := r.First + r.Replicas - 1; ordinal >= r.First; ordinal-- {
		c.Lanes = append(c.Lanes, chart.Lane{Label: fmt.Sprintf("%s-%d", r.Source.StatefulSet, ordinal), Spans: r.spans(c, ordinal)})
	}
	c.Available = r.levels(c)
	for _, s := range r.Stops {
		until := r.end()
		if s.End != nil {
			until = *s.End
		}
		c.Stops = append(c.Stops, chart.Stop{From: s.Start, To: until, Label: fmt.Sprintf("%s, %s", s.Reason, length(s.length(r.end())))})
	}
	return c
}

// described says what the timeline shows.
func (r Report) described() string {
	text := fmt.Sprintf("One row for each of %d ordinals from %s to %s; %d of %d were moved.", r.Replicas, moment(*r.Started), moment(r.end()), r.Moved, r.Total)
	if r.FewestAvailable != nil {
		text += fmt.Sprintf(" Never fewer than %d replicas were seen to be available; the budget asks for %d.", *r.FewestAvailable, r.Replicas-r.Budget)
	}
	return text + " The tables below say the same."
}

// spans are where an ordinal was. One that has no handoff is where it was last seen.
func (r Report) spans(c chart.Chart, ordinal int32) []chart.Span {
	var spans []chart.Span
	from, since := r.home(ordinal), c.Begin
	for _, h := range r.Handoffs {
		if h.Ordinal != ordinal {
			continue
		}
		begin, end := r.stopped(h), c.End
		if h.End != nil {
			end = *h.End
		}
		here, there := chart.AtSource, chart.AtDestination
		if h.Direction == api.Back {
			here, there = there, here
		}
		spans = append(
			spans, chart.Span{From: since, To: begin, Place: here},
			chart.Span{From: begin, To: end, Place: chart.OnItsWay, Text: fmt.Sprintf("ordinal %d %s, %s", ordinal, way(h.Direction), length(end.Sub(h.Start)))},
		)
		from, since = there, end
	}
	return append(spans, chart.Span{From: since, To: c.End, Place: from})
}

// home is where an ordinal was last seen.
func (r Report) home(ordinal int32) chart.Place {
	if d := r.Destination; d.Start <= ordinal && ordinal < d.Start+d.Replicas {
		return chart.AtDestination
	}
	return chart.AtSource
}

// stopped is when the ordinal of a handoff was stopped, by the log; without one, when its handoff began.
func (r Report) stopped(h Handoff) time.Time {
	until := r.end()
	if h.End != nil {
		until = *h.End
	}
	for _, e := range r.Entries {
		if e.Verb == plan.ScaleDown && e.Ordinal != nil && *e.Ordinal == h.Ordinal && !e.Time.Before(h.Start) && !e.Time.After(until) {
			return e.Time
		}
	}
	return h.Start
}

// levels are how many replicas were available: of a handoff the fewest that were seen in it, and
// all of them else.
func (r Report) levels(c chart.Chart) []chart.Level {
	levels := []chart.Level{{From: c.Begin, Value: r.Replicas}}
	for _, h := range slices.SortedFunc(slices.Values(r.Handoffs), func(a, b Handoff) int { return a.Start.Compare(b.Start) }) {
		if h.FewestAvailable == nil {
			continue
		}
		levels = append(levels, chart.Level{From: r.stopped(h), Value: *h.FewestAvailable})
		if h.End != nil {
			levels = append(levels, chart.Level{From: *h.End, Value: r.Replicas})
		}
	}
	return levels
}
