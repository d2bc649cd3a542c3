package main

import (
	"slices"
	"time"
)

// timing is one move of an application.
type timing struct {
	// begin is when it was decided to move the first ordinal.
	begin time.Time
	// arrived is when each ordinal was Ready at the destination, in their order.
	arrived []time.Time
}

// perOrdinal is the whole move divided by the ordinals, in seconds.
func (t timing) perOrdinal() float64 {
	return t.arrived[len(t.arrived)-1].Sub(t.begin).Seconds() / float64(len(t.arrived))
}

// singles are the seconds of each ordinal.
func (t timing) singles() []float64 {
	singles := make([]float64, 0, len(t.arrived))
	last := t.begin
	for _, arrived := range t.arrived {
		singles = append(singles, arrived.Sub(last).Seconds())
		last = arrived
	}
	return singles
}

// spread is what there is to say of many measurements.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{Min: sorted[0], Median: median, Max: sorted[len(sorted)-1]}
}
