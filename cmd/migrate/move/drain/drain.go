// Package drain stops a process between two writes.
package drain

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// ErrStopping is the error of a write that begins while the process stops.
var ErrStopping = errors.New("stopping: no further write is begun")

// Writes stops a run between two writes. While it drains, no write begins, and Wait waits for those in flight.
// Interrupting a write does no harm, but the user who requested the stop could not know its outcome.
type Writes struct {
	mu       sync.Mutex
	draining bool
	writing  sync.WaitGroup
}

// Wait begins to drain, and returns when no write is in flight any more.
func (d *Writes) Wait() {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	d.writing.Wait()
}

// Wrap adds d to a client's transport.
func (d *Writes) Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{d, next} })
}

func (d *Writes) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return false
	}
	d.writing.Add(1)
	return true
}

type transport struct {
	drain *Writes
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	// A request to upgrade the connection, such as port-forward, writes nothing and needs the original body.
	connects := request.Header.Get("Upgrade") != ""
	if connects || request.Method == http.MethodGet || request.Method == http.MethodHead {
		return t.next.RoundTrip(request)
	}
	if !t.drain.begin() {
		return nil, ErrStopping
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		t.drain.writing.Done()
		return nil, err
	}
	// The write is complete when its response has been read.
	response.Body = &body{response.Body, sync.OnceFunc(t.drain.writing.Done)}
	return response, nil
}

// WrappedRoundTripper gives client-go access to the inner transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

type body struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
