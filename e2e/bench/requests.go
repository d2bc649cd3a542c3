package main

import (
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// requests counts what is sent to API servers. Watches are not counted.
type requests struct {
	reads, writes, refused atomic.Int64
}

// counts are the requests of a time.
type counts struct{ reads, writes, refused int64 }

func (r *requests) counts() counts {
	return counts{reads: r.reads.Load(), writes: r.writes.Load(), refused: r.refused.Load()}
}

func (c counts) sub(o counts) counts {
	return counts{c.reads - o.reads, c.writes - o.writes, c.refused - o.refused}
}

func (c counts) add(o counts) counts {
	return counts{c.reads + o.reads, c.writes + o.writes, c.refused + o.refused}
}

// watching returns a configuration whose requests are counted.
func (r *requests) watching(config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{r, next} })
	return counted
}

// counter counts the requests that go through it.
type counter struct {
	*requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	writes := isWrite(request.Method)
	switch {
	case writes:
		c.writes.Add(1)
	case request.URL.Query().Get("watch") == "":
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
