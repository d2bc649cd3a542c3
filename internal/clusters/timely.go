package clusters

import (
	"context"
	"io"
	"net/http"
	"time"
)

// timely limits the duration of each request, including the reading of its answer. For a watch, it limits only the time
// until the answer starts. After that, the API server ends the watch (k8s.io/client-go, tools/cache: 5 to 10 minutes), or
// HTTP/2 pings detect a lost connection (k8s.io/apimachinery, util/net). The timeout of an http.Client would end every
// watch.
type timely struct {
	http.RoundTripper
	timeout time.Duration
}

// lasting returns a copy of an HTTP client that does not time out watches. It does not send the timeout to the API server.
func lasting(of *http.Client) *http.Client {
	return &http.Client{Transport: timely{of.Transport, of.Timeout}}
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (t timely) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t timely) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.timeout <= 0 {
		return t.RoundTripper.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(t.timeout, func() { cancel(context.DeadlineExceeded) })
	end := func() {
		late.Stop()
		cancel(nil)
	}
	resp, err := t.RoundTripper.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end()
		return nil, orCause(ctx, err)
	}
	if watches(req) {
		late.Stop()
	}
	resp.Body = &timelyBody{resp.Body, ctx, end}
	return resp, nil
}

// orCause returns the timeout as the error if it ended a request.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == context.DeadlineExceeded { //nolint:errorlint // that very one is the cause
		return cause
	}
	return err
}

// watches reports whether a request is a watch.
func watches(req *http.Request) bool {
	value := req.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// timelyBody is a body that must be read before the timeout.
type timelyBody struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request whose answer it is
	end func()
}

// Read implements io.Reader.
func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns it as it is
		err = orCause(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *timelyBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
