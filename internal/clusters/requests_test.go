package clusters

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestVerbs(t *testing.T) {
	for target, want := range map[string]string{
		"GET /api/v1/namespaces/kube-system":                           "get",
		"GET /api/v1/namespaces":                                       "list",
		"GET /api/v1/namespaces/shop/pods":                             "list",
		"GET /api/v1/namespaces/shop/pods/web-0":                       "get",
		"GET /api/v1/namespaces/shop/pods?watch=true":                  "watch",
		"GET /apis/apps/v1/namespaces/shop/statefulsets/web/scale":     "get",
		"GET /apis/storage.k8s.io/v1/volumeattachments":                "list",
		"GET /k8s/clusters/c-1/apis/apps/v1/namespaces/a/statefulsets": "list",
		"GET /apis/apps/v1":                                            "discover",
		"GET /version":                                                 "discover",
		"POST /api/v1/namespaces/shop/persistentvolumeclaims":          "create",
		"PUT /apis/apps/v1/namespaces/shop/statefulsets/web":           "update",
		"PATCH /api/v1/persistentvolumes/pv-1":                         "patch",
		"DELETE /api/v1/namespaces/shop/persistentvolumeclaims/data-x": "delete",
	} {
		t.Run(target, func(t *testing.T) {
			method, url, _ := strings.Cut(target, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := verbOf(req); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestResults(t *testing.T) {
	for code, want := range map[int]string{200: "done", 201: "done", 301: "done", 403: "refused", 404: "refused", 409: "conflict", 429: "refused", 500: "failed", 999: "failed"} {
		if got := resultOf(&http.Response{StatusCode: code}, nil); got != want {
			t.Errorf("%d: got %s, want %s", code, got, want)
		}
	}
	if got := resultOf(nil, errors.New("no route to host")); got != "failed" {
		t.Errorf("no answer: got %s", got)
	}
}
