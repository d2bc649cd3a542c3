package view

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Pace is the duration of the completed handoffs that the status lists for the current direction.
type Pace struct {
	Handoffs int `json:"handoffs"`
	// MedianSeconds, ShortestSeconds and LongestSeconds are durations of one handoff.
	MedianSeconds   int64 `json:"medianSeconds"`
	ShortestSeconds int64 `json:"shortestSeconds"`
	LongestSeconds  int64 `json:"longestSeconds"`

	mean time.Duration
	left int32
}

// Spread is the shortest, the median and the longest of some durations.
type Spread struct{ Shortest, Median, Longest time.Duration }

// SpreadOf returns the spread of at least one duration.
func SpreadOf(durations []time.Duration) Spread {
	sorted := slices.Sorted(slices.Values(durations))
	last := len(sorted) - 1
	return Spread{sorted[0], (sorted[last/2] + sorted[len(sorted)/2]) / 2, sorted[last]}
}

// Left returns the remaining time if each remaining ordinal takes the mean; 0 if none remains. The ordinal in
// flight has already used a part of its mean.
func (p Pace) Left(handoff *Handoff, now time.Time) time.Duration {
	left := p.mean * time.Duration(p.left)
	if handoff != nil {
		left -= min(p.mean, max(0, now.Sub(handoff.StartTime)))
	}
	return max(0, left)
}

// PaceOf returns the pace of a migration; nil if no handoff was completed in the current direction.
func PaceOf(m *api.Migration) *Pace {
	direction := m.Status.Fence.Heading()
	took := Took(m.Status.History, direction)
	if len(took) == 0 {
		return nil
	}
	var sum time.Duration
	for _, each := range took {
		sum += each
	}
	of := SpreadOf(took)
	pace := &Pace{Handoffs: len(took), MedianSeconds: seconds(of.Median), ShortestSeconds: seconds(of.Shortest), LongestSeconds: seconds(of.Longest)}
	pace.mean, pace.left = sum/time.Duration(len(took)), m.Status.Total-m.Status.Moved
	if direction == api.Back {
		pace.left = m.Status.Moved
	}
	return pace
}

// Took returns the durations of the handoffs in a direction that a history lists and that have arrived.
func Took(history *api.History, direction api.Direction) (took []time.Duration) {
	if history == nil {
		return nil
	}
	for _, h := range history.Handoffs {
		if h.Direction == direction && h.Outcome == "" && !h.Stayed {
			took = append(took, max(0, h.EndTime.Sub(h.StartTime.Time)))
		}
	}
	return took
}

func seconds(d time.Duration) int64 { return int64(d.Round(time.Second) / time.Second) }
