package execute

import (
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestEvictionIsAskedOnce: an API server that has not recalculated the budget asks for a retry after 10 s. The set is
// reconciled before that, and may then evict another pod.
func TestEvictionIsAskedOnce(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	asked, err := AnsweredAtOnce(fake.NewClientBuilder().Build(), &rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web-1"}}
	h := PodControl{Writer: Writer{Client: asked}}
	if err := h.evict(t.Context(), pod, metav1.Preconditions{UID: &pod.UID}); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the answer is %v", err)
	}
	if len(paths) != 1 || paths[0] != "POST /api/v1/namespaces/db/pods/web-1/eviction" {
		t.Errorf("asked %q", paths)
	}
}

// TestOnlyEvictionsAreAskedOnce: any other body than an eviction is an error, and is not sent.
func TestOnlyEvictionsAreAskedOnce(t *testing.T) {
	asked, err := AnsweredAtOnce(fake.NewClientBuilder().Build(), &rest.Config{Host: "http://192.0.2.1"}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web-1"}}
	if err := asked.SubResource(eviction).Create(t.Context(), pod, &corev1.Pod{}); err == nil {
		t.Error("a pod was taken for an eviction")
	}
	if _, is := asked.SubResource("status").(evictions); is {
		t.Error("the status is taken for an eviction")
	}
}
