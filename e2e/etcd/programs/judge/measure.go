package main

import (
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// Figure holds the measurements of one phase from the view of the clients.
type Figure struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// WritesPerSecond and ReadsPerSecond count acknowledged operations.
	WritesPerSecond float64 `json:"writesPerSecond"`
	ReadsPerSecond  float64 `json:"readsPerSecond"`
	// Latency of acknowledged writes, in milliseconds.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// Gap is the longest time in which no write of any client was acknowledged, ClientGap the longest time between two
	// acknowledged writes of one worker of a client.
	Gap         float64   `json:"gap"`
	GapAt       time.Time `json:"gapAt"`
	ClientGap   float64   `json:"clientGap"`
	ClientGapAt time.Time `json:"clientGapAt"`
	ClientGapOf string    `json:"clientGapOf"`
	// Unknown counts the writes without an answer before their timeout.
	Unknown int `json:"unknown"`
}

// measure measures the operations that ended within a phase.
func measure(all []history.Operation, phase Phase) Figure {
	f := Figure{Name: phase.Name, Seconds: phase.Until.Sub(phase.From).Seconds()}
	var reads int
	var latencies []float64
	var acknowledged []time.Time
	byClient := map[string][]time.Time{}
	for _, op := range all {
		inside := !op.End.Before(phase.From) && op.End.Before(phase.Until)
		switch {
		case !inside:
		case op.Kind == history.Read && op.Outcome == history.OK:
			reads++
		case op.Kind == history.Write && op.Outcome == history.OK:
			latencies = append(latencies, op.End.Sub(op.Start).Seconds()*1000)
			acknowledged = append(acknowledged, op.End)
			byClient[op.Client] = append(byClient[op.Client], op.End)
		case op.Kind == history.Write:
			f.Unknown++
		}
		if _, seen := byClient[op.Client]; !seen {
			byClient[op.Client] = nil // a worker without any answer has the longest gap
		}
	}
	f.WritesPerSecond, f.ReadsPerSecond = float64(len(acknowledged))/f.Seconds, float64(reads)/f.Seconds
	f.P50, f.P99, f.Max = percentile(latencies, 0.5), percentile(latencies, 0.99), percentile(latencies, 1)
	f.Gap, f.GapAt = longest(acknowledged, phase)
	for client, times := range byClient {
		if gap, at := longest(times, phase); gap > f.ClientGap {
			f.ClientGap, f.ClientGapAt, f.ClientGapOf = gap, at, client
		}
	}
	return f
}

// longest returns the longest time between two of these times, bounded by the phase's ends, and its start.
func longest(times []time.Time, phase Phase) (seconds float64, from time.Time) {
	slices.SortFunc(times, time.Time.Compare)
	last := phase.From
	for _, at := range append(times, phase.Until) {
		if gap := at.Sub(last).Seconds(); gap > seconds {
			seconds, from = gap, last
		}
		last = at
	}
	return seconds, from
}

// percentile returns the nearest rank, or 0 if there are no values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(p*float64(len(values))))]
}
