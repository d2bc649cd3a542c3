package main

import (
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// Figure is what one phase looked like to the clients.
type Figure struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// WritesPerSecond and ReadsPerSecond are acknowledged.
	WritesPerSecond float64 `json:"writesPerSecond"`
	ReadsPerSecond  float64 `json:"readsPerSecond"`
	// Latency of acknowledged writes, in milliseconds.
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// Gap is the longest time in which no write of any client was acknowledged, ClientGap
	// the longest that any one worker of a client had to wait for the next of its own.
	Gap         float64   `json:"gap"`
	GapAt       time.Time `json:"gapAt"`
	ClientGap   float64   `json:"clientGap"`
	ClientGapAt time.Time `json:"clientGapAt"`
	ClientGapOf string    `json:"clientGapOf"`
	// Unknown are writes without an answer, by the end of their wait.
	Unknown int `json:"unknown"`
}

// measure looks at the operations that ended within a phase.
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
			byClient[op.Client] = nil // one that is never answered has the longest gap
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

// longest is the longest time without any of these, and when it began. The phase's ends bound it.
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

// percentile is the nearest rank; 0 of nothing.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(p*float64(len(values))))]
}
