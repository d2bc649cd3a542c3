package health

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// appIn returns an API server with pod web-2, whose port 8080 serves http and 8443 https.
func appIn(t *testing.T, uid types.UID, app http.HandlerFunc) *clustertest.Pods {
	t.Helper()
	plain := httptest.NewServer(app)
	t.Cleanup(plain.Close)
	return &clustertest.Pods{Ports: map[string]string{"shop/web-2:8080": plain.Listener.Addr().String()}, UIDs: map[string]types.UID{"shop/web-2": uid}}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	sides := sidesOf(t, appIn(t, "2", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/ready":
			fmt.Fprint(w, "all is well", r.Header.Get("X-Shop"), r.URL.RawQuery)
		case "/sick":
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "lag\n40s\x00"+strings.Repeat("x", 2000))
		case "/away":
			http.Redirect(w, r, "/ready", http.StatusFound)
		}
	}))
	for name, tc := range map[string]struct {
		gate api.HTTPGate
		want want
	}{
		"ready":               {api.HTTPGate{Port: 8080, Path: "/ready"}, good("pod shop/web-2 in cluster east answers HTTP 200 on port 8080/ready")},
		"no path":             {api.HTTPGate{Port: 8080}, good()},
		"what it holds":       {api.HTTPGate{Port: 8080, BodyContains: "is well"}, good()},
		"what it lacks":       {api.HTTPGate{Port: 8080, BodyContains: "is fine"}, bad(`without "is fine"`, `"all is well"`)},
		"a query":             {api.HTTPGate{Port: 8080, Path: "/ready?full=1", BodyContains: "full=1"}, good()},
		"a header":            {api.HTTPGate{Port: 8080, Headers: []api.GateHeader{{Name: "x-shop", Value: "mine"}}, BodyContains: "mine"}, good()},
		"sick":                {api.HTTPGate{Port: 8080, Path: "/sick"}, bad("HTTP 503", "200 to 299", "lag 40s xxx", "...")},
		"sick, as expected":   {api.HTTPGate{Port: 8080, Path: "/sick", ExpectedStatus: []int32{200, 503}}, good()},
		"not as expected":     {api.HTTPGate{Port: 8080, ExpectedStatus: []int32{204, 503}}, bad("HTTP 200", "204 or 503")},
		"redirect":            {api.HTTPGate{Port: 8080, Path: "/away"}, bad("HTTP 302")},
		"nobody listens":      {api.HTTPGate{Port: 9}, none("gives no answer at port 9", "error trying to reach service")},
		"nobody, as expected": {api.HTTPGate{Port: 9, ExpectedStatus: []int32{503}}, none("error trying to reach service")},
		"of a stranger":       {api.HTTPGate{Port: 8080, Headers: []api.GateHeader{{Name: "Impersonate-User", Value: "admin"}}}, wrong("http.headers", "Impersonate-User", "remove it")},
		"two headers in one":  {api.HTTPGate{Port: 8080, Headers: []api.GateHeader{{Name: "A", Value: "b\r\nImpersonate-User: admin"}}}, wrong("the value of A")},
		"out of the pod":      {api.HTTPGate{Port: 8080, Path: "/../../../secrets/a"}, wrong("http.path")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, ask(t.Context(), t, api.HealthGate{HTTP: &tc.gate}, sides, web2))
		})
	}
}

// TestHTTPNotThePod: an answer counts only for the requested pod. A cluster that does not answer gives no
// answer about the pod.
func TestHTTPNotThePod(t *testing.T) {
	t.Parallel()
	fine := func(http.ResponseWriter, *http.Request) {}
	gate := api.HealthGate{HTTP: &api.HTTPGate{Port: 8080}}
	t.Run("another pod", func(t *testing.T) {
		none("has been replaced").check(t, ask(t.Context(), t, gate, sidesOf(t, appIn(t, "3", fine)), web2))
	})
	t.Run("no right", func(t *testing.T) {
		server := appIn(t, "2", fine)
		server.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "web-2" is forbidden: User "mover" cannot get resource "pods/proxy" in API group ""`)
			return true
		}
		none("a permission is missing", "sliceshift-mover-gates", "get pods/proxy").check(t, ask(t.Context(), t, gate, sidesOf(t, server), web2))
	})
	t.Run("silent", func(t *testing.T) {
		server := appIn(t, "2", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		none("deadline exceeded").check(t, ask(shortly(t), t, gate, sidesOf(t, server), web2))
	})
	t.Run("of one that asks the pod too late", func(t *testing.T) {
		server := appIn(t, "2", fine)
		server.UIDs = nil
		none("has been replaced").check(t, ask(t.Context(), t, gate, sidesOf(t, server), web2))
	})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for text, path := range map[string]string{"": "/", "/": "/", "/a": "/a", "/a/": "/a/", "/a/b?c=/../d": "/a/b", "/a%20b": "/a b", "/a:b@c": "/a:b@c"} {
		if got, _, err := pathOf(text); err != nil || got != path {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"a", "//a", "http://a/b", "/a/../b", "/..", "/.", "/a//b", "/a/%2e%2e/b", "/a%2f..%2fb", "/%2E%2E", "/a#b", "/a#", "/a\\b", "/%zz", "/a/./b", "?a", "/a/..",
	} {
		if got, _, err := pathOf(text); err == nil {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
