package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/sliceshift/sliceshift/internal/clusters/podlist"
	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// What a cluster may answer. Its API server is not trusted: who wrote the kubeconfig chose
// it, and the process that asks it works for others too. Sizes are those after
// decompression, which net/http does below a guard.
const (
	// MaxAnswer bounds one answer that is not a watch. An API server's own etcd has 2 GiB at
	// most by default (etcd, --quota-backend-bytes) and a list of 10000 pods has about so much.
	MaxAnswer = 64 << 20
	// MaxList bounds all pages of one list after the first, and one watch, which may begin
	// with a list of its own (KEP-3157). A watch that has brought so much is begun anew.
	MaxList = 256 << 20
	// MaxEvent bounds one event of a watch, as the decoder of client-go does, which has read
	// the whole event by then (apimachinery, serializer/streaming, NewDecoder).
	MaxEvent = 16 << 20
	// MaxStatus bounds an answer that is an error.
	MaxStatus = 1 << 20
)

// ErrTooMuch is what an answer is that is larger than is read of one.
var ErrTooMuch = errors.New("sends more than is read")

type atMostKey struct{}

// AtMost bounds each answer that is read under the context that it returns to so many bytes, where that
// is less than what bounds all.
func AtMost(ctx context.Context, bytes int64) context.Context {
	if less, bounds := ctx.Value(atMostKey{}).(int64); bounds {
		bytes = min(bytes, less)
	}
	return context.WithValue(ctx, atMostKey{}, bytes)
}

// jsonType and protobufType are what an API server answers in.
const (
	jsonType     = "application/json"
	protobufType = runtime.ContentTypeProtobuf
)

// limits are the bounds of a guard.
type limits struct{ answer, list, event int64 }

var defaultLimits = limits{MaxAnswer, MaxList, MaxEvent}

// guard lets through only what an API server answers. It follows no redirect: that would
// carry requests, and what is answered to them, to addresses that nobody has checked. Errors
// that are no Status of Kubernetes are reduced to their code, so that the answers of
// something else never appear in a status or a log.
type guard struct {
	cluster string
	next    http.RoundTripper
	limits  limits
	decoder runtime.Decoder

	// allowance bounds what is held of all answers; nil: nothing does.
	allowance room

	// buffers are for answers that are read whole, one after the other.
	buffers sync.Pool

	mu sync.Mutex
	// paged is how much the pages of a list have brought, by its path.
	paged map[string]int64
	// tabs are of what nobody holds for a time of its own, by its path: lists of views, until
	// they watch, and what is served, until it is asked again.
	tabs map[string]*tab
}

func newGuard(cluster string, next http.RoundTripper, scheme *runtime.Scheme, allowance room) *guard {
	return &guard{
		cluster: cluster, next: next, limits: defaultLimits, allowance: allowance, paged: map[string]int64{}, tabs: map[string]*tab{},
		decoder: serializer.NewCodecFactory(scheme).UniversalDeserializer(),
		buffers: sync.Pool{New: func() any { return &bytes.Buffer{} }},
	}
}

// guarded is a client like this one that is guarded. The other one may be shared.
func guarded(cluster string, of *http.Client, scheme *runtime.Scheme, allowance room) (*http.Client, *guard) {
	next := of.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	g := newGuard(cluster, next, scheme, allowance)
	return &http.Client{Transport: g, Timeout: of.Timeout}, g
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(g.weighable(req))
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		_ = resp.Body.Close() // nothing of it is used
		return nil, fmt.Errorf("cluster %s answered with a redirect (HTTP %d), and redirects are not followed; set the address of the API server itself in the kubeconfig", g.cluster, code)
	case code < http.StatusOK || code > http.StatusPartialContent:
		return g.failure(resp)
	}
	return g.success(req, resp)
}

// weighable asks for an answer in JSON, which is weighed as it is read, where what is held of answers is bounded. A client of
// metadata alone asks for protobuf first, whatever it is configured for (client-go metadata, ConfigFor).
func (g *guard) weighable(req *http.Request) *http.Request {
	if g.allowance == nil || podlist.Takes(req.Context()) {
		return req
	}
	var inJSON []string
	for one := range strings.SplitSeq(req.Header.Get("Accept"), ",") {
		if !strings.Contains(one, protobufType) {
			inJSON = append(inJSON, one)
		}
	}
	accept := strings.Join(inJSON, ",")
	if accept == "" || accept == req.Header.Get("Accept") {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set("Accept", accept)
	return req
}

// failure leaves a Status of Kubernetes of an answer that is an error, or else its code.
func (g *guard) failure(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxStatus))
	if err != nil {
		return nil, fmt.Errorf("cluster %s answered HTTP %d, and its answer ended early: %w", g.cluster, resp.StatusCode, err)
	}
	kind := jsonType
	if data = g.status(data); data == nil {
		kind, data = "text/plain", fmt.Appendf(nil, "cluster %s answered HTTP %d without a Status of Kubernetes", g.cluster, resp.StatusCode)
	}
	answer := *resp
	answer.Header = resp.Header.Clone()
	answer.Header.Set("Content-Type", kind)
	answer.Header.Set("Content-Length", strconv.Itoa(len(data)))
	answer.Header.Del("Content-Encoding")
	answer.ContentLength, answer.TransferEncoding = int64(len(data)), nil
	answer.Body = io.NopCloser(bytes.NewReader(data))
	return &answer, nil
}

// status is the Status of Kubernetes that an answer holds, in JSON; nil when it holds none.
func (g *guard) status(data []byte) []byte {
	object, _, err := g.decoder.Decode(data, nil, nil)
	status, ok := object.(*metav1.Status)
	if err != nil || !ok {
		return nil
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	out, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	return out
}

// success bounds what is read of an answer that is none.
func (g *guard) success(req *http.Request, resp *http.Response) (*http.Response, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	trims := podlist.Takes(req.Context()) && kind == protobufType
	if resp.StatusCode != http.StatusNoContent && (err != nil || kind != jsonType && (kind != protobufType || g.allowance != nil && !trims)) {
		_ = resp.Body.Close() // nothing of it is used
		return nil, fmt.Errorf("cluster %s answered HTTP %d, and not as an API server of Kubernetes does; check the address in the kubeconfig", g.cluster, resp.StatusCode)
	}
	query := req.URL.Query()
	body := &bounded{ReadCloser: resp.Body, cluster: g.cluster}
	watched := watches(req)
	switch {
	case watched:
		body.left, body.event = g.limits.list, g.limits.event
	case query.Has("continue"):
		body.left, body.read = min(g.limits.answer, g.limits.list-g.readOf(req.URL.Path, 0)), func(n int) { g.readOf(req.URL.Path, n) }
	default:
		body.left = g.limits.answer
		if most, bounds := req.Context().Value(atMostKey{}).(int64); bounds {
			body.left = min(body.left, most)
		}
		if query.Has("limit") {
			g.forget(req.URL.Path)
		}
	}
	if g.allowance != nil {
		body.passes = watched
		if body.tab = g.tabOf(req, watched, query.Has("continue")); body.tab == nil {
			body.tab, body.own = &tab{of: g.allowance}, true
		}
	}
	if kind == jsonType && (watched || g.allowance != nil) {
		body.scanner = &weigh.Scanner{}
	}
	resp.Body = body
	if trims {
		return g.trimmed(req.Context(), resp, body)
	}
	return resp, nil
}

// trimmed reads a list of pods, and leaves of it what was not taken. What is taken is booked before it is decoded.
func (g *guard) trimmed(ctx context.Context, resp *http.Response, body *bounded) (*http.Response, error) {
	defer body.ReadCloser.Close()
	whole := g.buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is put there
	defer g.buffers.Put(whole)
	whole.Reset()
	var data []byte
	_, err := whole.ReadFrom(body)
	if err == nil {
		data, err = podlist.Take(ctx, whole.Bytes(), body.book)
		body.unbook(weigh.Byte * int64(whole.Len()))
	}
	switch {
	case errors.Is(err, ErrTooMuch), errors.Is(err, podlist.ErrNoRoom):
		body.settle()
		return nil, body.tooMuch("for one namespace")
	case err != nil && !errors.Is(err, podlist.ErrNoPods):
		body.settle()
		return nil, err
	case err != nil:
		body.settle()
		return nil, fmt.Errorf("cluster %s answered HTTP %d, and not as an API server of Kubernetes does (%w); check the address in the kubeconfig", g.cluster, resp.StatusCode, err)
	}
	answer := *resp
	answer.Header = resp.Header.Clone()
	answer.Header.Set("Content-Length", strconv.Itoa(len(data)))
	answer.Header.Del("Content-Encoding")
	answer.ContentLength, answer.TransferEncoding = int64(len(data)), nil
	answer.Body = &booked{Reader: bytes.NewReader(data), body: body}
	return &answer, nil
}

// booked is what was read of a body, which ends what is booked of that.
type booked struct {
	io.Reader
	body *bounded
}

// Close implements io.Closer.
func (b *booked) Close() error {
	b.body.settle()
	return nil
}

// tabOf is where an answer is booked; nil: on its own, for as long as it is read.
func (g *guard) tabOf(req *http.Request, watches, goesOn bool) *tab {
	if held, found := tabIn(req.Context(), g.allowance); found {
		return held
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.tabs[req.URL.Path]
	if before != nil && !goesOn {
		before.clear()
	}
	if watches {
		return nil
	}
	if before == nil {
		before = &tab{of: g.allowance}
		g.tabs[req.URL.Path] = before
	}
	return before
}

// close returns all that is booked on nobody's time.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tabs {
		t.close()
	}
}

// readOf adds to how much the pages of a list have brought, and returns it.
func (g *guard) readOf(path string, n int) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paged[path] += int64(n)
	return g.paged[path]
}

// forget is for a list that begins.
func (g *guard) forget(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.paged, path)
}

// bounded is a body of which no more than so much can be read.
type bounded struct {
	io.ReadCloser
	cluster string
	left    int64
	// read is told how much was read; nil: nobody is.
	read func(int)
	// event bounds each value of it; 0: nothing does.
	event   int64
	scanner *weigh.Scanner
	// tab is where it is booked: with passes only until each value has ended; own is true when
	// nothing else is.
	tab         *tab
	passes, own bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read != nil {
		b.read(n)
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, b.tooMuch("of one answer")
	}
	if b.scanner == nil {
		if !b.book(weigh.Byte * int64(n)) {
			return 0, b.tooMuch("for one namespace")
		}
		return n, err
	}
	before := b.scanner.Weight
	if !b.scanner.Read(p[:n], b.event) {
		return 0, b.tooMuch("of one event")
	}
	more := b.scanner.Weight - before
	if !b.passes {
		more += b.scanner.Ended
	}
	b.scanner.Ended = 0
	if !b.book(more) {
		return 0, b.tooMuch("for one namespace")
	}
	return n, err
}

// book says whether there is room for so much more, and takes it.
func (b *bounded) book(weight int64) bool { return b.tab == nil || b.tab.take(weight) }

// unbook is for what is not held any more.
func (b *bounded) unbook(weight int64) {
	if b.tab != nil {
		b.tab.give(weight)
	}
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	b.settle()
	return b.ReadCloser.Close()
}

// settle returns what is booked of it alone.
func (b *bounded) settle() {
	if b.own {
		b.tab.close()
	}
}

func (b *bounded) tooMuch(of string) error { return tooMuch(b.cluster, of) }

func tooMuch(cluster, of string) error {
	return fmt.Errorf("cluster %s %w %s; see what it holds so much of, or whether its address leads to an API server of Kubernetes", cluster, ErrTooMuch, of)
}
