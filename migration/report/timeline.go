package report

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report/chart"
)

// Chart returns the timeline of the report: each ordinal on both sides, the available replicas, and the stops.
// It begins with the migration.
func (r Report) Chart() chart.Chart {
	c := chart.Chart{
		Title:       fmt.Sprintf("Timeline of StatefulSet %s/%s", r.Source.Namespace, r.Source.StatefulSet),
		Description: r.described(),
		Source:      "at " + r.Source.String(), Destination: "at " + r.Destination.String(), Away: "down",
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

// described returns the description of the timeline.
func (r Report) described() string {
	text := fmt.Sprintf("One row for each of %d ordinals from %s to %s; %d of %d were moved.", r.Replicas, moment(*r.Started), moment(r.end()), r.Moved, r.Total)
	if r.FewestAvailable != nil {
		text += fmt.Sprintf(" Never fewer than %d replicas were seen to be available; the budget asks for %d.", *r.FewestAvailable, r.Replicas-r.Budget)
	}
	return text + " The tables below say the same."
}

// spans returns the places of an ordinal over time. An ordinal without a handoff is where it was last observed.
func (r Report) spans(c chart.Chart, ordinal int32) []chart.Span {
	var spans []chart.Span
	place, since, first := r.home(ordinal), c.Begin, true
	for i, h := range r.Handoffs {
		if h.Ordinal != ordinal {
			continue
		}
		here, there := chart.AtSource, chart.AtDestination
		if h.Direction == api.Back {
			here, there = there, here
		}
		if first {
			if place, first = here, false; h.Direction == api.Back && r.DroppedHandoffs == 0 {
				place = chart.AtSource // the way there was turned back, and is not listed
			}
		}
		from, to, down := r.away(i)
		if !down {
			continue
		}
		if from.After(since) {
			spans = append(spans, chart.Span{From: since, To: from, Place: place})
		}
		spans = append(spans, chart.Span{From: from, To: to, Place: chart.OnItsWay, Text: r.said(h)})
		place, since = there, to
	}
	return append(spans, chart.Span{From: since, To: c.End, Place: place})
}

// said returns the tooltip for the time in which an ordinal is down.
func (r Report) said(h Handoff) string {
	text := fmt.Sprintf("ordinal %d %s", h.Ordinal, way(h.Direction))
	if h.Outcome == api.HandoffTurnedBack {
		text += ", turned back"
	}
	took := length(r.until(h).Sub(h.Start))
	switch {
	case h.DownSeconds != nil:
	case h.Stopped != nil:
		return fmt.Sprintf("%s, %s; it is not known how long it was down", text, took)
	default:
		return fmt.Sprintf("%s, %s; it is not known when it was stopped", text, took)
	}
	if soak := h.soak(); soak != "" {
		return fmt.Sprintf("%s, %s; down: %s; Ready before it counted: %s", text, took, h.down(), soak)
	}
	return fmt.Sprintf("%s, %s; down: %s", text, took, h.down())
}

// home returns where an ordinal was last observed.
func (r Report) home(ordinal int32) chart.Place {
	if d := r.Destination; d.Start <= ordinal && ordinal < d.Start+d.Replicas {
		return chart.AtDestination
	}
	return chart.AtSource
}

// levels returns the number of available replicas over time: the lowest observed number while the ordinal of a
// handoff was down, and all replicas at other times.
func (r Report) levels(c chart.Chart) []chart.Level {
	levels := []chart.Level{{From: c.Begin, Value: r.Replicas}}
	var ended *time.Time
	for i, h := range r.Handoffs {
		from, to, down := r.away(i)
		if !down || h.FewestAvailable == nil && h.Stopped == nil {
			continue
		}
		fewest := r.Replicas - 1
		if h.FewestAvailable != nil {
			fewest = *h.FewestAvailable
		}
		if ended != nil && from.Equal(*ended) && r.turned(i) {
			levels = levels[:len(levels)-1] // the same ordinal, which has been down all the time
		}
		levels, ended = append(levels, chart.Level{From: from, Value: fewest}), h.End
		if h.End != nil || h.Ready != nil {
			levels = append(levels, chart.Level{From: to, Value: r.Replicas})
		}
	}
	return levels
}

// turned reports whether a handoff is the way back of one that was turned back.
func (r *Report) turned(nth int) bool {
	before, found := r.before(nth)
	return found && before.Outcome == api.HandoffTurnedBack
}
