package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// sentSecret is a header with a value from a Secret.
type sentSecret struct {
	header string
	ref    api.GateSecretReference
	bearer bool
}

// sentSecrets returns those of a gate.
func sentSecrets(gate api.HTTPGate) ([]sentSecret, error) {
	var all []sentSecret
	if ref := gate.BearerTokenSecretRef; ref != nil {
		all = append(all, sentSecret{authorization, *ref, true})
	}
	for _, header := range gate.Headers {
		if header.SecretRef == nil {
			continue
		}
		name := http.CanonicalHeaderKey(header.Name)
		if name == authorization && gate.BearerTokenSecretRef != nil {
			return nil, refuse(api.ReasonGateInvalid, "http.bearerTokenSecretRef is the header Authorization, which http.headers has, too; remove one of them")
		}
		all = append(all, sentSecret{name, *header.SecretRef, false})
	}
	return all, nil
}

// named returns the names of the Secrets for the user.
func (a *httpAsker) named(s Subject) string {
	var all []string
	for _, each := range a.sent {
		all = append(all, fmt.Sprintf("Secret %s/%s, key %q,", s.Namespace, each.ref.Name, each.ref.KeyOrDefault()))
	}
	return strings.Join(all, " or ") + " in cluster " + s.Cluster
}

// askWithSecrets sends the request through a port-forward connection to the pod. pods/proxy is not suitable,
// because it is not encrypted between the API server and the pod. The API server also uses the header
// Authorization itself.
func (a *httpAsker) askWithSecrets(ctx context.Context, s Subject, request clusters.PodRequest) Answer {
	side := a.sides.at(s.Side)
	connection := side.Connection
	if err := connection.Confidential(); err != nil {
		return because(api.ReasonGateInvalid, fmt.Sprintf("what Secrets hold is not sent to %s: %v", s.pod(), err))
	}
	header := request.Header.Clone()
	for _, each := range a.sent {
		value, trouble := credential{
			from: Secrets{connection.Live(), side.kubectl()}, at: client.ObjectKey{Namespace: s.Namespace, Name: each.ref.Name}, key: each.ref.KeyOrDefault(),
			where: fmt.Sprintf("Secret %s/%s in cluster %s", s.Namespace, each.ref.Name, s.Cluster),
			use:   fmt.Sprintf("header %s for pod %s", each.header, s.Pod), bearer: each.bearer,
		}.read(ctx)
		if trouble != nil {
			return *trouble
		}
		if each.bearer {
			value = "Bearer " + value
		}
		header.Set(each.header, value)
	}
	request.Header = header
	answer, trouble := a.through(ctx, s, request)
	if trouble != nil {
		return *trouble
	}
	if doubt := samePod(ctx, connection, s); doubt != nil {
		return *doubt
	}
	return a.judge(s, answer)
}

// through sends the request through a tunnel to the pod.
func (a *httpAsker) through(ctx context.Context, s Subject, request clusters.PodRequest) (clusters.PodAnswer, *Answer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tunnel := &tunnel{of: a.sides.at(s.Side).Connection, pod: request.Pod, port: request.Port}
	address := url.URL{Scheme: request.Scheme, Host: net.JoinHostPort("localhost", strconv.Itoa(int(request.Port))), Path: request.Path, RawQuery: request.Query}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return clusters.PodAnswer{}, new(because(api.ReasonGateInvalid, s.pod()+" cannot be asked: http.path is not fit for a request"))
	}
	req.Header = request.Header
	asking := &http.Client{
		Transport: &http.Transport{
			DialContext:       func(context.Context, string, string) (net.Conn, error) { return tunnel.dial(ctx) },
			DisableKeepAlives: true, DisableCompression: true, TLSHandshakeTimeout: handshake, MaxResponseHeaderBytes: maxResultHeader,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the API server says which pod this is, as for a kubelet's probe
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := asking.Do(req)
	if err != nil {
		return clusters.PodAnswer{}, new(a.lost(ctx, s, tunnel, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, clusters.MaxPodAnswer))
	if err != nil {
		return clusters.PodAnswer{}, new(a.lost(ctx, s, tunnel, err))
	}
	return clusters.PodAnswer{Code: resp.StatusCode, Body: body}, nil
}

// lost returns the answer for a pod that did not answer. It shows nothing of an error that may quote the pod's
// data.
func (a *httpAsker) lost(ctx context.Context, s Subject, through *tunnel, err error) Answer {
	why := through.trouble(ctx)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case why != nil:
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		why = errors.New("none came in time; see whether the pod answers there, or raise timeoutSeconds")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		why = errors.New("the connection was closed before the answer ended")
	case noTLS || errors.Is(err, http.ErrSchemeMismatch):
		why = errors.New("it does not speak TLS there; set http.scheme to HTTP")
	default:
		why = errors.New("its answer is not HTTP; check http.port and http.scheme")
	}
	return unheard(s, fmt.Sprintf("port %d", a.gate.Port), "create", "pods/portforward", why)
}
