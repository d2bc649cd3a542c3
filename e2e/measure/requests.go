package measure

import (
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// requests counts the requests to API servers, except watches.
type requests struct {
	reads, writes, refused, dryRuns atomic.Int64
}

// Counts are the requests of a period. Refused counts the writes that the API server refused. DryRuns change nothing
// and do not count as writes. The metrics of a process do not separate them: counts from metrics include them in the
// writes.
type Counts struct{ Reads, Writes, Refused, DryRuns int }

func (r *requests) counts() Counts {
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

// watching returns a configuration whose requests are counted.
func (r *requests) watching(config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{r, next} })
	return counted
}

// counter counts the requests that it forwards.
type counter struct {
	*requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
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
