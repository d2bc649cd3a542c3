package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

// served is a server with a fake client that stores migrations.
type served struct {
	*Server
	client client.Client
}

func serve(t *testing.T, migrations ...*api.Migration) served {
	t.Helper()
	return serveOver(t, interceptor.Funcs{}, migrations...)
}

func serveOver(t *testing.T, funcs interceptor.Funcs, migrations ...*api.Migration) served {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithInterceptorFuncs(funcs)
	shown := board.New()
	for _, m := range migrations {
		builder = builder.WithObjects(m)
	}
	c := builder.Build()
	for _, m := range migrations {
		kept := &api.Migration{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), kept); err != nil {
			t.Fatal(err)
		}
		if err := shown.Show(kept, false); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(Options{
		Cluster: "east", Board: shown, Clock: clock.RealClock{},
		Store: func(namespace, name string, _ bool) records.Store {
			return records.Resource{Client: c, Namespace: namespace, Name: name}
		},
		Plan: func(_ context.Context, m board.Migration) (Forecast, error) {
			if m.Name == "web" {
				return Forecast{Page: page.Page{Title: "a plan"}}, nil
			}
			return Forecast{}, errors.New("its destination is in another cluster")
		},
		Evacuation: func(_ context.Context, namespace, name string) (page.Page, error) {
			if name != "all" {
				return page.Page{}, apierrors.NewNotFound(api.GroupVersion.WithResource("evacuations").GroupResource(), name)
			}
			return page.Page{Title: "Evacuation " + namespace + "/" + name, Lead: "Running"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return served{s, c}
}

// ask sends a request as the page would, with changes.
func (s served) ask(method, path, body string, changes ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8931"
	r.Header.Set("Authorization", "Bearer "+s.Token())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://127.0.0.1:8931")
	}
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

const pauses = `{"verb":"pause","uid":"migration","confirmed":"web"}`

// TestStrangers: requests that do not come from the page are rejected, whatever their path, and change nothing.
func TestStrangers(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"our page":                      {func(*http.Request) {}, http.StatusOK},
		"typed":                         {header("Sec-Fetch-Site", "none"), http.StatusOK},
		"an older browser":              {header("Sec-Fetch-Site", ""), http.StatusOK},
		"localhost":                     {func(r *http.Request) { host("localhost:8931")(r); header("Origin", "http://localhost:8931")(r) }, http.StatusOK},
		"IPv6":                          {func(r *http.Request) { host("[::1]:8931")(r); header("Origin", "http://[::1]:8931")(r) }, http.StatusOK},
		"a forwarded port":              {func(r *http.Request) { host("localhost:1")(r); header("Origin", "http://localhost:1")(r) }, http.StatusOK},
		"another site":                  {header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port of this machine":  {header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"another origin":                {header("Origin", "https://evil.example"), http.StatusForbidden},
		"the origin of another port":    {header("Origin", "http://127.0.0.1:3000"), http.StatusForbidden},
		"an origin that is kept secret": {header("Origin", "null"), http.StatusForbidden},
		"another scheme":                {header("Origin", "https://127.0.0.1:8931"), http.StatusForbidden},
		"a rebound name":                {func(r *http.Request) { host("evil.example:8931")(r); header("Origin", "http://evil.example:8931")(r) }, http.StatusForbidden},
		"a name that looks like ours":   {host("127.0.0.1.evil.example:8931"), http.StatusForbidden},
		"another address":               {host("192.0.2.1:8931"), http.StatusForbidden},
		"no host":                       {host(""), http.StatusForbidden},
		"no token":                      {header("Authorization", ""), http.StatusUnauthorized},
		"another token":                 {header("Authorization", "Bearer x"), http.StatusUnauthorized},
		"an empty token":                {header("Authorization", "Bearer "), http.StatusUnauthorized},
		"a form":                        {header("Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, movetest.InFlight())
			if got := s.ask("POST", "/api/migration/shop/web/act", pauses, tc.change); got.Code != tc.want {
				t.Errorf("the answer is %d %s, want %d", got.Code, got.Body, tc.want)
			}
			if mode := s.mode(t); (mode == api.ModePause) != (tc.want == http.StatusOK) {
				t.Errorf("the mode is %s", mode)
			}
			if tc.want != http.StatusForbidden {
				return
			}
			for _, path := range []string{"/", "/app.js", "/api/events", "/api/migration/shop/web/report"} {
				if got := s.ask("GET", path, "", tc.change); got.Code != tc.want {
					t.Errorf("%s answers %d", path, got.Code)
				}
			}
		})
	}
}

// TestNavigation: a link or redirect can open the files of the page, but not cluster data.
func TestNavigation(t *testing.T) {
	s := serve(t, movetest.InFlight())
	come := func(r *http.Request) {
		header("Sec-Fetch-Site", "cross-site")(r)
		header("Sec-Fetch-Mode", "navigate")(r)
	}
	for path, want := range map[string]int{"/": http.StatusOK, "/api/events": http.StatusForbidden, "/api/migration/shop/web/report": http.StatusForbidden} {
		if got := s.ask("GET", path, "", come); got.Code != want {
			t.Errorf("%s answers %d, want %d", path, got.Code, want)
		}
	}
	if got := s.ask("POST", "/api/migration/shop/web/act", pauses, come); got.Code != http.StatusForbidden {
		t.Errorf("an action answers %d", got.Code)
	}
}

func (s served) mode(t *testing.T) api.Mode {
	t.Helper()
	m := &api.Migration{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, m); err != nil {
		t.Fatal(err)
	}
	return m.Spec.Mode
}

// TestNothingWithoutTheToken: files contain no data of a cluster; everything else requires the token.
func TestNothingWithoutTheToken(t *testing.T) {
	s := serve(t, movetest.InFlight())
	for path, want := range map[string]int{
		"/": 200, "/app.css": 200, "/app.js": 200, "/lib.js": 200, "/list.js": 200, "/one.js": 200, "/icon.svg": 200,
		"/api/events": 401, "/api/migration/shop/web/report": 401, "/api/migration/shop/web/plan": 401,
	} {
		got := s.ask("GET", path, "", header("Authorization", ""))
		if got.Code != want {
			t.Errorf("%s answers %d, want %d", path, got.Code, want)
		}
		head := got.Header()
		for name, part := range map[string]string{
			"Content-Security-Policy": "frame-ancestors 'none'", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if !strings.Contains(head.Get(name), part) {
				t.Errorf("%s has %s %q", path, name, head.Get(name))
			}
		}
		if policy := head.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("the policy is %s", policy)
		}
	}
	other := serve(t)
	if s.Token() == other.Token() || len(s.Token()) < 26 {
		t.Errorf("the tokens are %s and %s", s.Token(), other.Token())
	}
}

// TestAct: an action is executed if it is confirmed, concerns the migration that the user saw, and is possible.
func TestAct(t *testing.T) {
	forbidden := interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "migrations"}, "web", errors.New("no"))
	}}
	for name, tc := range map[string]struct {
		m     *api.Migration
		body  string
		funcs interceptor.Funcs
		want  int
		mode  api.Mode
	}{
		"pause":             {m: movetest.InFlight(), body: pauses, want: 200, mode: api.ModePause},
		"resume":            {m: movetest.InMode(api.ModePause), body: `{"verb":"resume","uid":"migration","confirmed":"web"}`, want: 200, mode: api.ModeRun},
		"roll back":         {m: movetest.InFlight(), body: `{"verb":"rollback","uid":"migration","confirmed":"web"}`, want: 200, mode: api.ModeRollback},
		"not confirmed":     {m: movetest.InFlight(), body: `{"verb":"rollback","uid":"migration"}`, want: 400, mode: api.ModeRun},
		"another name":      {m: movetest.InFlight(), body: `{"verb":"rollback","uid":"migration","confirmed":"we"}`, want: 400, mode: api.ModeRun},
		"another of a name": {m: movetest.InFlight(), body: `{"verb":"rollback","uid":"former","confirmed":"web"}`, want: 409, mode: api.ModeRun},
		"completed":         {m: movetest.Completed(), body: pauses, want: 409, mode: api.ModeRun},
		"paused already":    {m: movetest.InMode(api.ModePause), body: pauses, want: 409, mode: api.ModePause},
		"no such verb":      {m: movetest.InFlight(), body: `{"verb":"recover","uid":"migration","confirmed":"web"}`, want: 400, mode: api.ModeRun},
		"no JSON":           {m: movetest.InFlight(), body: "verb=pause", want: 400, mode: api.ModeRun},
		"more than asked":   {m: movetest.InFlight(), body: `{"verb":"pause","uid":"migration","confirmed":"web","mode":"Recover"}`, want: 400, mode: api.ModeRun},
		"too much":          {m: movetest.InFlight(), body: `{"verb":"` + strings.Repeat("x", mostRequest) + `"}`, want: 400, mode: api.ModeRun},
		"no right":          {m: movetest.InFlight(), body: pauses, funcs: forbidden, want: 403, mode: api.ModeRun},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveOver(t, tc.funcs, tc.m)
			if got := s.ask("POST", "/api/migration/shop/web/act", tc.body); got.Code != tc.want {
				t.Errorf("the answer is %d %s, want %d", got.Code, got.Body, tc.want)
			}
			if mode := s.mode(t); mode != tc.mode {
				t.Errorf("the mode is %s, want %s", mode, tc.mode)
			}
		})
	}
	if got := serve(t).ask("POST", "/api/migration/shop/web/act", pauses); got.Code != http.StatusNotFound {
		t.Errorf("of one that is gone it says %d %s", got.Code, got.Body)
	}
	if got := serve(t, movetest.InFlight()).ask("GET", "/api/migration/shop/web/act", ""); got.Code != http.StatusNotFound {
		t.Errorf("a GET is answered with %d", got.Code)
	}
}

// TestDocuments: the report and the plan are returned as facts and tables, and the report also as a file.
func TestDocuments(t *testing.T) {
	other := movetest.InFlight()
	other.Name = "far"
	s := serve(t, movetest.InFlight(), other)
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/api/migration/shop/web/report":             {200, `"title":"Migration of StatefulSet shop/web"`},
		"/api/migration/shop/web/report?format=html": {200, "<!DOCTYPE html>"},
		"/api/migration/shop/web/plan":               {200, `"title":"a plan"`},
		"/api/migration/shop/far/plan":               {409, "its destination is in another cluster"},
		"/api/run/shop/web/report":                   {404, "any more"},
	} {
		if got := s.ask("GET", path, ""); got.Code != want.code || !strings.Contains(got.Body.String(), want.text) {
			t.Errorf("%s answers %d %s", path, got.Code, got.Body)
		}
	}
}

// TestEvents: a page receives the list and its selected migration, when it is opened and after each change.
func TestEvents(t *testing.T) {
	s := serve(t, movetest.InFlight())
	listening := httptest.NewServer(s)
	defer listening.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, listening.URL+"/api/events?one=migration/shop/web", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token())
	answer, err := listening.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func(event string) (data string) {
		for lines.Scan() {
			if lines.Text() == "event: "+event && lines.Scan() {
				return strings.TrimPrefix(lines.Text(), "data: ")
			}
		}
		t.Fatalf("the stream has ended before %s: %v", event, lines.Err())
		return ""
	}
	if data := next("rows"); !strings.Contains(data, `"key":"migration/shop/web"`) {
		t.Errorf("the rows are %s", data)
	}
	var shown struct {
		State   string
		Actions []any
	}
	if err := json.Unmarshal([]byte(next("one")), &shown); err != nil || shown.State != "moving" || len(shown.Actions) != 3 {
		t.Errorf("it is %+v: %v", shown, err)
	}
	changed := movetest.InMode(api.ModePause)
	changed.ResourceVersion = "changed"
	if err := s.Board.Show(changed, false); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(next("one")), &shown); err != nil || shown.State != "pausing" {
		t.Errorf("it is %+v: %v", shown, err)
	}
}

// TestEvacuation: the page of an Evacuation is read for each request, and one that does not exist is named.
func TestEvacuation(t *testing.T) {
	s := serve(t)
	if got := s.ask("GET", "/api/evacuation/shop/all/report", ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Evacuation shop/all") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := s.ask("GET", "/api/evacuation/shop/other/report", ""); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "other") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := s.ask("GET", "/api/evacuation/shop/all/report", "", header("Authorization", "")); got.Code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got.Code)
	}
}
