package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

var web2 = client.ObjectKey{Namespace: "shop", Name: "web-2"}

// podOf returns an API server with one pod, whose port 8080 has this handler.
func podOf(t *testing.T, serve http.HandlerFunc) *clustertest.Pods {
	t.Helper()
	app := httptest.NewServer(serve)
	t.Cleanup(app.Close)
	return &clustertest.Pods{Ports: map[string]string{"shop/web-2:8080": app.Listener.Addr().String()}, UIDs: map[string]types.UID{"shop/web-2": "2"}}
}

func get(path string) clusters.PodRequest {
	return clusters.PodRequest{Pod: web2, Scheme: "http", Port: 8080, Path: path, Header: http.Header{}}
}

func TestAskPod(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	east := podOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ready":
			fmt.Fprintf(w, "ready %s %s %q", r.URL.RawQuery, r.Header.Get("X-Shop"), r.Header.Get("Authorization"))
		case "/sick":
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "sick")
		case "/away":
			w.Header().Set("Location", other.URL)
			w.WriteHeader(http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}).Connect(t)
	ready := get("/ready")
	ready.Query, ready.Header = "full=1", http.Header{"X-Shop": {"a"}}
	for name, tc := range map[string]struct {
		request clusters.PodRequest
		want    clusters.PodAnswer
	}{
		"ready":    {ready, clusters.PodAnswer{Code: 200, Body: []byte(`ready full=1 a ""`)}},
		"sick":     {get("/sick"), clusters.PodAnswer{Code: 503, Body: []byte("sick")}},
		"redirect": {get("/away"), clusters.PodAnswer{Code: 302, Body: []byte{}}},
		"large":    {get("/large"), clusters.PodAnswer{Code: 200, Body: make([]byte, clusters.MaxPodAnswer)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := east.AskPod(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestPodNotReached: an answer that does not come from the pod is an error, with any code.
func TestPodNotReached(t *testing.T) {
	t.Parallel()
	says := func(code int, headers map[string]string, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for name, value := range headers {
				w.Header().Set(name, value)
			}
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	audited := map[string]string{"Audit-Id": "1"}
	for name, tc := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		want   func(error) bool
	}{
		"nobody listens": {nil, apierrors.IsServiceUnavailable},
		"no right": {func(w http.ResponseWriter, _ *http.Request) bool {
			clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
			return true
		}, apierrors.IsForbidden},
		"a Status in YAML": {says(404, audited, "apiVersion: v1\nkind: Status\ncode: 404\nreason: NotFound\n"), apierrors.IsNotFound},
		"a Status that says 200": {
			says(200, audited, `{"apiVersion":"v1","kind":"Status","code":404,"reason":"NotFound"}`), apierrors.IsNotFound,
		},
		"something else that says yes to all": {says(200, nil, "welcome"), func(err error) bool {
			return strings.Contains(err.Error(), "has not come through an API server")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &clustertest.Pods{Before: tc.before}
			answer, err := server.Connect(t).AskPod(t.Context(), get("/"))
			if err == nil || !tc.want(err) {
				t.Errorf("got %v, %v", answer, err)
			}
			if err != nil && !strings.Contains(err.Error(), "cluster east") {
				t.Errorf("does not name the cluster: %v", err)
			}
		})
	}
}

// TestPodHeaders: headers that would change the identity of a request or the use of its connection are refused.
func TestPodHeaders(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := podOf(t, func(http.ResponseWriter, *http.Request) {})
	server.Before = func(http.ResponseWriter, *http.Request) bool {
		requests.Add(1)
		return false
	}
	east := server.Connect(t)
	for _, name := range []string{
		"Impersonate-User", "impersonate-group", "IMPERSONATE-EXTRA-A", "Authorization", "authorization", "X-Remote-User", "X-Forwarded-For",
		"Host", "Connection", "Upgrade", "Audit-ID", "Accept-Encoding", "Proxy-Authorization", "Sec-WebSocket-Key", "a b", "a:b", "a\nb", "é",
	} {
		request := get("/")
		request.Header[name] = []string{"a"}
		if _, err := east.AskPod(t.Context(), request); err == nil {
			t.Errorf("%q: sent", name)
		}
	}
	if requests.Load() > 0 {
		t.Error("a request was made")
	}
	for _, name := range []string{"Accept", "X-Shop", "User-Agent", "Cookie", "x-api-key2"} {
		if err := clusters.CheckPodHeader(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestSilentPod: a caller waits no longer than its context allows.
func TestSilentPod(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := &clustertest.Pods{Before: func(http.ResponseWriter, *http.Request) bool {
		<-release
		return true
	}}
	east := server.Connect(t)
	t.Cleanup(func() { close(release) })
	for name, ask := range map[string]func(context.Context) error{
		"ask":  func(ctx context.Context) error { _, err := east.AskPod(ctx, get("/")); return err },
		"dial": func(ctx context.Context) error { _, err := east.DialPod(ctx, web2, 8080); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", name, err)
		}
		cancel()
	}
}

func TestDialPod(t *testing.T) {
	t.Parallel()
	server := podOf(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.URL.Path) })
	conn, err := server.Connect(t).DialPod(t.Context(), web2, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /there HTTP/1.0\r\n\r\n")
	got, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(got), "hello /there") {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRelayPod: a relayed connection has no size limit.
func TestRelayPod(t *testing.T) {
	t.Parallel()
	const much = 4 << 20 // more than an answer may have
	conn, err := podOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}).Connect(t).RelayPod(t.Context(), web2, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		fmt.Fprintf(conn, "POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n", much)
		_, _ = conn.Write(make([]byte, much))
	}()
	got, err := io.ReadAll(conn)
	if err != nil || len(got) < much {
		t.Errorf("%d bytes of %d, %v", len(got), much, err)
	}
}

// TestDialPodRefused: an answer of the API server is an error, and the message of the kubelet can be read.
func TestDialPodRefused(t *testing.T) {
	t.Parallel()
	server := podOf(t, func(http.ResponseWriter, *http.Request) {})
	east := server.Connect(t)
	conn, err := east.DialPod(t.Context(), web2, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said := conn.Fault(t.Context()); !strings.Contains(said, "error forwarding port 9") {
		t.Errorf("the kubelet says %q", said)
	}
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("redirect") || r.Method == http.MethodPost && r.Header.Get("Upgrade") == "" {
			t.Error("asked again, or without an upgrade")
		}
		clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		return true
	}
	if _, err := east.DialPod(t.Context(), web2, 8080); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	server.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", "/?redirect")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	if _, err := east.DialPod(t.Context(), web2, 8080); err == nil || !strings.Contains(err.Error(), "HTTP 307") {
		t.Errorf("got %v", err)
	}
}

// TestEndlessPod: the data from a port is limited, for any sender.
func TestEndlessPod(t *testing.T) {
	t.Parallel()
	conn, err := podOf(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}).Connect(t).DialPod(t.Context(), web2, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	n, _ := io.Copy(io.Discard, conn) // the error is the end of the connection
	if n == 0 || n > 1<<20 {
		t.Errorf("read %d bytes", n)
	}
}

// TestPodsAreDialledAsTheCluster: an address that must not be connected to is refused, by both ways.
func TestPodsAreDialledAsTheCluster(t *testing.T) {
	t.Parallel()
	refused := errors.New("not there")
	config := podOf(t, func(http.ResponseWriter, *http.Request) {}).Serve(t)
	config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	east, err := clusters.Connect("east", config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := east.AskPod(t.Context(), get("/")); !errors.Is(err, refused) {
		t.Errorf("ask: got %v", err)
	}
	if _, err := east.DialPod(t.Context(), web2, 8080); !errors.Is(err, refused) {
		t.Errorf("dial: got %v", err)
	}
	off, err := clusters.Off("east")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := off.AskPod(t.Context(), get("/")); err == nil || !strings.Contains(err.Error(), "declared lost") {
		t.Errorf("ask of a cluster that is off: got %v", err)
	}
	if _, err := off.DialPod(t.Context(), web2, 8080); err == nil || !strings.Contains(err.Error(), "declared lost") {
		t.Errorf("dial of a cluster that is off: got %v", err)
	}
}

// TestAtMost: the caller can lower the size limit of an answer.
func TestAtMost(t *testing.T) {
	t.Parallel()
	east := podOf(t, func(http.ResponseWriter, *http.Request) {}).Connect(t)
	if err := east.Live().Get(clusters.AtMost(t.Context(), 1<<10), web2, &corev1.Pod{}); err != nil {
		t.Error(err)
	}
	if err := east.Live().Get(clusters.AtMost(t.Context(), 10), web2, &corev1.Pod{}); !errors.Is(err, clusters.ErrTooMuch) {
		t.Errorf("got %v", err)
	}
}
