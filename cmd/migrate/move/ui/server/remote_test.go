package server

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// far is a page that a manager serves, with the client of each token.
type far struct {
	*testing.T
	http.Handler
	clients map[string]client.WithWatch
}

// serveFar serves the page to alice, who may do everything, to bob, who may only read, and to carol, who may do nothing.
// dora may not use the page.
func serveFar(t *testing.T) far {
	t.Helper()
	denies := func(context.Context) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "migrations"}, "web", errors.New(`User "bob" cannot do it`))
	}
	looks := interceptor.Funcs{Patch: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
		return denies(ctx)
	}}
	nothing := looks
	nothing.Get = func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
		return denies(ctx)
	}
	nothing.List = func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
		return denies(ctx)
	}
	clients := map[string]client.WithWatch{}
	watches := func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
		options := (&client.ListOptions{}).ApplyOptions(opts)
		if options.Raw != nil && options.Raw.SendInitialEvents != nil {
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // the fake client does not support it
		}
		return c.Watch(ctx, list, opts...)
	}
	for token, funcs := range map[string]interceptor.Funcs{"alice": {}, "bob": looks, "carol": nothing} {
		funcs.Watch = watches
		clients[token] = fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithInterceptorFuncs(funcs).WithObjects(movetest.InFlight()).Build()
	}
	handler, err := NewRemote(RemoteOptions{Cluster: "east", Clock: clock.RealClock{}, Admit: func(_ context.Context, token, method string) (client.WithWatch, error) {
		switch c := clients[token]; {
		case token == "dora":
			return nil, Denied{http.StatusForbidden, "user dora may not " + method + " /ui"}
		case token == "silence":
			return nil, errors.New("the API server does not answer")
		case c == nil:
			return nil, Denied{http.StatusUnauthorized, "no such token"}
		default:
			return c, nil
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return far{t, handler, clients}
}

func (f far) ask(method, path, token, body string, changes ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "moves.example.com"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "https://moves.example.com")
	}
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(deadlines{w}, r)
	return w
}

// deadlines is a recorder that accepts a deadline, like a connection.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetReadDeadline(time.Time) error { return nil }

const (
	farReport = RemotePath + "/api/migration/shop/web/report"
	farAct    = RemotePath + "/api/migration/shop/web/act"
)

func (f far) mode(token string) api.Mode {
	m := &api.Migration{}
	if err := f.clients[token].Get(f.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, m); err != nil {
		return ""
	}
	return m.Spec.Mode
}

// TestRemoteRights: each user can do what the user's own client may do. A token is requested if that would help, and
// nothing is done for a user that is not admitted.
func TestRemoteRights(t *testing.T) {
	for token, want := range map[string]struct {
		report, act int
		login       bool
		mode        api.Mode
	}{
		"alice":   {200, 200, false, api.ModePause},
		"bob":     {200, 403, false, api.ModeRun},
		"carol":   {403, 403, false, ""},
		"dora":    {403, 403, true, ""},
		"forged":  {401, 401, true, ""},
		"":        {401, 401, true, ""},
		"silence": {502, 502, false, ""},
	} {
		t.Run(token, func(t *testing.T) {
			f := serveFar(t)
			report, act := f.ask("GET", farReport, token, ""), f.ask("POST", farAct, token, pauses)
			if report.Code != want.report || act.Code != want.act {
				t.Errorf("it reports with %d %s, and acts with %d %s", report.Code, report.Body, act.Code, act.Body)
			}
			if login := strings.Contains(report.Body.String(), `"login":true`); login != want.login {
				t.Errorf("the answer is %s", report.Body)
			}
			if want.mode != "" && f.mode(token) != want.mode {
				t.Errorf("the mode is %s", f.mode(token))
			}
		})
	}
}

// TestRemoteStrangers: requests from another site are rejected before the user is identified. A link may lead to the
// page, which contains no data of a cluster.
func TestRemoteStrangers(t *testing.T) {
	navigates := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	}
	for name, tc := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"another site":          {header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a sister site":         {header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"another origin":        {header("Origin", "https://evil.example"), http.StatusForbidden},
		"an origin without TLS": {header("Origin", "http://moves.example.com"), http.StatusForbidden},
		"a hidden origin":       {header("Origin", "null"), http.StatusForbidden},
		"a form of a link":      {navigates, http.StatusForbidden},
		"an older browser":      {header("Sec-Fetch-Site", ""), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveFar(t)
			if got := f.ask("POST", farAct, "alice", pauses, tc.change); got.Code != tc.want || (f.mode("alice") == api.ModePause) != (tc.want == http.StatusOK) {
				t.Errorf("the answer is %d %s, and the mode %s", got.Code, got.Body, f.mode("alice"))
			}
			if got := f.ask("GET", farReport, "alice", "", tc.change); got.Code != tc.want {
				t.Errorf("a report is answered with %d", got.Code)
			}
		})
	}
	f := serveFar(t)
	for path, want := range map[string]int{"/ui/": 200, "/ui/app.js": 200, "/ui/login.js": 200, "/": 302, "/ui": 307, "/ui/api/events": 403, "/metrics": 404} {
		if got := f.ask("GET", path, "", "", navigates); got.Code != want {
			t.Errorf("%s is answered with %d, want %d", path, got.Code, want)
		}
	}
	if got := f.ask("GET", RemotePath+"/api/migration/shop/web/plan", "alice", ""); got.Code != http.StatusNotFound {
		t.Errorf("a plan is answered with %d", got.Code)
	}
}

// TestRemoteNamespaces: the number of namespaces is limited, and their names must be valid.
func TestRemoteNamespaces(t *testing.T) {
	s := &remote{RemoteOptions: RemoteOptions{Namespace: "shop"}}
	for query, want := range map[string]string{
		"": "shop", "store": "store", "store,+shop,store": "shop store", ",": "shop",
		"Store": "!not the name", "../kube-system": "!not the name", "a,b,c,d,e,f,g,h,i": "!too many",
	} {
		names, why := s.namespaces(httptest.NewRequest("GET", "/ui/api/events?namespaces="+query, http.NoBody))
		if said, refused := strings.CutPrefix(want, "!"); refused != (why != "") || !strings.Contains(why, said) && refused || !refused && strings.Join(names, " ") != want {
			t.Errorf("%q: %v, %s", query, names, why)
		}
	}
}

// TestRemoteEvents: a page receives what its user may see. A user without permissions receives only that fact.
func TestRemoteEvents(t *testing.T) {
	f := serveFar(t)
	listening := httptest.NewServer(f)
	defer listening.Close()
	for token, want := range map[string]string{"alice": `"key":"migration/shop/web"`, "carol": `"state":"forbidden"`} {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, listening.URL+RemotePath+"/api/events?namespaces=shop", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := listening.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answer.Body)
		found := false
		for !found && lines.Scan() {
			found = strings.Contains(lines.Text(), want)
			if token == "carol" && strings.Contains(lines.Text(), "migration/shop/web") {
				t.Errorf("carol is told %s", lines.Text())
			}
		}
		if !found {
			t.Errorf("%s is not told %s: %v", token, want, lines.Err())
		}
		stop()
		_ = answer.Body.Close()
	}
}

// TestRemoteCrowd: when all slots are taken, every further user gets an error that says so.
func TestRemoteCrowd(t *testing.T) {
	room := make(chan struct{}, 1)
	w := httptest.NewRecorder()
	leave := enter(w, room)
	if enter(w, room) != nil || w.Code != http.StatusServiceUnavailable {
		t.Errorf("the answer is %d", w.Code)
	}
	leave()
	if enter(w, room) == nil {
		t.Error("a place that is free again is not given")
	}
}
