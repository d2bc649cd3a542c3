package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What is read of a pod. It goes through the API server, which is not trusted either.
const (
	// MaxPodAnswer bounds what is read of the body of one answer.
	MaxPodAnswer = 64 << 10
	// maxTunnel bounds what comes back through one connection to a port where answers are read, with what it is wrapped in.
	maxTunnel = 1 << 20
	// maxFault bounds what a kubelet says about such a connection.
	maxFault = 4 << 10
)

// forwardProtocol is how a port is forwarded (client-go, tools/portforward).
const forwardProtocol = "portforward.k8s.io"

// auditID is the header that every answer of an API server has which does not hand over the
// connection (kubernetes apiserver, endpoints/filters/audit_init.go).
const auditID = "Audit-Id"

// PodRequest is a GET of an endpoint of a pod.
type PodRequest struct {
	Pod client.ObjectKey
	// Scheme is http or https.
	Scheme string
	Port   int32
	// Path of the endpoint, and its query as it is written in a URL.
	Path, Query string
	Header      http.Header
}

// PodAnswer is what a pod has answered, and the beginning of it: up to MaxPodAnswer.
type PodAnswer struct {
	Code int
	Body []byte
}

// AskPod asks a pod through the API server of the cluster. What the API server answers in its own name is
// an error, and so is what has not come through one. Redirects are an answer, and not followed.
func (c *Connection) AskPod(ctx context.Context, r PodRequest) (PodAnswer, error) {
	for name := range r.Header {
		if err := CheckPodHeader(name); err != nil {
			return PodAnswer{}, err
		}
	}
	target := fmt.Sprintf("%s:%s:%d", r.Scheme, r.Pod.Name, r.Port)
	address, err := c.podURL(r.Pod.Namespace, target, "proxy")
	if err != nil {
		return PodAnswer{}, err
	}
	address.Path, address.RawQuery = address.Path+r.Path, r.Query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return PodAnswer{}, err
	}
	req.Header = r.Header.Clone()
	resp, err := c.roundTrip(c.core.transport, req)
	if err != nil {
		return PodAnswer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxPodAnswer))
	if err != nil {
		return PodAnswer{}, fmt.Errorf("cluster %s: the answer of the pod ended early: %w", c.name, err)
	}
	if err := c.ownAnswer(body); err != nil {
		return PodAnswer{}, err
	}
	if resp.Header.Get(auditID) == "" {
		return PodAnswer{}, fmt.Errorf("cluster %s: HTTP %d has not come through an API server of Kubernetes; check the address in the kubeconfig", c.name, resp.StatusCode)
	}
	return PodAnswer{Code: resp.StatusCode, Body: body}, nil
}

// The headers that are between us and the API server, by their whole names or what these begin with: with
// some of them a request is made in somebody else's name.
var (
	ownHeaders = []string{
		"Authorization", "Host", "Connection", "Upgrade", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Content-Length", "Expect",
		"Accept-Encoding", auditID, "Forwarded", "Via",
	}
	ownPrefixes = []string{"Impersonate-", "X-Remote-", "X-Forwarded-", "Proxy-", "Sec-", "X-Stream-Protocol-"}
)

// CheckPodHeader says why a header cannot be sent to a pod.
func CheckPodHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	own := slices.ContainsFunc(ownPrefixes, func(prefix string) bool { return strings.HasPrefix(canonical, prefix) })
	if own || slices.Contains(ownHeaders, canonical) {
		return fmt.Errorf("header %q is between the manager and the API server, which passes the question on; remove it", name)
	}
	if strings.Trim(canonical, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("%q is not the name of a header", name)
	}
	return nil
}

// Confidential says why what is sent to the cluster could be read on the way; nil: it could not.
func (c *Connection) Confidential() error {
	base, _, err := rest.DefaultServerUrlFor(c.core.config)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.name, err)
	}
	host := base.Hostname()
	if base.Scheme == "https" || host == "localhost" || net.ParseIP(host).IsLoopback() {
		return nil
	}
	return fmt.Errorf("cluster %s: its API server is asked by http, where it could be read on the way; set its https address in the kubeconfig", c.name)
}

// podURL is that of a subresource of a pod.
func (c *Connection) podURL(namespace, pod, subresource string) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(c.core.config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return base.JoinPath("api", "v1", "namespaces", namespace, "pods", pod, subresource), nil
}

// roundTrip asks at the rate that is allowed, and follows no redirect.
func (c *Connection) roundTrip(of *http.Client, req *http.Request) (*http.Response, error) {
	if limiter := c.core.config.RateLimiter; limiter != nil {
		if err := limiter.Wait(req.Context()); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", c.name, err)
		}
	}
	req.Header.Set("User-Agent", c.core.config.UserAgent)
	asking := *of
	asking.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := asking.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return resp, nil
}

// ownAnswer is what an API server has answered in its own name, as the error that it is.
func (c *Connection) ownAnswer(body []byte) error {
	object, _, err := c.guard.decoder.Decode(body, nil, nil)
	if status, is := object.(*metav1.Status); err == nil && is {
		return fmt.Errorf("cluster %s: %w", c.name, &apierrors.StatusError{ErrStatus: *status})
	}
	return nil
}

// PodConn is a connection to a port of a pod.
type PodConn struct {
	net.Conn
	data  httpstream.Stream
	fault chan string
}

// Fault is what the kubelet has said about the connection, once it has ended; empty: nothing.
func (c *PodConn) Fault(ctx context.Context) string {
	select {
	case said := <-c.fault:
		return said
	case <-ctx.Done():
		return ""
	}
}

// CloseWrite ends what is written to the port, and nothing of what comes from there.
func (c *PodConn) CloseWrite() error { return c.data.Close() }

// DialPod connects to a port of a pod through the API server of the cluster, for an answer: no more comes back than one
// may have. The connection ends with the context.
func (c *Connection) DialPod(ctx context.Context, pod client.ObjectKey, port int32) (*PodConn, error) {
	return c.dialPod(ctx, pod, port, func(from io.Reader) io.Reader { return io.LimitReader(from, maxTunnel) })
}

// RelayPod connects as DialPod does, for as many bytes as there are. No more of them are kept than maxAhead and one frame that
// the caller has not read yet.
func (c *Connection) RelayPod(ctx context.Context, pod client.ObjectKey, port int32) (*PodConn, error) {
	return c.dialPod(ctx, pod, port, func(from io.Reader) io.Reader { return from })
}

func (c *Connection) dialPod(ctx context.Context, pod client.ObjectKey, port int32, bound func(io.Reader) io.Reader) (*PodConn, error) {
	way, err := c.upgrade(ctx, pod, bound)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { way.Close() })
	in := newFrames(way)
	streams, err := spdy.NewClientConnection(in)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: connecting to pod %s: %w", c.name, pod, err)
	}
	type opened struct {
		conn *PodConn
		err  error
	}
	// The streams are waited for by a clock of their own, longer than the context may last.
	done := make(chan opened, 1)
	go func() {
		conn, err := forward(streams, in, port)
		done <- opened{conn, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			_ = tunnel{streams, in}.Close()
			return nil, fmt.Errorf("cluster %s: connecting to port %d of pod %s: %w", c.name, port, pod, got.err)
		}
		return got.conn, nil
	case <-in.refused:
		way.Close()
		return nil, fmt.Errorf("cluster %s: connecting to port %d of pod %s: %w", c.name, port, pod, in.refusal())
	case <-ctx.Done():
		return nil, fmt.Errorf("cluster %s: connecting to port %d of pod %s: %w", c.name, port, pod, ctx.Err())
	}
}

// upgrade turns a request into a connection.
func (c *Connection) upgrade(ctx context.Context, pod client.ObjectKey, bound func(io.Reader) io.Reader) (net.Conn, error) {
	transport, err := c.core.upgrading()
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	address, err := c.podURL(pod.Namespace, pod.Name, "portforward")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	req.Header.Set(httpstream.HeaderProtocolVersion, forwardProtocol)
	resp, err := c.roundTrip(transport, req)
	if err != nil {
		return nil, err
	}
	way, both := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && both {
		return &pipe{Reader: bound(way), Writer: way, Closer: way}, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxStatus))
	if err == nil {
		err = c.ownAnswer(body)
	}
	if err == nil {
		err = fmt.Errorf("cluster %s answered HTTP %d, and does not forward ports of pods", c.name, resp.StatusCode)
	}
	return nil, err
}

// newUpgrading is a way to the cluster by HTTP/1.1, of which a connection can be had (client-go's own ways to
// forward a port keep to no Dial of the configuration). It has no timeout: the connection would end with it.
func newUpgrading(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.NextProtos, config.Timeout = []string{"http/1.1"}, 0
	return rest.HTTPClientFor(config)
}

// forward opens the two streams of a port: what is said about it, and what goes through it.
func forward(streams httpstream.Connection, in *frames, port int32) (*PodConn, error) {
	header := http.Header{}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	header.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	faults, err := streams.CreateStream(header)
	if err != nil {
		return nil, err
	}
	faults.Close() // nothing is written to it
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(header)
	if err != nil {
		return nil, err
	}
	through := &pipe{Reader: taken{data, in}, Writer: data, Closer: tunnel{streams, in}, heard: make(chan struct{})}
	conn := &PodConn{Conn: through, data: data, fault: make(chan string, 1)}
	go func() {
		defer close(through.heard)
		said, err := io.ReadAll(io.LimitReader(taken{faults, in}, maxFault))
		if err != nil && !errors.Is(err, io.EOF) {
			said = nil
		}
		conn.fault <- string(said)
	}()
	return conn, nil
}

const (
	// faultWithin is how long what a kubelet says about a connection may come after its end.
	faultWithin = time.Second
	// closeWithin is how long the other end may take to be told of one.
	closeWithin = time.Second
)

// tunnel closes the streams of a connection, and what they go through.
type tunnel struct {
	streams httpstream.Connection
	through io.Closer
}

// Close implements io.Closer. To end a stream something is written, which waits for what is being written now: for ever, where
// the other end reads nothing.
func (t tunnel) Close() error {
	late := time.AfterFunc(closeWithin, func() { _ = t.through.Close() })
	defer late.Stop()
	return t.streams.Close()
}

// pipe is a connection of which only the two ways are known.
type pipe struct {
	io.Reader
	io.Writer
	io.Closer
	// ended is true once the other end has ended it, and heard is closed when nothing is said about it any more.
	ended atomic.Bool
	heard chan struct{}
}

// Read implements net.Conn.
func (p *pipe) Read(data []byte) (n int, err error) {
	if n, err = p.Reader.Read(data); err != nil {
		p.ended.Store(true)
	}
	return n, err
}

// Close implements net.Conn. What is said about a connection that the other end has ended would be lost with it.
func (p *pipe) Close() error {
	if p.ended.Load() {
		select {
		case <-p.heard:
		case <-time.After(faultWithin):
		}
	}
	return p.Closer.Close()
}

// LocalAddr, RemoteAddr and the deadlines implement net.Conn: a context bounds it.
func (*pipe) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*pipe) SetDeadline(time.Time) error      { return nil }
func (*pipe) SetReadDeadline(time.Time) error  { return nil }
func (*pipe) SetWriteDeadline(time.Time) error { return nil }
