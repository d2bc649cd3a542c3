package clusters

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/portforward"
)

// What is read of a pod. It goes through the API server, which is not trusted either.
const (
	// MaxPodAnswer bounds what is read of the body of one answer.
	MaxPodAnswer = 64 << 10
	// maxTunnel bounds what comes back through one connection to a port where answers are read, with what it is wrapped in.
	maxTunnel = 1 << 20
)

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

// DialPod connects to a port of a pod through the API server of the cluster, for an answer: no more comes back than one
// may have. The connection ends with the context.
func (c *Connection) DialPod(ctx context.Context, pod client.ObjectKey, port int32) (*portforward.Conn, error) {
	return c.dialPod(ctx, pod, port, maxTunnel)
}

// RelayPod connects as DialPod does, for as many bytes as there are. No more of them are kept than the caller reads soon.
func (c *Connection) RelayPod(ctx context.Context, pod client.ObjectKey, port int32) (*portforward.Conn, error) {
	return c.dialPod(ctx, pod, port, math.MaxInt64)
}

func (c *Connection) dialPod(ctx context.Context, pod client.ObjectKey, port int32, atMost int64) (*portforward.Conn, error) {
	way, err := c.upgrade(ctx, pod)
	if err != nil {
		return nil, err
	}
	conn, err := portforward.Open(ctx, way, port, atMost)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: connecting to port %d of pod %s: %w", c.name, port, pod, err)
	}
	return conn, nil
}

// upgrade turns a request into a connection.
func (c *Connection) upgrade(ctx context.Context, pod client.ObjectKey) (io.ReadWriteCloser, error) {
	transport, err := c.core.upgrading()
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	address, err := c.podURL(pod.Namespace, pod.Name, "portforward")
	if err != nil {
		return nil, err
	}
	req, err := portforward.NewRequest(ctx, address.String())
	if err != nil {
		return nil, err
	}
	resp, err := c.roundTrip(transport, req)
	if err != nil {
		return nil, err
	}
	way, both := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && both {
		return way, nil
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
