package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// Rehearsal compares the move with its rehearsal.
type Rehearsal struct {
	Time time.Time `json:"time"`
	// ExpectedSeconds is how long each ordinal was expected to be down, and DownSeconds the median of the move; nil until
	// an ordinal has arrived. DifferencePercent is how much longer that was than expected.
	ExpectedSeconds   float64  `json:"expectedSeconds"`
	DownSeconds       *float64 `json:"downSeconds,omitempty"`
	DifferencePercent *float64 `json:"differencePercent,omitempty"`
	// StartSeconds is how long the start of a pod took in the rehearsal, and MovedStartSeconds the median of the move;
	// nil if it is not known.
	StartSeconds      float64  `json:"startSeconds"`
	MovedStartSeconds *float64 `json:"movedStartSeconds,omitempty"`
	// Text is all of this as text for the user.
	Text string `json:"text"`
}

// WithRehearsal adds the comparison with a rehearsal of the move. A rehearsal after the move began is not one of it.
func (r Report) WithRehearsal(result rehearsal.Result, m *api.Migration) Report {
	base := m.Status.Baseline
	if base == nil || result.Time.After(base.StartTime.Time) {
		return r
	}
	c := &Rehearsal{Time: result.Time, ExpectedSeconds: view.Exact(result.Outage().Lasts()), StartSeconds: result.Seconds}
	c.Text = fmt.Sprintf("expected %s down for each, with a start of %s", brief(c.ExpectedSeconds), brief(c.StartSeconds))
	if down := r.medianDown(); down != nil && c.ExpectedSeconds > 0 {
		c.DownSeconds = down
		c.DifferencePercent = new(math.Round((*down - c.ExpectedSeconds) / c.ExpectedSeconds * 100))
		c.Text += fmt.Sprintf("; the move had %s, %s", brief(*down), difference(*c.DifferencePercent))
	}
	if measured := volumes.OutageOf(m.Status.History, api.Forward); measured.Measured > 0 {
		c.MovedStartSeconds = new(view.Exact(measured.Start))
		c.Text += ", with a start of " + brief(*c.MovedStartSeconds)
	}
	r.Rehearsal = c
	return r
}

// medianDown returns the median downtime of the ordinals that have arrived at the destination; nil if there are none.
func (r Report) medianDown() *float64 {
	var all []float64
	for _, h := range r.Handoffs {
		if h.Direction == api.Forward && h.End != nil && h.Outcome == "" && !h.Stayed && h.DownSeconds != nil {
			all = append(all, *h.DownSeconds)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	last := len(all) - 1
	return new((all[last/2] + all[len(all)/2]) / 2)
}

func difference(percent float64) string {
	switch {
	case percent > 0:
		return fmt.Sprintf("%.0f %% longer", percent)
	case percent < 0:
		return fmt.Sprintf("%.0f %% shorter", -percent)
	default:
		return "as expected"
	}
}

func brief(seconds float64) string {
	return volumes.Brief(time.Duration(seconds * float64(time.Second)))
}
