package measure

import (
	"slices"
	"time"
)

// Timing is one move of an application.
type Timing struct {
	// Begin is the time of the decision to move the first ordinal.
	Begin time.Time
	// Arrived is when each ordinal was Ready at the destination, in their order.
	Arrived []time.Time
}

// PerOrdinal returns the time of the whole move divided by the number of ordinals, in seconds.
func (t Timing) PerOrdinal() float64 {
	return t.Arrived[len(t.Arrived)-1].Sub(t.Begin).Seconds() / float64(len(t.Arrived))
}

// Singles returns the seconds of each ordinal.
func (t Timing) Singles() []float64 {
	singles := make([]float64, 0, len(t.Arrived))
	last := t.Begin
	for _, arrived := range t.Arrived {
		singles = append(singles, arrived.Sub(last).Seconds())
		last = arrived
	}
	return singles
}

// Spread summarizes several measurements.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the spread of some values, or zero if there are none.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{Min: sorted[0], Median: median, Max: sorted[len(sorted)-1]}
}

// Share returns n divided by a number of things, or 0 if there are none.
func Share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
