package clusters

import (
	"context"
	"io"
	"net/http"
	"time"
)

// timely bounds each request, the reading of its answer included. Of a watch it bounds the time until it is answered:
// what comes then comes for as long as the API server lets it (k8s.io/client-go, tools/cache: 5 to 10 minutes), and a
// connection that is lost ends it (k8s.io/apimachinery, util/net: pings of HTTP/2). The timeout of a http.Client
// would end every watch after that time, too.
type timely struct {
	http.RoundTripper
	timeout time.Duration
}

// lasting is a client like this one by which watches last. An API server is not told how long its requests may take.
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

// orCause says that it took too long where that is why a request ended.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == context.DeadlineExceeded { //nolint:errorlint // that very one is the cause
		return cause
	}
	return err
}

// watches says whether a request is a watch.
func watches(req *http.Request) bool {
	value := req.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// timelyBody is an answer that is read in time.
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
