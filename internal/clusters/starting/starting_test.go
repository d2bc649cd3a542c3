package starting

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// beginner is an API server that has just started: after some time it reports to be ready, and has loaded its roles.
type beginner struct {
	begun time.Time
	// refuses is the code of /readyz until takes has passed. allows reports whether the right exists.
	refuses int
	takes   time.Duration
	allows  bool
	// fails is an answer in place of any other, 0 for none at all. answersAfter is the delay of an answer.
	fails        *int
	answersAfter time.Duration
	// message is the message of the refusal.
	message string
	// probes and requests count the answers.
	probes, requests int
	bodies           []string
}

const lacking = `{"kind":"Status","message":"migrations is forbidden: User \"mover\" cannot list resource","code":403}`

func (b *beginner) RoundTrip(req *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, "ok"
	up := time.Since(b.begun) >= b.takes
	if b.fails != nil && *b.fails == 0 {
		return nil, errors.New("connection reset")
	}
	if b.answersAfter > 0 {
		time.Sleep(b.answersAfter)
	}
	if strings.HasSuffix(req.URL.Path, "/readyz") {
		b.probes++
		if !up && b.refuses == 0 {
			return nil, errors.New("connection refused")
		}
		if !up {
			code = b.refuses
		}
	} else {
		b.requests++
		if req.Body != nil {
			sent, _ := io.ReadAll(req.Body)
			b.bodies = append(b.bodies, string(sent))
		}
		if !up || !b.allows {
			code, body = http.StatusForbidden, b.message
		}
		if b.fails != nil {
			code = *b.fails
		}
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func ask(t *testing.T, s http.RoundTripper, method, path, body string) (code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

// TestStarting: a refusal by an API server that has not loaded its roles is retried, or reported as unavailable. A missing
// right is reported at once, or after a few seconds if the server does not report its readiness.
func TestStarting(t *testing.T) {
	for name, tc := range map[string]struct {
		server   beginner
		want     int
		took     time.Duration
		requests int
	}{
		"a right is missing":             {beginner{message: lacking}, 403, 0, 2},
		"it does not know its own roles": {beginner{refuses: 403, takes: time.Second, allows: true, message: lacking}, 200, time.Second, 2},
		"it reads its roles":             {beginner{refuses: 500, takes: time.Second, allows: true, message: lacking}, 200, time.Second, 2},
		"it takes long":                  {beginner{refuses: 500, takes: time.Minute, allows: true, message: lacking}, 503, doubtFor, 1},
		"it goes away":                   {beginner{takes: time.Minute, message: lacking}, 403, doubtFor, 1},
		"it never says it":               {beginner{refuses: 403, takes: time.Hour, message: lacking}, 403, doubtFor, 1},
		"it knows no such path":          {beginner{refuses: 404, takes: time.Hour, message: lacking}, 403, doubtFor, 1},
		"a quota refuses":                {beginner{message: `{"kind":"Status","message":"pods \"web-0\" is forbidden: exceeded quota"}`}, 403, 0, 1},
		"a proxy refuses":                {beginner{message: "<html>"}, 403, 0, 1},
		"in protobuf":                    {beginner{refuses: 500, takes: time.Hour, message: "k8s\x00\"q pods is forbidden: User \"mover\" cannot list"}, 503, doubtFor, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &tc.server
				b.begun = time.Now()
				code, answer := ask(t, New(b), http.MethodPost, "/k8s/apis/apps/v1/namespaces/shop/statefulsets", "a body")
				if took := time.Since(b.begun); code != tc.want || took != tc.took || b.requests != tc.requests {
					t.Errorf("it answers %d after %v and %d requests: %s", code, took, b.requests, answer)
				}
				if tc.want == 403 && answer != b.message {
					t.Errorf("the refusal has become %s", answer)
				}
				for _, body := range b.bodies {
					if body != "a body" {
						t.Errorf("it was sent %q", body)
					}
				}
			})
		})
	}
}

// TestStartingIsBounded: an API server that does not report its readiness is not asked again for a minute. Many concurrent
// refusals cause as few probes as one.
func TestStartingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &beginner{begun: time.Now(), refuses: 403, takes: time.Hour, message: lacking}
		s := New(serialised{next: b, turn: make(chan struct{}, 1)})
		for range 50 {
			go func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster/api/v1/namespaces/shop/pods", http.NoBody)
				if err == nil {
					_, err = s.RoundTrip(req)
				}
				if err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(2 * doubtFor)
		synctest.Wait()
		probes := b.probes
		if most := int(doubtFor/doubtEvery) + 2; probes > most {
			t.Errorf("it was asked %d times, at most %d", probes, most)
		}
		ask(t, s, http.MethodGet, "/version", "")
		if b.probes != probes {
			t.Error("it is asked again")
		}
		time.Sleep(silentFor)
		if ask(t, s, http.MethodGet, "/version", ""); b.probes == probes {
			t.Error("it is never asked again")
		}
	})
}

// TestReadyIsRemembered: a permanent refusal costs a ready API server one more request and one probe in half a minute. A
// server that has failed to answer since may have been restarted, and is probed again. So is a server that was not ready
// when a request was sent, even if another request has found it ready meanwhile.
func TestReadyIsRemembered(t *testing.T) {
	const path = "/api/v1/namespaces/shop/pods"
	synctest.Test(t, func(t *testing.T) {
		b := &beginner{begun: time.Now(), refuses: 500, message: lacking}
		s := New(b)
		expect := func(when string, requests, probes int) {
			t.Helper()
			b.requests, b.probes = 0, 0
			if code, answer := ask(t, s, http.MethodGet, path, ""); code != http.StatusForbidden || answer != lacking {
				t.Errorf("%s: it answers %d: %s", when, code, answer)
			}
			if b.requests != requests || b.probes != probes {
				t.Errorf("%s: %d requests and %d questions, want %d and %d", when, b.requests, b.probes, requests, probes)
			}
		}
		expect("at first", 2, 1)
		expect("at once", 1, 0)
		time.Sleep(readyFor - time.Nanosecond)
		expect("at the end", 1, 0)
		time.Sleep(time.Nanosecond)
		expect("afterwards", 2, 1)
		for how, answer := range map[string]int{"nothing": 0, "503": http.StatusServiceUnavailable} {
			b.fails = &answer
			if req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster"+path, http.NoBody); err != nil {
				t.Fatal(err)
			} else if resp, err := s.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
			b.fails = nil
			time.Sleep(doubtEvery)
			expect("after it answered "+how, 2, 1)
		}
	})
}

// TestReadyMeanwhile: a request that an API server refused before it was ready is repeated, even if another request has
// found the server ready meanwhile.
func TestReadyMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &beginner{begun: time.Now(), refuses: 500, takes: time.Second, allows: true, message: lacking, answersAfter: 2 * time.Second}
		s := New(b)
		done := make(chan int)
		go func() {
			code, _ := ask(t, s, http.MethodGet, "/api/v1/namespaces/shop/pods", "")
			done <- code
		}()
		synctest.Wait()
		b.answersAfter = 0
		time.Sleep(time.Second)
		if s.ask(t.Context(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster/api", http.NoBody)) != ready {
			t.Fatal("it is not ready")
		}
		if code := <-done; code != http.StatusOK {
			t.Errorf("it answers %d", code)
		}
	})
}

// serialised answers one request at a time.
type serialised struct {
	next http.RoundTripper
	turn chan struct{}
}

func (s serialised) RoundTrip(req *http.Request) (*http.Response, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.next.RoundTrip(req)
}

// TestStartingIsUnavailable: the answer that replaces a refusal is decoded as unavailable, and not as a missing right.
func TestStartingIsUnavailable(t *testing.T) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://cluster/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := unavailable(req, `User "mover" cannot list`)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), "is starting") || !strings.Contains(string(body), `"reason":"ServiceUnavailable"`) {
		t.Errorf("the answer is %s: %v", body, err)
	}
	if apierrors.IsForbidden(apierrors.NewServiceUnavailable("")) {
		t.Error("it is a missing right")
	}
}

func TestRootOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods": "", "/apis/apps/v1": "", "/k8s/clusters/c-1/api/v1": "/k8s/clusters/c-1", "/version": "", "/apiserver/api/v1/pods": "/apiserver", "/": "",
	} {
		if got := rootOf(path); got != want {
			t.Errorf("%s is below %q, want %q", path, got, want)
		}
	}
}

// opened counts the answers that are not closed yet.
type opened struct {
	next http.RoundTripper
	open int
}

func (o *opened) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(req)
	if err == nil {
		o.open++
		resp.Body = closing{resp.Body, func() { o.open-- }}
	}
	return resp, err
}

type closing struct {
	io.Reader
	closed func()
}

func (c closing) Close() error {
	c.closed()
	return nil
}

// TestAnswersAreClosed: the answers that the transport uses itself are closed, because an open one would block its
// connection.
func TestAnswersAreClosed(t *testing.T) {
	for name, b := range map[string]*beginner{
		"it starts":          {refuses: 500, takes: time.Hour, message: lacking},
		"it is ready":        {allows: false, message: lacking},
		"it has got ready":   {refuses: 500, takes: time.Second, allows: true, message: lacking},
		"it does not say so": {refuses: 403, takes: time.Hour, message: lacking},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b.begun = time.Now()
				o := &opened{next: b}
				ask(t, New(o), http.MethodGet, "/api/v1/namespaces/shop/pods", "")
				if o.open != 0 {
					t.Errorf("%d are open", o.open)
				}
			})
		})
	}
}
