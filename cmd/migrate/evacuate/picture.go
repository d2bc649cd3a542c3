package evacuate

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/view"
)

// chart returns the picture, with the planned time of each move above its real one; nil if none has begun.
func (r course) chart() *chart.Chart {
	if r.Started == nil {
		return nil
	}
	c := &chart.Chart{
		Title: fmt.Sprintf("Evacuation %s/%s", r.Namespace, r.Name), Description: "A row for each StatefulSet; the tables below say the same.",
		Source: "at cluster " + r.Cluster, Destination: "at the destination", Away: "an ordinal is down", Begin: *r.Started, End: r.endFrom(*r.Started),
	}
	for _, m := range r.Migrations {
		c.Lanes = append(c.Lanes, m.lane(c.Begin, c.End, r.Time))
	}
	return c
}

// endFrom returns the end of the picture: that of the plan, of the last move, or of the one that is expected to end last.
func (r course) endFrom(begin time.Time) time.Time {
	end := begin.Add(inSeconds(ptr.Deref(r.PlannedSeconds, 0)))
	if last := r.ended(); last != nil && last.After(end) {
		end = *last
	}
	if !r.settled && r.Time.After(end) {
		end = r.Time
	}
	if r.Ends != nil && r.Ends.After(end) {
		end = *r.Ends
	}
	return end
}

// lane returns the row of a set: at the source until an ordinal of it is down for the first time.
func (m moved) lane(begin, end, now time.Time) chart.Lane {
	lane, since := chart.Lane{Label: m.title()}, begin
	if m.obstructs() {
		lane.Mark = string(m.State) + ": " + m.Message
	}
	if m.Planned != nil {
		from, to := begin.Add(time.Duration(m.Planned.BeginSeconds)*time.Second), begin.Add(time.Duration(m.Planned.EndSeconds)*time.Second)
		lane.Planned = &chart.Span{From: from, To: to, Text: m.title() + ", planned from " + m.planned()}
	}
	place := chart.AtSource
	for _, h := range m.handoffs {
		if h.Stopped == nil || h.DownSeconds == nil {
			continue
		}
		up := h.Stopped.Add(inSeconds(*h.DownSeconds))
		lane.Spans = append(
			lane.Spans,
			chart.Span{From: since, To: *h.Stopped, Place: place},
			chart.Span{From: *h.Stopped, To: up, Place: chart.OnItsWay, Text: fmt.Sprintf("ordinal %d down for %s", h.Ordinal, view.Duration(inSeconds(*h.DownSeconds)))},
		)
		since = up
	}
	if m.State == api.EvacuatedMoved {
		lane.Spans = append(lane.Spans, chart.Span{From: since, To: end, Place: chart.AtDestination})
		return lane
	}
	if until := earlier(now, end); until.After(since) {
		lane.Spans = append(lane.Spans, chart.Span{From: since, To: until, Place: place})
	}
	if m.Expected != nil {
		lane.Spans = append(lane.Spans, chart.Span{From: m.Expected.Begin, To: m.Expected.End, Place: chart.Expected, Text: m.title() + ", expected until " + moment(&m.Expected.End)})
	}
	return lane
}

// obstructs reports whether the Migration itself needs a change, and not one that it comes after.
func (m moved) obstructs() bool {
	switch m.State {
	case api.EvacuatedStalled, api.EvacuatedMissing:
		return true
	case api.EvacuatedPaused:
		return !m.held
	default:
		return false
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
