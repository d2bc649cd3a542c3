package clusters

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// TestAllowance: the reserved total never exceeds the allowance, and all of it is returned (S3).
func TestAllowance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all = 100
		a := NewAllowance(all)
		tabs := make([]*tab, 3)
		for i := range tabs {
			tabs[i] = &tab{of: a}
		}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			one, n := rapid.SampledFrom(tabs).Draw(t, "tab"), rapid.Int64Range(0, all).Draw(t, "n")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				one.clear()
			case 1:
				one.give(min(n, one.taken))
			default:
				if left := a.left; one.take(n) != (n <= left) {
					t.Fatalf("%d of %d", n, left)
				}
			}
			if sum := tabs[0].taken + tabs[1].taken + tabs[2].taken; sum+a.left != all || a.left < 0 {
				t.Fatalf("%d are taken, %d are left", sum, a.left)
			}
		}
		for _, one := range tabs {
			one.close()
			if one.take(1) {
				t.Fatal("a closed tab takes")
			}
		}
		if a.left != all {
			t.Fatalf("%d are left in the end", a.left)
		}
	})
}

// within connects, as cluster west of a tenant, to a server with this handler.
func within(t *testing.T, allowance *Allowance, answer http.HandlerFunc) *Connection {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	west, err := ConnectWithin("west", &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, allowance)
	if err != nil {
		t.Fatal(err)
	}
	return west
}

// pods answers with a list of n pods.
func pods(n int) http.HandlerFunc {
	return discovered(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","items":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"metadata":{"namespace":"shop"}},`, n), ","))
	})
}

// podsInProtobuf answers like pods, in protobuf if it is requested.
func podsInProtobuf(t *testing.T, n int) http.HandlerFunc {
	list := &corev1.PodList{Items: make([]corev1.Pod, n)}
	for i := range list.Items {
		list.Items[i].Namespace = "shop"
		list.Items[i].Spec.Containers = make([]corev1.Container, 1)
	}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	answer, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), list)
	if err != nil {
		t.Fatal(err)
	}
	return discovered(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), protobufType) {
			t.Errorf("%s is asked for in %q", r.URL.Path, r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", protobufType)
		_, _ = w.Write(answer) // the client may have closed the connection
	})
}

// TestAnswersAreHeld: the memory for an answer is reserved while decisions use it, and no longer (S3).
func TestAnswersAreHeld(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"JSON": pods(100), "protobuf": podsInProtobuf(t, 100)} {
		t.Run(name, func(t *testing.T) { answersAreHeld(t, answer) })
	}
}

func answersAreHeld(t *testing.T, answer http.HandlerFunc) {
	const room = 300 << 10
	allowance := NewAllowance(room)
	west := within(t, allowance, answer)
	list := func(ctx context.Context) error {
		return west.Live().List(ctx, &corev1.PodList{}, client.InNamespace("shop"))
	}
	for range 3 {
		reading, release := Hold(t.Context())
		if err := list(reading); err != nil {
			t.Fatal(err)
		}
		if err := list(reading); err == nil || !strings.Contains(err.Error(), "cluster west sends more than is read for one namespace") {
			t.Errorf("two lists at once: %v", err)
		}
		release()
		if err := list(reading); err != nil {
			t.Errorf("nobody decides on it any more: %v", err)
		}
	}
	west.close()
	if allowance.left != room {
		t.Errorf("%d of %d are left in the end", allowance.left, room)
	}
}

// TestListOutlivesWhoAsked: a list of pods that completes after its caller has ended its pass is valid, and is charged to no
// holding.
func TestListOutlivesWhoAsked(t *testing.T) {
	const room = 300 << 10
	allowance := NewAllowance(room)
	ended := make(chan struct{})
	west := within(t, allowance, discovered(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[`)
		_ = http.NewResponseController(w).Flush()
		<-ended
		fmt.Fprint(w, `{"metadata":{"namespace":"shop"}}]}`)
	}))
	reading, release := Hold(t.Context())
	var pods corev1.PodList
	listed := make(chan error, 1)
	go func() { listed <- west.Live().List(reading, &pods, client.InNamespace("shop")) }()
	booked := func(context.Context) (bool, error) { return allowance.room() < room, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, booked); err != nil {
		t.Fatal(err)
	}
	release()
	close(ended)
	if err := <-listed; err != nil || len(pods.Items) != 1 {
		t.Errorf("%d pods: %v", len(pods.Items), err)
	}
	west.close()
	if allowance.room() != room {
		t.Errorf("%d of %d are left in the end", allowance.room(), room)
	}
}

// stream answers every list with an empty one. It answers the watch of one resource with n events, and then sends nothing
// more.
func stream(streamed string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		parts := strings.Split(r.URL.Path, "/")
		resource := parts[len(parts)-1]
		if known, found := viewed[r.URL.Path]; found {
			fmt.Fprint(w, known)
			return
		}
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		kind := kinds[resource]
		if resource == streamed {
			for i := range n {
				fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":%q,"apiVersion":%q,"metadata":{"namespace":"shop","name":"p-%d","resourceVersion":"%d"}}}`+"\n", kind[0], kind[1], i, i+1)
			}
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1000000","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind[0], kind[1])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// kinds maps the resources of a view to their versions.
var kinds = map[string][2]string{
	"pods": {"Pod", "v1"}, "persistentvolumeclaims": {"PersistentVolumeClaim", "v1"}, "persistentvolumes": {"PersistentVolume", "v1"}, "services": {"Service", "v1"},
	"statefulsets": {"StatefulSet", "apps/v1"}, "poddisruptionbudgets": {"PodDisruptionBudget", "policy/v1"}, "volumeattachments": {"VolumeAttachment", "storage.k8s.io/v1"},
}

// viewed holds the answers that a client needs before it watches everything in a view.
var viewed = func() map[string]string {
	answers := map[string]string{"/api": `{"kind":"APIVersions","versions":["v1"]}`}
	listed := map[string]string{}
	for resource, kind := range kinds {
		namespaced := kind[0] != "PersistentVolume" && kind[0] != "VolumeAttachment"
		listed[kind[1]] += fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%t,"verbs":["list","watch"]},`, resource, kind[0], namespaced)
	}
	var groups []string
	for version, each := range listed {
		path := "/apis/" + version
		if group, number, found := strings.Cut(version, "/"); found {
			of := fmt.Sprintf(`"name":%q,"versions":[{"groupVersion":%q,"version":%q}]`, group, version, number)
			answers["/apis/"+group] = `{"kind":"APIGroup","apiVersion":"v1",` + of + `}`
			groups = append(groups, "{"+of+"}")
		} else {
			path = "/api/" + version
		}
		answers[path] = fmt.Sprintf(`{"kind":"APIResourceList","groupVersion":%q,"resources":[%s]}`, version, strings.TrimSuffix(each, ","))
	}
	answers["/apis"] = `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(groups, ",") + `]}`
	return answers
}()

// room returns the remaining allowance.
func (a *Allowance) room() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left
}

// untilFull returns the error of a view once it is full.
func untilFull(ctx context.Context, view *View) (err error) {
	_ = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		err = view.List(ctx, &corev1.PodList{})
		return err != nil, nil
	})
	return err
}

// TestViewsAreBounded: a view keeps no more than its tenant's allowance, however small the objects are. It shows nothing
// once the limit was reached, and returns all of it (S3).
func TestViewsAreBounded(t *testing.T) {
	const room = 1 << 20
	for name, tc := range map[string]struct {
		pods    int
		bounded bool
	}{"few": {50, false}, "many": {5000, true}} {
		t.Run(name, func(t *testing.T) {
			allowance := NewAllowance(room)
			west := within(t, allowance, stream("pods", tc.pods))
			view, leave, err := west.Watch(t.Context(), Scope{Namespace: "shop"}, Subscription{Set: "web", Notify: func() {}})
			if leave != nil {
				t.Cleanup(leave)
			}
			if err == nil && tc.bounded {
				err = untilFull(t.Context(), view) // the view was filled before it was full
				leave()
			}
			if tc.bounded != (err != nil) {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "it holds more in namespace shop than is kept for one namespace") {
				t.Errorf("got %v", err)
			}
			if err == nil {
				if allowance.room() > room-int64(tc.pods)*weigh.Item {
					t.Errorf("%d of %d are left, with %d pods", allowance.room(), room, tc.pods)
				}
				if err := view.List(t.Context(), &corev1.PodList{}); err != nil {
					t.Error(err)
				}
				view.space.full = true
				if err := view.List(t.Context(), &corev1.PodList{}); err == nil {
					t.Error("a view that is full still shows something")
				}
				leave()
			}
			west.close()
			back := func(context.Context) (bool, error) { return allowance.room() == room, nil }
			if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, back); err != nil || len(west.core.spaces) > 0 {
				t.Errorf("%d views are left, and %d of %d bytes", len(west.core.spaces), allowance.room(), room)
			}
		})
	}
}

// TestStub: an object that exceeds the allowance is reduced to its name, so that none of its content is logged or kept in
// memory (S3).
func TestStub(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", ResourceVersion: "7", Labels: map[string]string{"a": "b"}}}
	pod.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}}}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", ResourceVersion: "7"}}
	if diff := cmp.Diff(client.Object(want), stub(pod)); diff != "" {
		t.Error(diff)
	}
}
