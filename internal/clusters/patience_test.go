package clusters

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestK2RetryAfter: whatever an API server asks to wait, whoever asks it has an answer, or an error, in about the time of
// one request: what it serves, an object, its version.
func TestK2RetryAfter(t *testing.T) {
	const timeout = 500 * time.Millisecond
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
		}))
		t.Cleanup(server.Close)
		c, err := Connect("busy", &rest.Config{Host: server.URL, QPS: -1, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		for what, ask := range map[string]func() error{
			"what it serves": func() error { _, err := c.Serves(t.Context(), &corev1.Pod{}); return err },
			"an object": func() error {
				return c.Live().Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "b"}, &corev1.Pod{})
			},
			"its version": func() error { _, err := c.Version(t.Context()); return err },
		} {
			answered := make(chan error, 1)
			go func() { answered <- ask() }()
			select {
			case err := <-answered:
				if err == nil {
					t.Errorf("HTTP %d: %s: it has no error", code, what)
				}
			case <-time.After(10 * timeout):
				t.Errorf("HTTP %d: %s: it waits after %s, and a request may take %s", code, what, 10*timeout, timeout)
			}
		}
		if asked.Load() == 0 {
			t.Error("nothing was asked")
		}
	}
}

// TestK2Patience: what an answer asks to wait is shortened, and nothing else of it is changed.
func TestK2Patience(t *testing.T) {
	for given, want := range map[string]string{"": "", "0": "0", "1": "1", "2": "2", "3": "2", "3600": "2", "99999999999999999999": "99999999999999999999", "soon": "soon"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if given != "" {
				w.Header().Set("Retry-After", given)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		t.Cleanup(server.Close)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := patience{http.DefaultTransport}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Retry-After"); got != want || resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%q has become %q", given, got)
		}
	}
}
