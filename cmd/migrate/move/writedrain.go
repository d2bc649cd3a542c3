package move

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// errDraining is the error of a write that begins while the process stops.
var errDraining = errors.New("stopping: no further write is begun")

// writeDrain stops a run between two writes: while it drains, no write begins, and those in
// flight are waited for. A write that is cut off does no harm, but the user who asked to
// stop could not know its outcome.
type writeDrain struct {
	mu       sync.Mutex
	draining bool
	writing  sync.WaitGroup
}

// drain returns when no write is in flight any more.
func (d *writeDrain) drain() {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	d.writing.Wait()
}

// wrap adds it to a client's transport.
func (d *writeDrain) wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return drainedTransport{d, next} })
}

func (d *writeDrain) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return false
	}
	d.writing.Add(1)
	return true
}

type drainedTransport struct {
	drain *writeDrain
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t drainedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return t.next.RoundTrip(request)
	}
	if !t.drain.begin() {
		return nil, errDraining
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		t.drain.writing.Done()
		return nil, err
	}
	// The write is over when its answer has been read.
	response.Body = &drainedBody{response.Body, sync.OnceFunc(t.drain.writing.Done)}
	return response, nil
}

// WrappedRoundTripper lets client-go look inside.
func (t drainedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type drainedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *drainedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
