package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// server is an API server that records the requests, and answers each with the next of its answers; the last one stays.
type server struct {
	answers  []string
	statuses []int
	asked    []string
	bodies   []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.bodies = append(s.bodies, strings.TrimSpace(string(body)))
	at := min(len(s.asked), len(s.answers)) - 1
	w.Header().Set("Content-Type", asJSON)
	if at < len(s.statuses) {
		w.WriteHeader(s.statuses[at])
	}
	_, _ = io.WriteString(w, s.answers[at])
}

// start starts a proxy to a server.
func start(t *testing.T, behind http.Handler, patience time.Duration) string {
	t.Helper()
	upstream := httptest.NewServer(behind)
	t.Cleanup(upstream.Close)
	p, err := New(&rest.Config{Host: upstream.URL}, patience)
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// send sends a request to a proxy and returns the status and the body of the answer.
func send(t *testing.T, method, address, contentType, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(content))
}

const (
	nativePath = "/apis/apps/v1/namespaces/shop/statefulsets"
	oursPath   = "/apis/apps.sliceshift.io/v1alpha1/namespaces/shop/statefulsets"
)

// TestPaths: requests for StatefulSets reach those of our kind, all others the resource that they name.
func TestPaths(t *testing.T) {
	s := &server{answers: []string{"{}"}}
	address := start(t, s, 0)
	for _, path := range []string{
		nativePath, nativePath + "/web", nativePath + "/web/status", nativePath + "/web/scale", "/apis/apps/v1/statefulsets?labelSelector=a%3Db",
		"/apis/apps/v1/namespaces/shop/controllerrevisions", "/apis/apps/v1", "/api/v1/namespaces/statefulsets", "/api/v1/namespaces/shop/pods/web-0/log?follow=true",
	} {
		if status, _ := send(t, http.MethodGet, address+path, "", ""); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if diff := cmp.Diff([]string{
		"GET " + oursPath, "GET " + oursPath + "/web", "GET " + oursPath + "/web/status", "GET " + oursPath + "/web/scale",
		"GET /apis/apps.sliceshift.io/v1alpha1/statefulsets?labelSelector=a%3Db",
		"GET /apis/apps/v1/namespaces/shop/controllerrevisions", "GET /apis/apps/v1", "GET /api/v1/namespaces/statefulsets", "GET /api/v1/namespaces/shop/pods/web-0/log?follow=true",
	}, s.asked); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

const owner = `"metadata":{"ownerReferences":[{"apiVersion":"%s","kind":"StatefulSet","name":"web"},{"apiVersion":"apps/v1","kind":"ReplicaSet"}]}`

// TestObjects: StatefulSets and references to them have the API version of the side that reads them. Numbers and characters
// stay as they are.
func TestObjects(t *testing.T) {
	ourOwner, nativeOwner := fmt.Sprintf(owner, ours), fmt.Sprintf(owner, native)
	for name, tc := range map[string]struct{ path, native, ours string }{
		"a set": {
			nativePath, `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"n":9007199254740993,"text":"<&>"}}`,
			`{"apiVersion":"apps.sliceshift.io/v1alpha1","kind":"StatefulSet","spec":{"n":9007199254740993,"text":"<&>"}}`,
		},
		"a list": {
			nativePath, `{"apiVersion":"apps/v1","items":[{"apiVersion":"apps/v1","kind":"StatefulSet"}],"kind":"StatefulSetList"}`,
			`{"apiVersion":"apps.sliceshift.io/v1alpha1","items":[{"apiVersion":"apps.sliceshift.io/v1alpha1","kind":"StatefulSet"}],"kind":"StatefulSetList"}`,
		},
		"a scale":    {nativePath + "/web/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale"}`, `{"apiVersion":"autoscaling/v1","kind":"Scale"}`},
		"a pod":      {"/api/v1/namespaces/shop/pods/web-0", "{" + nativeOwner + "}", "{" + ourOwner + "}"},
		"a claim":    {"/api/v1/namespaces/shop/persistentvolumeclaims", `{"items":[{` + nativeOwner + `}],"kind":"List"}`, `{"items":[{` + ourOwner + `}],"kind":"List"}`},
		"a revision": {"/apis/apps/v1/namespaces/shop/controllerrevisions/web-1", "{" + nativeOwner + "}", "{" + ourOwner + "}"},
		"a Service":  {"/api/v1/namespaces/shop/services/web", "{" + nativeOwner + "}", "{" + nativeOwner + "}"},
		"a JSON patch": {
			nativePath + "/web", `[{"op":"remove","path":"/metadata/labels/a"}]`, `[{"op":"remove","path":"/metadata/labels/a"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: []string{tc.ours}}
			_, got := send(t, http.MethodPut, start(t, s, 0)+tc.path, asJSON, tc.native)
			if got != tc.native || s.bodies[0] != tc.ours {
				t.Errorf("the client got %s, the server %s", got, s.bodies[0])
			}
		})
	}
}

// TestDeleteOptions: options of the client's group become those of any group.
func TestDeleteOptions(t *testing.T) {
	s := &server{answers: []string{"{}"}}
	send(t, http.MethodDelete, start(t, s, 0)+nativePath+"/web", asJSON, `{"apiVersion":"apps/v1","kind":"DeleteOptions","orphanDependents":false}`)
	if s.asked[0] != "DELETE "+oursPath+"/web" || s.bodies[0] != `{"orphanDependents":false}` {
		t.Errorf("got %s %s", s.asked, s.bodies)
	}
}

// TestProtobufIsRefused: a body that the proxy cannot translate does not reach the server.
func TestProtobufIsRefused(t *testing.T) {
	s := &server{answers: []string{"{}"}}
	status, text := send(t, http.MethodPut, start(t, s, 0)+nativePath+"/web", "application/vnd.kubernetes.protobuf", "k8s")
	if status != http.StatusUnsupportedMediaType || !strings.Contains(text, asJSON) || len(s.asked) > 0 {
		t.Errorf("got %d %s, and the server %v", status, text, s.asked)
	}
}

// TestWatch: each event is translated when it comes, not when the watch ends.
func TestWatch(t *testing.T) {
	proceed := make(chan struct{})
	address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", asJSON)
		for i := range 2 {
			fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":%q,"kind":"StatefulSet","metadata":{"generation":%d}}}`+"\n", ours, i)
			w.(http.Flusher).Flush()
			select {
			case <-proceed:
			case <-r.Context().Done():
			}
		}
	}), 0)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+nativePath+"?watch=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for i := range 2 {
		if !lines.Scan() {
			t.Fatalf("the watch ended: %v", lines.Err())
		}
		if want := fmt.Sprintf(`{"object":{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":%d}},"type":"ADDED"}`, i); lines.Text() != want {
			t.Errorf("got %s, want %s", lines.Text(), want)
		}
		proceed <- struct{}{}
	}
	if lines.Scan() {
		t.Errorf("it goes on with %s", lines.Text())
	}
}

// TestStrategicMergePatch: containers merge by name, and a conflict is tried again with the set of that moment.
func TestStrategicMergePatch(t *testing.T) {
	const set = `{"apiVersion":"apps.sliceshift.io/v1alpha1","kind":"StatefulSet","metadata":{"resourceVersion":"%d"},"spec":{"paused":true,` +
		`"template":{"spec":{"containers":[{"image":"a:1","name":"a"},{"image":"b:1","name":"b"}]}}}}`
	s := &server{
		answers:  []string{fmt.Sprintf(set, 1), "{}", fmt.Sprintf(set, 2), `{"apiVersion":"apps.sliceshift.io/v1alpha1","kind":"StatefulSet"}`},
		statuses: []int{http.StatusOK, http.StatusConflict, http.StatusOK, http.StatusOK},
	}
	status, got := send(t, http.MethodPatch, start(t, s, 0)+nativePath+"/web?fieldManager=m", strategic,
		`{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"b:2"}]}}}}`)
	if status != http.StatusOK || got != `{"apiVersion":"apps/v1","kind":"StatefulSet"}` {
		t.Errorf("the client got %d %s", status, got)
	}
	write := "PUT " + oursPath + "/web?fieldManager=m"
	if diff := cmp.Diff([]string{"GET " + oursPath + "/web", write, "GET " + oursPath + "/web", write}, s.asked); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if want := strings.Replace(fmt.Sprintf(set, 2), "b:1", "b:2", 1); !sameJSON(t, s.bodies[3], want) {
		t.Errorf("got %s, want %s", s.bodies[3], want)
	}
}

// TestStrategicMergePatchOfNothing: the client gets the answer to a read that failed, and nothing is written.
func TestStrategicMergePatchOfNothing(t *testing.T) {
	s := &server{answers: []string{`{"kind":"Status","code":404}`}, statuses: []int{http.StatusNotFound}}
	status, _ := send(t, http.MethodPatch, start(t, s, 0)+nativePath+"/web", strategic, `{"spec":{"replicas":2}}`)
	if status != http.StatusNotFound || len(s.asked) != 1 {
		t.Errorf("got %d after %v", status, s.asked)
	}
}

// TestPatchOfScale: a strategic merge patch of a Scale is sent as a merge patch.
func TestPatchOfScale(t *testing.T) {
	got := make(chan string, 1)
	address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + strings.TrimSpace(string(body))
		_, _ = io.WriteString(w, "{}")
	}), 0)
	send(t, http.MethodPatch, address+nativePath+"/web/scale", strategic, `{"spec":{"replicas":4}}`)
	if want := "PATCH " + oursPath + `/web/scale application/merge-patch+json {"spec":{"replicas":4}}`; <-got != want {
		t.Errorf("want %s", want)
	}
}

// TestReadsWaitForTheController: a read of a set is answered when the controller has observed the set, or after the proxy's
// patience. A set that is being deleted, a status and an error are returned at once.
func TestReadsWaitForTheController(t *testing.T) {
	const (
		observed = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":2},"status":{"observedGeneration":2}}`
		behind   = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"generation":2},"status":{"observedGeneration":1}}`
		deleted  = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","generation":2},"status":{"observedGeneration":1}}`
	)
	for name, tc := range map[string]struct {
		path     string
		patience time.Duration
		answers  []string
		status   int
		want     string
		most     int
	}{
		"observed":        {"/web", time.Minute, []string{observed}, http.StatusOK, observed, 1},
		"behind at first": {"/web", time.Minute, []string{behind, behind, observed}, http.StatusOK, observed, 3},
		"behind":          {"/web", 50 * time.Millisecond, []string{behind}, http.StatusOK, behind, 10},
		"no patience":     {"/web", 0, []string{behind, observed}, http.StatusOK, behind, 1},
		"deleted":         {"/web", time.Minute, []string{deleted, observed}, http.StatusOK, deleted, 1},
		"its status":      {"/web/status", time.Minute, []string{behind, observed}, http.StatusOK, behind, 1},
		"an error":        {"/web", time.Minute, []string{behind, observed}, http.StatusForbidden, behind, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{statuses: []int{tc.status}}
			for _, answer := range tc.answers {
				s.answers = append(s.answers, strings.Replace(answer, native, ours, 1))
			}
			status, got := send(t, http.MethodGet, start(t, s, tc.patience)+nativePath+tc.path, "", "")
			if status != tc.status || got != tc.want || len(s.asked) > tc.most {
				t.Errorf("got %d %s after %d reads, want %d %s after at most %d", status, got, len(s.asked), tc.status, tc.want, tc.most)
			}
		})
	}
}

// TestUpgrade: a connection for exec passes in both directions.
func TestUpgrade(t *testing.T) {
	address := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, stream, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = stream.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_ = stream.Flush()
		line, _ := stream.ReadString('\n')
		_, _ = stream.WriteString("echo " + line)
		_ = stream.Flush()
	}), 0)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(connection, "POST /api/v1/namespaces/shop/pods/web-0/exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	fmt.Fprint(connection, "hello\n")
	content, err := io.ReadAll(reader)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols || string(content) != "echo hello\n" {
		t.Errorf("got status %d and %q: %v", response.StatusCode, content, err)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var left, right any
	if err := json.Unmarshal([]byte(a), &left); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &right); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(left, right)
}
