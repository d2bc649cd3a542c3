package probe

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/health"
)

// mine allows a test to request this machine, as in a run.
var mine = health.Addresses{Any: true}

// targetOf returns the target of a URL, with a deadline for tests.
func targetOf(t *testing.T, url string) *Target {
	t.Helper()
	target, err := NewTarget(url, mine)
	if err != nil {
		t.Fatal(err)
	}
	target.deadline = 300 * time.Millisecond
	return target
}

// raw starts a server that answers any request with fixed bytes, and then closes the connection.
func raw(t *testing.T, answer string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String() + "/"
}

// hanging does not answer until the client closes the connection.
func hanging(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// TestP1Request: for any behavior of a server, a request ends in time. It has a reason and a remedy in one
// printable line, which shows nothing of an answer that is not HTTP.
func TestP1Request(t *testing.T) {
	t.Parallel()
	plain := func(h http.HandlerFunc) func(t *testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL
		}
	}
	stream := func(pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	for name, tc := range map[string]struct {
		at   func(t *testing.T) string
		says []string // none: it succeeds
		// hangs is true for a server that only the deadline ends.
		hangs bool
	}{
		"answers":                {plain(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") }), nil, false},
		"answers without a body": {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), nil, false},
		"never answers":          {plain(hanging), []string{"gives no answer within 300ms", "curl -i -m 2 http://127.0.0.1:"}, true},
		"is unavailable":         {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), []string{"answers HTTP 503", "curl -i http://127.0.0.1:"}, false},
		"streams for ever":       {plain(stream(0)), []string{"answers with more than 1 MiB", "probe a URL whose answer is short"}, false},
		"streams slowly":         {plain(stream(50 * time.Millisecond)), []string{"has not completed its answer within 300ms", "probe a URL whose answer is short"}, true},
		"redirects":              {plain(redirect("https://login.example/a?state=secret#b")), []string{"redirects (HTTP 302)", "probe https://login.example/a itself"}, false},
		"redirects with a user":  {plain(redirect("https://me:secret@login.example/a")), []string{"probe https://login.example/a itself"}, false},
		"redirects to a path":    {plain(redirect("/well")), []string{"probe http://127.0.0.1:", "/well itself"}, false},
		"redirects to nothing":   {plain(redirect("")), []string{"redirects (HTTP 302) to no URL", "probe a URL that answers itself"}, false},
		"redirects to what acts": {plain(redirect("https://a/\u202e\u009b2J")), []string{"redirects (HTTP 302)"}, false},
		"answers garbage":        {func(t *testing.T) string { return raw(t, "secret \x1b[2J\x00\xff garbage\r\n\r\n") }, []string{"does not answer in HTTP", "check its scheme and port"}, false},
		"answers another line":   {func(t *testing.T) string { return raw(t, "HTTP/1.1 secret OK\r\n\r\n") }, []string{"does not answer in HTTP"}, false},
		"has endless headers":    {func(t *testing.T) string { return raw(t, "HTTP/1.1 200 OK\r\nSecret: "+strings.Repeat("s", 1<<20)) }, []string{"does not answer in HTTP"}, false},
		"closes the connection":  {func(t *testing.T) string { return raw(t, "") }, []string{"closes the connection without an answer", "curl"}, false},
		"breaks its answer off":  {func(t *testing.T) string { return raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsecret") }, []string{"has aborted its answer", "see the logs"}, false},
		"has nobody there": {func(*testing.T) string {
			server := httptest.NewServer(http.NotFoundHandler())
			server.Close()
			return server.URL
		}, []string{"is not reached: dial tcp", "curl"}, false},
		"shows another certificate": {func(t *testing.T) string {
			server := httptest.NewTLSServer(http.NotFoundHandler())
			server.Config.ErrorLog = nil
			t.Cleanup(server.Close)
			return server.URL
		}, []string{"shows a certificate that is not trusted", "trust its authority"}, false},
		"does not speak TLS": {func(t *testing.T) string {
			return strings.Replace(plain(func(http.ResponseWriter, *http.Request) {})(t), "http://", "https://", 1)
		}, []string{"does not speak TLS", "check its scheme and port"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			target := targetOf(t, tc.at(t))
			if !tc.hangs {
				target.deadline = time.Minute
			}
			got := target.Request(t.Context())
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if (got == "") != (tc.says == nil) {
				t.Fatalf("it says %q", got)
			}
			for _, each := range tc.says {
				if !strings.Contains(got, each) {
					t.Errorf("it says %q, and not %q", got, each)
				}
			}
			if strings.Contains(got, "secret") || printable.Text(got) != got || strings.ContainsAny(got, "\n\t") || len(got) > 1024 {
				t.Errorf("it shows what it is not to: %q", got)
			}
		})
	}
}

// TestP1RedirectIsNotFollowed: a redirect is not followed.
func TestP1RedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	followed := make(chan struct{}, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed <- struct{}{} }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	if got := targetOf(t, server.URL).Request(t.Context()); !strings.Contains(got, "redirects (HTTP 307)") {
		t.Errorf("it says %q", got)
	}
	select {
	case <-followed:
		t.Error("it was followed")
	default:
	}
}

// TestP1TargetIsAllowed: a probe has the same restrictions as a gate, whatever a name resolves to.
func TestP1TargetIsAllowed(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"http://shop.example/":            "gates.probes",
		"https://127.0.0.1:8443/":         "metadata service",
		"https://169.254.169.254/latest":  "metadata service",
		"https://a:b@shop.example/":       "holds a user name",
		"https://shop.example/?token=abc": "has a query or a fragment",
		"shop.example":                    "is no URL",
	} {
		if _, err := NewTarget(address, health.Addresses{}); err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "probe.url ") {
			t.Errorf("%s: %v, want %q", address, err, says)
		}
	}
	requested := make(chan struct{}, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requested <- struct{}{} }))
	t.Cleanup(server.Close)
	target, err := NewTarget("https://shop.example/", health.Addresses{})
	if err != nil {
		t.Fatal(err)
	}
	target.url.Host = server.Listener.Addr().String() // as if the name had resolved to it
	if got := target.Request(t.Context()); !strings.Contains(got, "metadata service") {
		t.Errorf("it says %q", got)
	}
	select {
	case <-requested:
		t.Error("this machine was requested")
	default:
	}
}

// TestP1ProberDoesNotWait: requests are sent at their interval even if none is answered, so an outage counts as
// often as clients would have met it.
func TestP1ProberDoesNotWait(t *testing.T) {
	t.Parallel()
	const enough = 20
	asked := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		hanging(w, r)
	}))
	t.Cleanup(server.Close)
	target, tally := targetOf(t, server.URL), NewTally(api.MigrationStatus{})
	target.deadline = time.Minute
	stop := newProber(target, tally, clock.RealClock{}, 20*time.Millisecond).start()
	defer stop()
	late := time.After(30 * time.Second)
	for range enough {
		select {
		case <-asked:
		case <-late:
			t.Fatal("it waits for an answer")
		}
	}
	if got := tally.Status(time.Now()); got.Requests != 0 || got.Unanswered < enough {
		t.Errorf("%+v", got)
	}
}

// TestP1Prober: a server that hangs is requested at each tick, by a bounded number of open requests, and each
// one counts as failed. The end waits for none.
func TestP1Prober(t *testing.T) {
	t.Parallel()
	const enough = 30
	asked := make(chan struct{}, 10*enough)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		hanging(w, r)
	}))
	t.Cleanup(server.Close)
	tally := NewTally(api.MigrationStatus{})
	p := newProber(targetOf(t, server.URL), tally, clock.RealClock{}, 20*time.Millisecond)
	stop := p.start()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range enough {
		select {
		case <-asked:
		case <-ctx.Done():
			t.Fatal("it is not asked again")
		}
	}
	got := tally.Status(time.Now())
	stop()
	if got.Failed == 0 || got.Failed != got.Requests || got.Unanswered == 0 || got.Unanswered > int64(cap(p.under))+1 {
		t.Errorf("%+v, with room for %d", got, cap(p.under))
	}
	if !strings.Contains(got.Message, "gives no answer within 300ms") {
		t.Errorf("it says %q", got.Message)
	}
}
