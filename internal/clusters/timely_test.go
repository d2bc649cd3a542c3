package clusters

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// slowAnswer answers after a delay, and its body ends after another one.
type slowAnswer struct{ answers, goesOn time.Duration }

// RoundTrip implements http.RoundTripper.
func (s slowAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(s.answers):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slowReader{req.Context(), time.After(s.goesOn)})}, nil
}

type slowReader struct {
	ctx   context.Context //nolint:containedctx // of the request that it answers
	ended <-chan time.Time
}

// Read implements io.Reader.
func (s slowReader) Read([]byte) (int, error) {
	select {
	case <-s.ended:
		return 0, io.EOF
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// TestTimely: the timeout applies to a whole request, and for a watch to the time until its answer starts.
func TestTimely(t *testing.T) {
	const timeout = 10 * time.Second
	for name, tc := range map[string]struct {
		query           string
		answers, goesOn time.Duration
		takes           time.Duration
		late            bool
	}{
		"in time":                     {"", time.Second, 2 * time.Second, 3 * time.Second, false},
		"no answer":                   {"", time.Minute, 0, timeout, true},
		"an answer that does not end": {"", time.Second, time.Minute, timeout, true},
		"a watch":                     {"watch=true", time.Second, 10 * time.Minute, 10*time.Minute + time.Second, false},
		"a watch without an answer":   {"watch=1", time.Minute, 0, timeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &http.Client{Transport: timely{slowAnswer{tc.answers, tc.goesOn}, timeout}}
				began := time.Now()
				err := read(t, client, "https://east.example/pods?"+tc.query)
				var wrapped *url.Error
				if took := time.Since(began); took != tc.takes || errors.Is(err, context.DeadlineExceeded) != tc.late || err != nil != tc.late {
					t.Errorf("after %v: %v", took, err)
				}
				if errors.As(err, &wrapped) && !wrapped.Timeout() {
					t.Errorf("it is not known to have taken too long: %v", err)
				}
			})
		})
	}
}

// TestTimelyCancelled: a canceled request does not report a timeout.
func TestTimelyCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://east.example/pods", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := timely{slowAnswer{time.Second, 0}, time.Minute}.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func read(t *testing.T, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// TestWatchesLast: the timeout of requests does not end a watch.
func TestWatchesLast(t *testing.T) {
	w := &watching{paths: map[string]int{}}
	s := newTenants(t, w.count(stream("pods", 1)))
	s.config.Timeout = 300 * time.Millisecond
	view, leave := s.look("east", "shop")
	defer leave()
	<-time.After(4 * s.config.Timeout)
	if err := view.List(t.Context(), &corev1.PodList{}); err != nil {
		t.Error(err)
	}
	for path, watches := range w.all() {
		if watches != 1 {
			t.Errorf("%d watches of %s", watches, path)
		}
	}
}

// all returns the number of watches of each path.
func (w *watching) all() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.paths)
}
