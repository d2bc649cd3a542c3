package view

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Pace is how long handoffs took, of those that the status lists and that went the way that is gone now.
type Pace struct {
	Handoffs int `json:"handoffs"`
	// MedianSeconds, ShortestSeconds and LongestSeconds are of one handoff.
	MedianSeconds   int64 `json:"medianSeconds"`
	ShortestSeconds int64 `json:"shortestSeconds"`
	LongestSeconds  int64 `json:"longestSeconds"`

	mean time.Duration
	left int32
}

// Left returns how long the ordinals that are left take if each takes the mean, at a time; 0: none is left. The one in flight has used a
// part of its mean.
func (p Pace) Left(handoff *Handoff, now time.Time) time.Duration {
	left := p.mean * time.Duration(p.left)
	if handoff != nil {
		left -= min(p.mean, max(0, now.Sub(handoff.StartTime)))
	}
	return max(0, left)
}

// PaceOf is the pace of a migration; nil: no handoff has come to its end this way.
func PaceOf(m *api.Migration) *Pace {
	if m.Status.History == nil {
		return nil
	}
	direction := directionOf(m)
	var took []time.Duration
	var sum time.Duration
	for _, h := range m.Status.History.Handoffs {
		if h.Direction == direction && h.Outcome == "" && !h.Stayed {
			each := max(0, h.EndTime.Sub(h.StartTime.Time))
			took = append(took, each)
			sum += each
		}
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	pace := &Pace{
		Handoffs: len(took), MedianSeconds: seconds(took[len(took)/2]), ShortestSeconds: seconds(took[0]), LongestSeconds: seconds(took[len(took)-1]),
	}
	pace.mean, pace.left = sum/time.Duration(len(took)), m.Status.Total-m.Status.Moved
	if direction == api.Back {
		pace.left = m.Status.Moved
	}
	return pace
}

func seconds(d time.Duration) int64 { return int64(d.Round(time.Second) / time.Second) }
