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

	"github.com/sliceshift/sliceshift/internal/clusters/lists"
	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// Limits of a cluster's answers. An API server is untrusted: the author of the kubeconfig chose it, and this process serves
// other tenants too. Sizes are after decompression, which net/http does below a guard.
const (
	// MaxAnswer limits one answer that is not a watch. By default, the etcd of an API server has at most 2 GiB (etcd,
	// --quota-backend-bytes). A list of 10000 pods has about 64 MiB.
	MaxAnswer = 64 << 20
	// MaxList limits all pages of one list after the first, and one watch, which may begin with a list (KEP-3157). A watch
	// that reaches the limit is restarted.
	MaxList = 256 << 20
	// MaxEvent limits one watch event. The decoder of client-go has the same limit, but applies it after it has read the
	// whole event (apimachinery, serializer/streaming, NewDecoder).
	MaxEvent = 16 << 20
	// MaxStatus limits an error answer.
	MaxStatus = 1 << 20
)

// ErrTooMuch is the error of an answer that exceeds its limit.
var ErrTooMuch = errors.New("sends more than is read")

type atMostKey struct{}

// AtMost limits each answer under the returned context to this many bytes, if that is less than the general limit.
func AtMost(ctx context.Context, bytes int64) context.Context {
	if less, bounds := ctx.Value(atMostKey{}).(int64); bounds {
		bytes = min(bytes, less)
	}
	return context.WithValue(ctx, atMostKey{}, bytes)
}

// jsonType and protobufType are the content types of an API server.
const (
	jsonType     = "application/json"
	protobufType = runtime.ContentTypeProtobuf
)

// limits are the limits of a guard.
type limits struct{ answer, list, event int64 }

var defaultLimits = limits{MaxAnswer, MaxList, MaxEvent}

// guard passes only answers of an API server. It does not follow redirects, because a redirect could send requests to an
// address that was never checked. Error answers that are not a Status of Kubernetes are reduced to their code, so that
// content of another server never appears in a status or a log.
type guard struct {
	cluster string
	next    http.RoundTripper
	limits  limits
	decoder runtime.Decoder

	// allowance limits the memory for all answers. nil means no limit.
	allowance room

	// buffers holds the buffers for answers that are read as a whole.
	buffers sync.Pool

	mu sync.Mutex
	// paged counts the bytes of a list's pages, by path.
	paged map[string]int64
	// tabs holds the charges that belong to no reader's holding, by path: the lists of views, until they watch, and
	// discovery, until it is repeated.
	tabs map[string]*tab
}

func newGuard(cluster string, next http.RoundTripper, scheme *runtime.Scheme, allowance room) *guard {
	return &guard{
		cluster: cluster, next: next, limits: defaultLimits, allowance: allowance, paged: map[string]int64{}, tabs: map[string]*tab{},
		decoder: serializer.NewCodecFactory(scheme).UniversalDeserializer(),
		buffers: sync.Pool{New: func() any { return &bytes.Buffer{} }},
	}
}

// guarded returns a guarded copy of an HTTP client. The original may be shared.
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
		_ = resp.Body.Close() // the body is not used
		return nil, fmt.Errorf("cluster %s answered with a redirect (HTTP %d), and redirects are not followed; set the address of the API server itself in the kubeconfig", g.cluster, code)
	case code < http.StatusOK || code > http.StatusPartialContent:
		return g.failure(resp)
	}
	return g.success(req, resp)
}

// weighable removes protobuf from the Accept header if the memory for answers is limited, because only JSON can be estimated
// while it is read. A metadata client asks for protobuf first, regardless of its config (client-go metadata, ConfigFor).
func (g *guard) weighable(req *http.Request) *http.Request {
	if g.allowance == nil || lists.Takes(req.Context()) {
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

// failure reduces an error answer to its Status of Kubernetes, or to its code.
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

// status returns the Status of Kubernetes in an answer as JSON, or nil.
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

// success limits a successful answer.
func (g *guard) success(req *http.Request, resp *http.Response) (*http.Response, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	trims := lists.Takes(req.Context()) && kind == protobufType
	if resp.StatusCode != http.StatusNoContent && (err != nil || kind != jsonType && (kind != protobufType || g.allowance != nil && !trims)) {
		_ = resp.Body.Close() // the body is not used
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

// trimmed reads a list, takes its items from it, and returns the rest as the answer. Each item is charged before it is
// decoded.
func (g *guard) trimmed(ctx context.Context, resp *http.Response, body *bounded) (*http.Response, error) {
	defer body.ReadCloser.Close()
	whole := g.buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds only buffers
	defer g.buffers.Put(whole)
	whole.Reset()
	var data []byte
	_, err := whole.ReadFrom(body)
	if err == nil {
		data, err = lists.Take(ctx, whole.Bytes(), body.book)
		body.unbook(weigh.Byte * int64(whole.Len()))
	}
	switch {
	case errors.Is(err, ErrTooMuch), errors.Is(err, lists.ErrNoRoom):
		body.settle()
		return nil, body.tooMuch(lists.Scope(ctx))
	case err != nil && !errors.Is(err, lists.ErrNoList):
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

// booked is the rest of an answer. Its Close settles the charge of the whole answer.
type booked struct {
	io.Reader
	body *bounded
}

// Close implements io.Closer.
func (b *booked) Close() error {
	b.body.settle()
	return nil
}

// tabOf returns the tab for an answer, or nil if the answer gets a tab of its own while it is read.
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

// close returns the memory of all tabs.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tabs {
		t.close()
	}
}

// readOf adds n to the bytes of a list's pages, and returns the sum.
func (g *guard) readOf(path string, n int) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paged[path] += int64(n)
	return g.paged[path]
}

// forget resets the count when a list restarts.
func (g *guard) forget(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.paged, path)
}

// bounded is a body with a size limit.
type bounded struct {
	io.ReadCloser
	cluster string
	left    int64
	// read is called with the number of bytes read. It may be nil.
	read func(int)
	// event limits each value of the body. 0 means no limit.
	event   int64
	scanner *weigh.Scanner
	// tab is charged for the body. If passes is true, each value is charged only until its end. If own is true, the tab is
	// used for nothing else.
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

// book charges a weight, and reports whether it was available.
func (b *bounded) book(weight int64) bool { return b.tab == nil || b.tab.take(weight) }

// unbook returns a weight.
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

// settle returns the charge if the tab is used for this body only.
func (b *bounded) settle() {
	if b.own {
		b.tab.close()
	}
}

func (b *bounded) tooMuch(of string) error { return tooMuch(b.cluster, of) }

func tooMuch(cluster, of string) error {
	return fmt.Errorf("cluster %s %w %s; find out which objects fill it, or whether its address leads to an API server of Kubernetes", cluster, ErrTooMuch, of)
}
