package main

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// errBraked is the error of a write that begins while the process stops.
var errBraked = errors.New("stopping: no further write is begun")

// brake stops a run between two writes: while it drains, no write begins, and those in
// flight are waited for. A write that is cut off does no harm, but the user who asked to
// stop could not know its outcome.
type brake struct {
	mu      sync.Mutex
	pressed bool
	writing sync.WaitGroup
}

// press returns when no write is in flight any more.
func (b *brake) press() {
	b.mu.Lock()
	b.pressed = true
	b.mu.Unlock()
	b.writing.Wait()
}

// wrap adds it to a client's transport.
func (b *brake) wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return brakedTransport{b, next} })
}

func (b *brake) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pressed {
		return false
	}
	b.writing.Add(1)
	return true
}

type brakedTransport struct {
	brake *brake
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t brakedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return t.next.RoundTrip(request)
	}
	if !t.brake.begin() {
		return nil, errBraked
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		t.brake.writing.Done()
		return nil, err
	}
	// The write is over when its answer has been read.
	response.Body = &brakedBody{response.Body, sync.OnceFunc(t.brake.writing.Done)}
	return response, nil
}

// WrappedRoundTripper lets client-go look inside.
func (t brakedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

type brakedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *brakedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
