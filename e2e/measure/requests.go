package measure

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Requests counts the requests to API servers, except watches.
type Requests struct {
	// Skip selects requests that are not counted; may be nil.
	Skip func(*http.Request) bool

	reads, writes, refused, dryRuns atomic.Int64
}

// Counts are the requests of a period. Refused counts the writes that the API server refused. DryRuns change nothing
// and do not count as writes. The metrics of a process do not separate them: counts from metrics include them in the
// writes.
type Counts struct{ Reads, Writes, Refused, DryRuns int }

// Counts returns the requests so far.
func (r *Requests) Counts() Counts {
	return Counts{Reads: int(r.reads.Load()), Writes: int(r.writes.Load()), Refused: int(r.refused.Load()), DryRuns: int(r.dryRuns.Load())}
}

// Sub returns the requests since before.
func (c Counts) Sub(before Counts) Counts {
	return Counts{c.Reads - before.Reads, c.Writes - before.Writes, c.Refused - before.Refused, c.DryRuns - before.DryRuns}
}

// Add returns the sum.
func (c Counts) Add(o Counts) Counts {
	return Counts{c.Reads + o.Reads, c.Writes + o.Writes, c.Refused + o.Refused, c.DryRuns + o.DryRuns}
}

// Watching returns a configuration whose requests are counted.
func (r *Requests) Watching(config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{r, next} })
	return counted
}

// counter counts the requests that it forwards.
type counter struct {
	*Requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.Skip != nil && c.Skip(request) {
		return c.next.RoundTrip(request)
	}
	query := request.URL.Query()
	dryRun := isWrite(request.Method) && query.Get("dryRun") != ""
	writes := isWrite(request.Method) && !dryRun
	switch {
	case dryRun:
		c.dryRuns.Add(1)
	case writes:
		c.writes.Add(1)
	case query.Get("watch") == "":
		c.reads.Add(1)
	}
	response, err := c.next.RoundTrip(request)
	if writes && (err != nil || response.StatusCode >= http.StatusBadRequest) {
		c.refused.Add(1)
	}
	return response, err
}

func isWrite(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

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
