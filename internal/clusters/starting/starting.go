// Package starting distinguishes a missing right from a right that an API server has not loaded yet.
//
// An API server that has just started answers before it has read its roles. Until then it refuses all but system:masters
// with 403 and the message of a missing right. During that time, /readyz is not 200, and may be refused too (kubernetes
// apiserver: the check informer-sync, and ClusterRole system:public-info-viewer).
package starting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// doubtFor limits the time in which an API server that refuses may report that it is ready.
	doubtFor   = 3 * time.Second
	doubtEvery = 200 * time.Millisecond
	// silentFor is the time for which an API server that does not report its readiness is not asked again.
	silentFor = time.Minute
	// readyFor is the time for which an API server that reported to be ready counts as ready, unless it fails to answer. A
	// permanent refusal then needs no further check. It also limits the time for which the refusal of a newly started API
	// server, one of several at an address, is taken as final.
	readyFor = 30 * time.Second
	// mostRefusal is the maximum size of a refusal that is read.
	mostRefusal = 16 << 10
)

// readiness is the result of /readyz.
type readiness int

const (
	// unsaid means no answer, or an answer without a readiness.
	unsaid readiness = iota
	unready
	ready
)

// Transport checks the readiness of an API server that has refused a request.
type Transport struct {
	next http.RoundTripper

	mu sync.Mutex
	// said is the readiness at the time asked, and may serve several requests.
	said  readiness
	asked time.Time
	// silent is the time until which the API server is not asked.
	silent time.Time
	// readyAt is the time at which it reported to be ready. Zero means never, or that it has failed to answer since.
	readyAt time.Time
}

// New returns a Transport over the transport to an API server.
func New(next http.RoundTripper) *Transport { return &Transport{next: next} }

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (s *Transport) WrappedRoundTripper() http.RoundTripper { return s.next }

// RoundTrip implements http.RoundTripper. A refused request is repeated once when the API server is ready, because an
// unauthorized request has changed nothing. While it is not ready, the answer is 503. If the API server was already ready at
// the request, the refusal is final.
func (s *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := s.next.RoundTrip(req)
	if err != nil || resp.StatusCode >= http.StatusInternalServerError {
		s.doubt()
	}
	if err != nil || resp.StatusCode != http.StatusForbidden || isProxied(req.URL.Path) || s.wasReady(sent) {
		return resp, err
	}
	refusal, err := unauthorized(resp)
	if err != nil || refusal == "" {
		return resp, err
	}
	switch s.await(req) {
	case ready:
		again, err := repeated(req)
		if err != nil {
			return resp, nil //nolint:nilerr // the request cannot be sent twice, so the first answer counts
		}
		_ = resp.Body.Close() // the body is not used any more
		return s.next.RoundTrip(again)
	case unready:
		_ = resp.Body.Close()
		return unavailable(req, refusal)
	default:
		return resp, nil
	}
}

// isProxied reports whether a server behind the API server has answered.
func isProxied(path string) bool {
	return strings.HasSuffix(path, "/proxy") || strings.Contains(path, "/proxy/")
}

// doubt records that the API server may have been restarted.
func (s *Transport) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readyAt = time.Time{}
}

// wasReady reports whether the API server was known to be ready when a request was sent.
func (s *Transport) wasReady(sent time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.readyAt.IsZero() && !sent.Before(s.readyAt) && time.Since(s.readyAt) < readyFor
}

// unauthorized returns the message of a missing right, or an empty string if the refusal has another reason. The body
// remains readable.
func unauthorized(resp *http.Response) (string, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostRefusal))
	if err != nil {
		return "", errors.Join(err, resp.Body.Close())
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	status := metav1.Status{Message: string(body)} // a protobuf answer contains the message as text
	isJSON := json.Unmarshal(body, &status) == nil
	switch {
	case !strings.Contains(status.Message, `User "`) || !strings.Contains(status.Message, " cannot "):
		return "", nil
	case !isJSON:
		return "a right is missing", nil
	}
	return status.Message, nil
}

// await waits at most doubtFor until the API server reports that it is ready.
func (s *Transport) await(req *http.Request) readiness {
	if s.isSilent() {
		return unsaid
	}
	last := unsaid
	err := wait.PollUntilContextTimeout(req.Context(), doubtEvery, doubtFor, true, func(ctx context.Context) (bool, error) {
		last = s.ask(ctx, req)
		return last == ready, nil
	})
	if err != nil && last == unsaid && req.Context().Err() == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silent = time.Now().Add(silentFor)
	}
	return last
}

func (s *Transport) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.silent)
}

// ask checks the readiness of the API server with the identity of a request. Concurrent requests share the result.
func (s *Transport) ask(ctx context.Context, from *http.Request) readiness {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) < doubtEvery/2 {
		return s.said
	}
	s.said = s.probe(ctx, from)
	s.asked = time.Now()
	if s.said == ready {
		s.readyAt = s.asked
	}
	return s.said
}

func (s *Transport) probe(ctx context.Context, from *http.Request) readiness {
	address := *from.URL
	address.Path, address.RawPath, address.RawQuery = rootOf(from.URL.Path)+"/readyz", "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return unsaid
	}
	req.Header, req.Host = from.Header.Clone(), from.Host
	req.Header.Del("Content-Type")
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		return unsaid
	}
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		return ready
	case resp.StatusCode >= http.StatusInternalServerError:
		return unready
	default:
		return unsaid
	}
}

// apiPath matches the start of an API server's own path, which may have a prefix.
var apiPath = regexp.MustCompile(`/(apis?|version)(/|$)`)

// rootOf returns the path prefix of an API server.
func rootOf(path string) string {
	if at := apiPath.FindStringIndex(path); at != nil {
		return path[:at[0]]
	}
	return ""
}

// repeated returns a copy of a request.
func repeated(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("its body cannot be read twice")
	}
	var err error
	again.Body, err = req.GetBody()
	return again, err
}

// unavailable returns the answer that replaces a refusal while the API server is starting.
func unavailable(req *http.Request, refusal string) (*http.Response, error) {
	status := apierrors.NewServiceUnavailable("its API server is starting (/readyz is not ok), and does not know yet who may do what: " + refusal).Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(http.StatusServiceUnavailable), StatusCode: http.StatusServiceUnavailable, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}
