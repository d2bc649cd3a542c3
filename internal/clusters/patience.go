package clusters

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// mostRetryAfter bounds how long an API server may have a client wait before it asks again: client-go waits as long as it is
// asked to, ten times, with the worker of whoever asks.
const mostRetryAfter = 2 * time.Second

// patience shortens what an answer asks a client to wait.
type patience struct{ next http.RoundTripper }

// Impatient has the clients of a config wait no longer than mostRetryAfter, whatever an API server asks them to.
func Impatient(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patience{next} })
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (p patience) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements http.RoundTripper.
func (p patience) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	const header, most = "Retry-After", int(mostRetryAfter / time.Second)
	if seconds, err := strconv.Atoi(resp.Header.Get(header)); err == nil && seconds > most {
		resp.Header.Set(header, strconv.Itoa(most))
	}
	return resp, nil
}

// searched is what a search for a kind has come to.
type searched struct {
	mapping *meta.RESTMapping
	err     error
}

// search asks the API server where a kind is served, no longer than one request may take: it is several requests, and none of
// them ends with the context of whoever asks.
func (r resources) search(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if r.within <= 0 {
		return r.RESTMapper.RESTMapping(kind, versions...)
	}
	done := make(chan searched, 1)
	go func() {
		mapping, err := r.RESTMapper.RESTMapping(kind, versions...)
		done <- searched{mapping, err}
	}()
	late := time.NewTimer(r.within)
	defer late.Stop()
	select {
	case of := <-done:
		return of.mapping, of.err
	case <-late.C:
		return nil, &LateError{Kind: kind, Within: r.within}
	}
}

// LateError is that an API server has not said in time where a kind is served.
type LateError struct {
	Kind   schema.GroupKind
	Within time.Duration
}

// Error implements error.
func (e *LateError) Error() string {
	return "the API server has not said within " + e.Within.String() + " whether it serves " + e.Kind.String()
}

// Timeout implements net.Error's.
func (e *LateError) Timeout() bool { return true }
