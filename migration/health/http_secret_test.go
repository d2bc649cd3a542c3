package health

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// shownToken must not be in any answer.
const shownToken = "abc.DEF-1"

// guarded requires the token, and returns everything that it was sent.
func guarded(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/away":
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		return
	case r.Header.Get("Authorization") != "Bearer "+shownToken && r.Header.Get("X-Api-Key") != shownToken:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/sick":
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprint(w, "well", r.Header, r.Host)
}

func secretGate(port int32, change func(*api.HTTPGate)) api.HealthGate {
	gate := &api.HTTPGate{Port: port, BearerTokenSecretRef: &api.GateSecretReference{Name: "token"}}
	change(gate)
	return api.HealthGate{HTTP: gate}
}

func asIs(*api.HTTPGate) {}

// serveTLS serves https with an untrusted certificate.
func serveTLS(t *testing.T, app http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewTLSServer(app)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestHTTPWithSecrets: the value of a Secret reaches the pod and nothing else, and is in no answer. A problem
// with the Secret is distinguished from one with the application.
func TestHTTPWithSecrets(t *testing.T) {
	t.Parallel()
	server := appIn(t, "2", guarded)
	server.Ports["shop/web-2:8443"] = serveTLS(t, guarded)
	server.Ports["shop/web-2:7"] = serveLine(t, "I was sent "+shownToken+"\r\n\r\n")
	server.Secrets = map[string]map[string][]byte{
		"shop/token": {"value": []byte(shownToken + "\n"), "whole": []byte("Bearer " + shownToken), "old": []byte("abc.DEF-0"), "two": []byte("a\r\nX: b")},
	}
	sides := sidesOf(t, server)
	header := func(name, key string) func(*api.HTTPGate) {
		return func(g *api.HTTPGate) {
			g.BearerTokenSecretRef, g.Headers = nil, []api.GateHeader{{Name: name, SecretRef: &api.GateSecretReference{Name: "token", Key: key}}}
		}
	}
	key := func(key string) func(*api.HTTPGate) {
		return func(g *api.HTTPGate) { g.BearerTokenSecretRef.Key = key }
	}
	path := func(path string) func(*api.HTTPGate) { return func(g *api.HTTPGate) { g.Path = path } }
	for name, tc := range map[string]struct {
		gate api.HealthGate
		want want
	}{
		"a token":              {secretGate(8080, asIs), good("answers HTTP 200 on port 8080/")},
		"by https":             {secretGate(8443, func(g *api.HTTPGate) { g.Scheme = api.GateHTTPS }), good()},
		"a header":             {secretGate(8080, header("x-api-key", "value")), good()},
		"the whole header":     {secretGate(8080, header("authorization", "whole")), good()},
		"the pod is localhost": {secretGate(8080, func(g *api.HTTPGate) { g.BodyContains = "localhost:8080" }), good()},
		"sick":                 {secretGate(8080, path("/sick")), bad("HTTP 503", "not shown")},
		"it lacks a text":      {secretGate(8080, func(g *api.HTTPGate) { g.BodyContains = "fine" }), bad("not shown")},
		"a redirect":           {secretGate(8080, path("/away")), bad("HTTP 307")},
		"an old token":         {secretGate(8080, key("old")), none("HTTP 401", `rejects the credential from Secret shop/token, key "old", in cluster east`, "each request reads the Secret")},
		"none, as expected":    {secretGate(8080, func(g *api.HTTPGate) { g.BearerTokenSecretRef.Key, g.ExpectedStatus = "old", []int32{401} }), good()},
		"no such key":          {secretGate(8080, key("gone")), wrong("Secret shop/token in cluster east", `key "gone"`, "in cluster east: kubectl create secret generic -n shop token --from-literal=gone=TOKEN")},
		"no such Secret":       {secretGate(8080, func(g *api.HTTPGate) { g.BearerTokenSecretRef.Name = "gone" }), wrong("Secret shop/gone in cluster east")},
		"two headers in one":   {secretGate(8080, header("X-Api-Key", "two")), wrong("characters that a header must not have")},
		"no token":             {secretGate(8080, key("two")), wrong("holds no bearer token")},
		"nobody listens":       {secretGate(9, asIs), none("gives no answer at port 9", "error forwarding port 9")},
		"no HTTP":              {secretGate(7, asIs), none("its answer is not HTTP")},
		"no TLS":               {secretGate(8080, func(g *api.HTTPGate) { g.Scheme = api.GateHTTPS }), none("does not speak TLS")},
		"in the gate itself":   {secretGate(8080, func(g *api.HTTPGate) { g.Headers = []api.GateHeader{{Name: "authorization", Value: "Bearer x"}} }), wrong("http.headers: Authorization is a credential", "bearerTokenSecretRef")},
		"twice": {secretGate(8080, func(g *api.HTTPGate) {
			g.Headers = []api.GateHeader{{Name: "authorization", SecretRef: &api.GateSecretReference{Name: "token"}}}
		}), wrong("remove one of them")},
		"a value and a Secret": {secretGate(8080, func(g *api.HTTPGate) {
			g.Headers = []api.GateHeader{{Name: "X-Api-Key", Value: "a", SecretRef: &api.GateSecretReference{Name: "token"}}}
		}), wrong("remove one of them")},
		"of a stranger": {secretGate(8080, header("Impersonate-User", "value")), wrong("Impersonate-User")},
		"without":       {api.HealthGate{HTTP: &api.HTTPGate{Port: 8080}}, bad("HTTP 401", "http.bearerTokenSecretRef")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t.Context(), t, tc.gate, sides, web2)
			tc.want.check(t, got)
			if strings.Contains(got.Message, "abc.DEF") {
				t.Errorf("shows the token: %s", got.Message)
			}
		})
	}
	t.Run("another pod", func(t *testing.T) {
		t.Parallel()
		other := web2
		other.PodUID = "3"
		none("has been replaced").check(t, ask(t.Context(), t, secretGate(8080, asIs), sides, other))
	})
}

// serveLine answers every connection with a text.
func serveLine(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestHTTPSecretIsReadAnew: a changed Secret takes effect with the next question.
func TestHTTPSecretIsReadAnew(t *testing.T) {
	t.Parallel()
	server := appIn(t, "2", guarded)
	var changed atomic.Bool
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/secrets/token") || !changed.Load() {
			return false
		}
		clustertest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, `secrets "token" not found`)
		return true
	}
	server.Secrets = map[string]map[string][]byte{"shop/token": {"value": []byte(shownToken)}}
	asker, err := New(secretGate(8080, asIs), sidesOf(t, server))
	if err != nil {
		t.Fatal(err)
	}
	good().check(t, asker.Ask(t.Context(), web2))
	changed.Store(true)
	wrong("Secret shop/token").check(t, asker.Ask(t.Context(), web2))
	changed.Store(false)
	good().check(t, asker.Ask(t.Context(), web2))
}

// TestHTTPSecretWithoutRight: the Secret is read with the rights by which the pod is queried.
func TestHTTPSecretWithoutRight(t *testing.T) {
	t.Parallel()
	for resource, says := range map[string][]string{
		"secrets":          {"Secret shop/token in cluster east", "a permission is missing", "--verb=get --resource=secrets --resource-name=token"},
		"pods/portforward": {"a permission is missing", "sliceshift-mover-gates", "create pods/portforward"},
	} {
		server := appIn(t, "2", guarded)
		server.Secrets = map[string]map[string][]byte{"shop/token": {"value": []byte(shownToken)}}
		server.Before = func(w http.ResponseWriter, r *http.Request) bool {
			kind, subresource, _ := strings.Cut(resource, "/")
			if !strings.Contains(r.URL.Path, "/"+kind+"/") || !strings.HasSuffix(r.URL.Path, subresource) {
				return false
			}
			clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(`%s is forbidden: User "mover" cannot get resource %q in API group ""`, resource, resource))
			return true
		}
		none(says...).check(t, ask(t.Context(), t, secretGate(8080, asIs), sidesOf(t, server), web2))
	}
}

// TestHTTPSecretInTheOpen: a Secret is not read if the connection to the cluster is not confidential.
func TestHTTPSecretInTheOpen(t *testing.T) {
	t.Parallel()
	connection, err := clusters.Connect("east", &rest.Config{Host: "http://east.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	side := Side{connection, "shop", "web"}
	wrong("is asked by http", "https address").check(t, ask(t.Context(), t, secretGate(8080, asIs), Sides{Source: side, Destination: side}, web2))
}

// TestHTTPWithSecretsSilent: a pod that does not answer is not waited for.
func TestHTTPWithSecretsSilent(t *testing.T) {
	t.Parallel()
	server := appIn(t, "2", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server.Secrets = map[string]map[string][]byte{"shop/token": {"value": []byte(shownToken)}}
	server.UIDs = map[string]types.UID{"shop/web-2": "2"}
	none().check(t, ask(shortly(t), t, secretGate(8080, asIs), sidesOf(t, server), web2))
}
