package clusters

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestK2RetryAfter: with any Retry-After of an API server, each caller gets an answer or an error in about the time of one
// request: for discovery, an object, and the version.
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

// slowMapper finds every kind after a delay.
type slowMapper struct {
	meta.RESTMapper
	takes time.Duration
}

func (m slowMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	time.Sleep(m.takes)
	return &meta.RESTMapping{}, nil
}

// TestK2SlowSearch: a search for a kind takes no longer than one request may, however many requests it needs.
func TestK2SlowSearch(t *testing.T) {
	c, err := Connect("slow", &rest.Config{Host: "https://slow.invalid", QPS: -1, Timeout: time.Minute})
	if err != nil || c.core.mapper.within != time.Minute {
		t.Fatalf("it is bounded by %s, %v", c.core.mapper.within, err)
	}
	synctest.Test(t, func(t *testing.T) {
		for takes, in := range map[time.Duration]bool{59 * time.Second: true, time.Hour: false} {
			begun := time.Now()
			_, err := resources{RESTMapper: slowMapper{takes: takes}, within: time.Minute}.RESTMapping(schema.GroupKind{Group: "apps", Kind: "StatefulSet"})
			late, is := errors.AsType[*LateError](err)
			if (err == nil) != in || err != nil && (!is || !late.Timeout()) || time.Since(begun) > time.Minute {
				t.Errorf("one that takes %s: after %s: %v", takes, time.Since(begun), err)
			}
		}
		time.Sleep(time.Hour) // the searches end
	})
}

// TestK2EveryClient: clients without a timeout, such as those of watches, also wait only a short time for a retry, and get
// refusals without control characters.
func TestK2EveryClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"message":"later\u001b[2J"}`)
	}))
	t.Cleanup(server.Close)
	c, err := Connect("busy", &rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.core.http.Get(server.URL) //nolint:noctx // watches have no timeout
	if err != nil {
		t.Fatal(err)
	}
	var said metav1.Status
	err = json.NewDecoder(resp.Body).Decode(&said)
	_ = resp.Body.Close()
	if after := resp.Header.Get("Retry-After"); err != nil || after != "2" || said.Message != `later\u001b[2J` {
		t.Errorf("to come again after %q: %q, %v", after, said.Message, err)
	}
}

// TestK2Patience: a long Retry-After is shortened, and the rest of the answer is not changed.
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
