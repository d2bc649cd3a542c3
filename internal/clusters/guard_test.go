package clusters

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// secretBody must not appear in any error.
const secretBody = "the-answer-of-something-internal"

// serve connects, as cluster west, to a server with this handler.
func serve(t *testing.T, answer http.HandlerFunc) *Connection {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	west, err := Connect("west", &rest.Config{Host: server.URL, QPS: -1, BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{CAData: authority}})
	if err != nil {
		t.Fatal(err)
	}
	return west
}

// discovery holds the answers that a client needs first.
var discovery = map[string]string{
	"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"migration.sliceshift.io","versions":[{"groupVersion":"migration.sliceshift.io/v1alpha1","version":"v1alpha1"}]}]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod"},` +
		`{"name":"persistentvolumeclaims","namespaced":true,"kind":"PersistentVolumeClaim"},{"name":"namespaces","kind":"Namespace"}]}`,
}

// discovered adds the answers of discovery to a handler.
func discovered(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		known, found := discovery[r.URL.Path]
		if !found {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, known)
	}
}

// everyWay returns all ways in which a connection sends requests.
func everyWay(west *Connection) map[string]func(context.Context) error {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = "shop", "data-web-0"
	fresh := func() *corev1.PersistentVolumeClaim { return claim.DeepCopy() }
	return map[string]func(context.Context) error{
		"a read": func(ctx context.Context) error {
			return west.Live().Get(ctx, client.ObjectKeyFromObject(claim), fresh())
		},
		"a list":   func(ctx context.Context) error { return west.Live().List(ctx, &corev1.PodList{}) },
		"a create": func(ctx context.Context) error { return west.Live().Create(ctx, fresh()) },
		"a patch": func(ctx context.Context) error {
			return west.Live().Patch(ctx, fresh(), client.RawPatch("application/merge-patch+json", []byte("{}")))
		},
		"an update":      func(ctx context.Context) error { return west.Live().Update(ctx, fresh()) },
		"a deletion":     func(ctx context.Context) error { return west.Live().Delete(ctx, fresh()) },
		"its identity":   func(ctx context.Context) error { _, err := west.ID(ctx); return err },
		"what it serves": func(ctx context.Context) error { _, err := west.Serves(ctx, &api.Migration{}); return err },
		"a bare request": func(ctx context.Context) error { return bare(ctx, west, "/api/v1/pods?watch=true") },
	}
}

// bare sends a request with the client of the caches' lists and watches.
func bare(ctx context.Context, west *Connection, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, west.core.config.Host+path, nil)
	if err != nil {
		return err
	}
	resp, err := west.core.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// TestRedirectsAreNotFollowed: the author of a kubeconfig must not be able to send the manager's requests, with their token,
// to an address that was not checked (S2).
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 304, 307, 308} {
		var requests atomic.Int32
		inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			fmt.Fprint(w, secretBody)
		}))
		t.Cleanup(inside.Close)
		elsewhere := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", inside.URL+r.URL.Path)
			w.WriteHeader(code)
			if code != http.StatusNotModified {
				fmt.Fprint(w, secretBody)
			}
		}
		for _, answer := range []http.HandlerFunc{elsewhere, discovered(elsewhere)} {
			for name, ask := range everyWay(serve(t, answer)) {
				wantRedirectRefused(t, fmt.Sprintf("%d, %s", code, name), code, ask(t.Context()))
			}
		}
		if n := requests.Load(); n > 0 {
			t.Errorf("%d: %d requests went elsewhere", code, n)
		}
	}
}

func wantRedirectRefused(t *testing.T, what string, code int, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, want := range []string{"cluster west", fmt.Sprintf("HTTP %d", code), "redirects are not followed", "set the address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: it lacks %q", what, err, want)
		}
	}
	if strings.Contains(err.Error(), secretBody) {
		t.Errorf("%s: the body is in the error", what)
	}
}

// TestBodiesAreNotEchoed: the answer of a server that is no API server does not appear in an error, because the author of a
// Migration reads the error in a condition (S2).
func TestBodiesAreNotEchoed(t *testing.T) {
	for _, code := range []int{200, 400, 401, 403, 404, 406, 409, 415, 418, 422, 500, 502} {
		for _, kind := range []string{"", "text/plain", "text/html", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
			for _, body := range []string{secretBody, `{"kind":"` + secretBody + `x`, `{"message":"` + secretBody + `"}`} {
				west := serve(t, discovered(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					w.WriteHeader(code)
					fmt.Fprint(w, body)
				}))
				err := west.Live().Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-0"}, &corev1.Pod{})
				switch {
				case err == nil && code == http.StatusOK && kind == "application/json":
					// the body decodes as an object without a name
				case err == nil:
					t.Errorf("%d, %q, %s: no error", code, kind, body)
				case strings.Contains(fmt.Sprintf("%v %+v", err, err), secretBody):
					t.Errorf("%d, %q: the body is in the error: %v", code, kind, err)
				case code == 404 && (!apierrors.IsNotFound(err) || !apierrors.IsUnexpectedServerError(err)):
					t.Errorf("%q: a 404 of something else is %v", kind, err)
				}
			}
		}
	}
}

// TestStatusesAreKept: an API server's Status of a failure is passed on unchanged.
func TestStatusesAreKept(t *testing.T) {
	west := serve(t, discovered(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"User \"mover\" cannot get resource \"pods\""}`)
	}))
	err := west.Live().Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-0"}, &corev1.Pod{})
	if !apierrors.IsForbidden(err) || apierrors.IsUnexpectedServerError(err) || !strings.Contains(err.Error(), `User "mover" cannot get`) {
		t.Errorf("got %v", err)
	}
}

// TestAnswersAreBounded: an answer that is small in transit and large when it is decompressed does not use up the memory of
// a process that serves several tenants (S3).
func TestAnswersAreBounded(t *testing.T) {
	const size = 1 << 30
	west := serve(t, discovered(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic(err)
		}
		fmt.Fprint(packed, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"`)
		block := strings.Repeat("a", 1<<20)
		for range size >> 20 {
			if _, err := io.WriteString(packed, block); err != nil {
				return // the client has stopped reading
			}
		}
		_ = packed.Close()
	}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := west.ID(t.Context())
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "cluster west sends more than is read of one answer") {
		t.Errorf("got %.300v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > size/2 {
		t.Errorf("%d MiB were allocated for it", took>>20)
	}
}

// TestStreamsAreBounded: an endless event, watch or list of pages is not read without limit (S3).
func TestStreamsAreBounded(t *testing.T) {
	event := `{"type":"ADDED","object":{"a":"}\"]"}}` + "\n"
	for name, tc := range map[string]struct {
		path, body string
		times      int
		bounded    bool
	}{
		"small events":          {"?watch=true", event, 20, false},
		"an event without end":  {"?watch=1", `[{"a":"}\"]"},`, 20, true},
		"a string without end":  {"?watch=true", `"\"{}`, 1, false},
		"a long string":         {"?watch=true", `{"` + strings.Repeat(`\"}`, 60), 1, true},
		"nothing but spaces":    {"?watch=true", "  ", 60, true},
		"events without end":    {"?watch=true", event, 60, true},
		"one answer":            {"", event, 15, true},
		"one page":              {"?limit=500", event, 15, true},
		"a page within bounds":  {"?limit=500&continue=x", event, 10, false},
		"a page beyond bounds":  {"?limit=500&continue=x", event, 15, true},
		"an answer in bounds":   {"", event, 10, false},
		"a watch that is false": {"?watch=false", event, 15, true},
	} {
		t.Run(name, func(t *testing.T) {
			west := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, strings.Repeat(tc.body, tc.times))
			})
			bounds(t, west)
			err := bare(t.Context(), west, "/api/v1/pods"+tc.path)
			if tc.bounded != (err != nil) || err != nil && !strings.Contains(err.Error(), "cluster west sends more") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// bounds lowers the limits of a connection: 100 bytes for an event, 400 for an answer, 1000 for a list.
func bounds(t *testing.T, west *Connection) {
	t.Helper()
	lasting, ok := west.core.http.Transport.(timely)
	if !ok {
		t.Fatal("the connection is not bounded in time")
	}
	of, ok := lasting.RoundTripper.(*guard)
	if !ok {
		t.Fatal("the connection is not guarded")
	}
	of.limits = limits{answer: 400, list: 1000, event: 100}
}

// TestPagesAreBounded: the pages of a list are limited in total, and a new list starts a new count (S3).
func TestPagesAreBounded(t *testing.T) {
	west := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.Repeat("x", 300))
	})
	bounds(t, west)
	for round := range 2 {
		if err := bare(t.Context(), west, "/api/v1/pods?limit=500"); err != nil {
			t.Fatal(err)
		}
		for page := range 3 {
			if err := bare(t.Context(), west, "/api/v1/pods?limit=500&continue=more"); err != nil {
				t.Errorf("list %d, page %d: %v", round, page, err)
			}
		}
		if err := bare(t.Context(), west, "/api/v1/pods?limit=500&continue=more"); err == nil {
			t.Errorf("list %d: it was read on", round)
		}
	}
}
