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

// Limits of what is read from a pod. It is read through the API server, and neither is trusted.
const (
	// MaxPodAnswer limits the body of one answer.
	MaxPodAnswer = 64 << 10
	// maxTunnel limits the bytes received through one connection to a port, including the framing.
	maxTunnel = 1 << 20
)

// auditID is a header of every answer of an API server, except upgrades to a connection (kubernetes apiserver,
// endpoints/filters/audit_init.go).
const auditID = "Audit-Id"

// PodRequest is a GET of an endpoint of a pod.
type PodRequest struct {
	Pod client.ObjectKey
	// Scheme is http or https.
	Scheme string
	Port   int32
	// Path of the endpoint, and its query in URL encoding.
	Path, Query string
	Header      http.Header
}

// PodAnswer is the answer of a pod, with up to MaxPodAnswer of its body.
type PodAnswer struct {
	Code int
	Body []byte
}

// AskPod sends a request to a pod through the API server of the cluster. It returns an error if the API server itself
// answered, or if the answer did not pass an API server. A redirect is returned, and not followed.
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

// The headers between this process and the API server, by name or prefix. With some of them, a request would have another
// identity.
var (
	ownHeaders = []string{
		"Authorization", "Host", "Connection", "Upgrade", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Content-Length", "Expect",
		"Accept-Encoding", auditID, "Forwarded", "Via",
	}
	ownPrefixes = []string{"Impersonate-", "X-Remote-", "X-Forwarded-", "Proxy-", "Sec-", "X-Stream-Protocol-"}
)

// CheckPodHeader returns an error if a header must not be sent to a pod.
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

// Confidential returns an error if data for the cluster is sent unencrypted, or nil.
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

// podURL returns the URL of a pod's subresource.
func (c *Connection) podURL(namespace, pod, subresource string) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(c.core.config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return base.JoinPath("api", "v1", "namespaces", namespace, "pods", pod, subresource), nil
}

// roundTrip sends a request at the allowed rate, without following redirects.
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

// ownAnswer returns an error if the API server itself answered.
func (c *Connection) ownAnswer(body []byte) error {
	object, _, err := c.guard.decoder.Decode(body, nil, nil)
	if status, is := object.(*metav1.Status); err == nil && is {
		return fmt.Errorf("cluster %s: %w", c.name, &apierrors.StatusError{ErrStatus: *status})
	}
	return nil
}

// DialPod connects to a port of a pod through the API server of the cluster, to read one answer of limited size. The
// connection ends with the context.
func (c *Connection) DialPod(ctx context.Context, pod client.ObjectKey, port int32) (*portforward.Conn, error) {
	return c.dialPod(ctx, pod, port, maxTunnel)
}

// RelayPod is DialPod without a limit of the size. It buffers only a small amount that the caller has not read.
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

// upgrade sends a request that is upgraded to a connection.
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
