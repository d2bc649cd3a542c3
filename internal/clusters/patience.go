package clusters

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// mostRetryAfter limits the Retry-After of an API server. client-go waits as long as requested, up to ten times, and blocks
// its worker meanwhile.
const mostRetryAfter = 2 * time.Second

// patience shortens the Retry-After of an answer.
type patience struct{ next http.RoundTripper }

// Impatient limits the waits of the config's clients to mostRetryAfter.
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

// searched is the result of a search for a kind.
type searched struct {
	mapping *meta.RESTMapping
	err     error
}

// search asks the API server where a kind is served, for at most the timeout of one request. It needs several requests, and
// none of them ends with the caller's context.
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

// LateError is the error of an API server that did not report in time where a kind is served.
type LateError struct {
	Kind   schema.GroupKind
	Within time.Duration
}

// Error implements error.
func (e *LateError) Error() string {
	return "the API server has not said within " + e.Within.String() + " whether it serves " + e.Kind.String()
}

// Timeout implements net.Error.
func (e *LateError) Timeout() bool { return true }
