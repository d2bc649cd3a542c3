// Package starting tells a right that is missing from one that an API server does not know of yet.
//
// One that has just been started answers before it has read its roles, and refuses all but system:masters until then,
// with 403 and the words of a missing right; /readyz is not 200 in that time, and is refused as well (kubernetes
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
	// doubtFor bounds how long an API server that refuses may take to say that it is ready.
	doubtFor   = 3 * time.Second
	doubtEvery = 200 * time.Millisecond
	// silentFor is how long one is not asked again that does not say whether it is ready.
	silentFor = time.Minute
	// readyFor is how long one that has said that it is ready is believed to be, unless it fails to answer: who is
	// refused for good costs it nothing more then. It bounds for how long one of several API servers at an address that
	// has just been started is believed when it refuses.
	readyFor = 30 * time.Second
	// mostRefusal is how much of a refusal is read.
	mostRefusal = 16 << 10
)

// readiness is what an API server says of itself, at /readyz.
type readiness int

const (
	// unsaid: it answered nothing, or nothing that says it.
	unsaid readiness = iota
	unready
	ready
)

// Transport asks an API server that has refused something whether it is ready.
type Transport struct {
	next http.RoundTripper

	mu sync.Mutex
	// said is what it said of itself at the time asked, which may serve several requests.
	said  readiness
	asked time.Time
	// silent is until when it is not asked.
	silent time.Time
	// readyAt is when it said that it is ready; zero: it never has, or has failed to answer since.
	readyAt time.Time
}

// New is a Transport over the way to an API server.
func New(next http.RoundTripper) *Transport { return &Transport{next: next} }

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (s *Transport) WrappedRoundTripper() http.RoundTripper { return s.next }

// RoundTrip implements http.RoundTripper. What was refused is asked once more when the API server is ready: a request
// that was not authorized has changed nothing. While it is not, the answer is 503. One that was ready already when it
// was asked is believed.
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
			return resp, nil //nolint:nilerr // it cannot be sent twice, so the first answer counts
		}
		_ = resp.Body.Close() // nothing more of it is used
		return s.next.RoundTrip(again)
	case unready:
		_ = resp.Body.Close()
		return unavailable(req, refusal)
	default:
		return resp, nil
	}
}

// isProxied says whether something behind an API server has answered.
func isProxied(path string) bool {
	return strings.HasSuffix(path, "/proxy") || strings.Contains(path, "/proxy/")
}

// doubt is for an API server that may have been started anew.
func (s *Transport) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readyAt = time.Time{}
}

// wasReady says whether an API server was known to be ready when something was sent to it.
func (s *Transport) wasReady(sent time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.readyAt.IsZero() && !sent.Before(s.readyAt) && time.Since(s.readyAt) < readyFor
}

// unauthorized is what an API server says of a right that is missing; empty: it refuses for another reason. The
// body can be read as before.
func unauthorized(resp *http.Response) (string, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostRefusal))
	if err != nil {
		return "", errors.Join(err, resp.Body.Close())
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	status := metav1.Status{Message: string(body)} // protobuf has it as it is
	isJSON := json.Unmarshal(body, &status) == nil
	switch {
	case !strings.Contains(status.Message, `User "`) || !strings.Contains(status.Message, " cannot "):
		return "", nil
	case !isJSON:
		return "a right is missing", nil
	}
	return status.Message, nil
}

// await waits within a bound until an API server says that it is ready.
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

// ask asks an API server whether it is ready, in the name of who has sent a request. One answer serves all who ask
// at the same time.
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

// apiPath is where the paths of an API server begin, which may be below another path.
var apiPath = regexp.MustCompile(`/(apis?|version)(/|$)`)

// rootOf is the path that an API server is below.
func rootOf(path string) string {
	if at := apiPath.FindStringIndex(path); at != nil {
		return path[:at[0]]
	}
	return ""
}

// repeated is the same request once more.
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

// unavailable is the answer in place of a refusal that does not count.
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
