// Package probe measures the availability of an application for its clients during a move: it requests a URL
// repeatedly and counts the results. No decision of a migration depends on it, and nothing waits for it.
package probe

import (
	"slices"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Sample is one request that has ended.
type Sample struct {
	// Start is when it was sent, and Took how long it lasted.
	Start time.Time
	Took  time.Duration
	// Failure is why it failed; empty if it succeeded.
	Failure string
}

// end returns when a request ended.
func (s Sample) end() time.Time { return s.Start.Add(s.Took) }

// edges are the upper bounds of the histogram of successful requests, in milliseconds. Slower requests are
// counted in an additional bucket.
var edges = [...]int64{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1250, 1500, 2000}

// Window summarizes requests, whose samples it takes in the order in which they were sent. The zero value is
// empty.
type Window struct {
	sent, ended, failed int64
	counts              [len(edges) + 1]int64
	longest, outage     time.Duration
	// failing is when the first request of the current series of failures was sent; zero if the last request
	// succeeded.
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

// bucket returns the index of the bucket for a duration.
func bucket(took time.Duration) int {
	at, _ := slices.BinarySearchFunc(edges[:], took, func(edge int64, took time.Duration) int {
		return int(time.Duration(edge)*time.Millisecond - took)
	})
	return at
}

// Figures returns the window as it is stored in a status.
func (w Window) Figures() api.ClientRequests {
	return api.ClientRequests{
		Requests: w.ended, Failed: w.failed, Unanswered: w.sent - w.ended,
		P50Milliseconds: w.within(50), P99Milliseconds: w.within(99), LongestMilliseconds: milliseconds(w.longest), OutageMilliseconds: milliseconds(w.outage),
	}
}

// within returns an upper bound for a percentile of the durations of successful requests, in milliseconds.
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

// latencies returns the histogram of a window without trailing zeros.
func (w Window) latencies() []int64 {
	last := len(w.counts)
	for last > 0 && w.counts[last-1] == 0 {
		last--
	}
	return slices.Clone(w.counts[:last])
}

// recorded returns a window that continues counts in a status. It ignores requests that were unanswered, and
// ends a series of failures that was not over.
func recorded(f api.ClientRequests, latencies []int64) Window {
	w := Window{
		sent: f.Requests, ended: f.Requests, failed: f.Failed,
		longest: time.Duration(f.LongestMilliseconds) * time.Millisecond, outage: time.Duration(f.OutageMilliseconds) * time.Millisecond,
	}
	copy(w.counts[:], latencies)
	return w
}
