// Package probe measures what clients of an application see while it moves: it requests a URL again and again, and counts what
// becomes of the requests. No decision of a migration rests on it, and nothing waits for it.
package probe

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Sample is one request that has ended.
type Sample struct {
	// Start is when it was sent, and Took how long it lasted.
	Start time.Time
	Took  time.Duration
	// Failure is why it failed; empty: it succeeded.
	Failure string
}

// end is when a request has ended.
func (s Sample) end() time.Time { return s.Start.Add(s.Took) }

// edges are the upper edges, in milliseconds, by which requests that succeeded are counted. What takes longer is counted behind them.
var edges = [...]int64{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1250, 1500, 2000}

// Window sums up requests, whose samples it takes in the order in which they were sent. The zero value has none.
type Window struct {
	sent, ended, failed int64
	counts              [len(edges) + 1]int64
	longest, outage     time.Duration
	// failing is when the first request of the row of failures was sent that lasts; the zero value: the last request succeeded.
	failing time.Time
}

// Send counts a request that was sent.
func (w *Window) Send() { w.sent++ }

// Add counts a request that has ended.
func (w *Window) Add(s Sample) {
	w.ended++
	until := s.Start
	switch {
	case s.Failure != "":
		w.failed++
		if w.failing.IsZero() {
			w.failing = s.Start
		}
		until = s.end()
	default:
		w.counts[bucket(s.Took)]++
		w.longest = max(w.longest, s.Took)
	}
	if !w.failing.IsZero() {
		w.outage = max(w.outage, until.Sub(w.failing))
	}
	if s.Failure == "" {
		w.failing = time.Time{}
	}
}

// bucket is the index of the count for a duration.
func bucket(took time.Duration) int {
	at, _ := slices.BinarySearchFunc(edges[:], took, func(edge int64, took time.Duration) int {
		return int(time.Duration(edge)*time.Millisecond - took)
	})
	return at
}

// Figures are what a window is in a status.
func (w Window) Figures() api.ClientRequests {
	return api.ClientRequests{
		Requests: w.ended, Failed: w.failed, Unanswered: w.sent - w.ended,
		P50Milliseconds: w.within(50), P99Milliseconds: w.within(99), LongestMilliseconds: milliseconds(w.longest), OutageMilliseconds: milliseconds(w.outage),
	}
}

// within is in how many milliseconds at least so many of a hundred requests that succeeded had ended.
func (w Window) within(percent int64) int64 {
	need, seen := percent*(w.ended-w.failed), int64(0)
	for i, n := range w.counts[:len(edges)] {
		if seen += n; need > 0 && seen*100 >= need {
			return min(edges[i], milliseconds(w.longest))
		}
	}
	return milliseconds(w.longest)
}

// milliseconds rounds a duration up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// latencies are the counts of a window, without the zeros at their end.
func (w Window) latencies() []int64 {
	last := len(w.counts)
	for last > 0 && w.counts[last-1] == 0 {
		last--
	}
	return slices.Clone(w.counts[:last])
}

// recorded is the window of figures that were written, to count on from. What was unanswered then is left out, and a row of
// failures that lasted then counts as ended.
func recorded(f api.ClientRequests, latencies []int64) Window {
	w := Window{
		sent: f.Requests, ended: f.Requests, failed: f.Failed,
		longest: time.Duration(f.LongestMilliseconds) * time.Millisecond, outage: time.Duration(f.OutageMilliseconds) * time.Millisecond,
	}
	copy(w.counts[:], latencies)
	return w
}
