package endpoint

import (
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAbsence: only an object that Kubernetes itself reports as not found is absent (I1). A proxy's 404 page counts
// as an unreachable cluster.
func TestAbsence(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, body string
		absent     bool
	}{
		"the API server": {"application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"pods \"web-0\" not found","details":{"name":"web-0","kind":"pods"}}`, true},
		"a proxy":        {"text/html", "<html>404 Not Found</html>", false},
		"an empty body":  {"text/plain", "", false},
		"no such path":   {"text/plain", "404 page not found", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
			reader, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			pod, err := Get[corev1.Pod](t.Context(), reader, client.ObjectKey{Namespace: "shop", Name: "web-0"})
			if pod != nil || (err == nil) != tc.absent {
				t.Errorf("got %v, %v; absent: %t", pod, err, tc.absent)
			}
		})
	}
}
