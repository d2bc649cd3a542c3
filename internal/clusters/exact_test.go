package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAnotherObject: an answer about an object other than the requested one is an error, and never a NotFound. A generated
// name is accepted.
func TestAnotherObject(t *testing.T) {
	for answer, refused := range map[[2]string]bool{{"shop", "data-web-0"}: false, {"shop", "victim"}: true, {"bank", "data-web-0"}: true, {"", ""}: true} {
		west := serve(t, discovered(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			object := fmt.Sprintf(`{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"namespace":%q,"name":%q}}`, answer[0], answer[1])
			if strings.HasSuffix(r.URL.Path, "/pods") {
				object = fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":%q,"name":%q}}]}`, answer[0], answer[1])
			}
			fmt.Fprint(w, object)
		}))
		for name, ask := range everyWay(west) {
			if name == "a deletion" || name == "its identity" || name == "what it serves" || name == "a bare request" || name == "a list" {
				continue
			}
			wantAnother(t, fmt.Sprint(answer, name), refused, ask(t.Context()))
		}
		list := func(ctx context.Context, namespace string) error {
			return west.Live().List(ctx, &corev1.PodList{}, client.InNamespace(namespace))
		}
		wantAnother(t, fmt.Sprint(answer, "a list"), answer[0] != "shop", list(t.Context(), "shop"))
		wantAnother(t, fmt.Sprint(answer, "a list of all"), false, list(t.Context(), ""))
		given := &corev1.PersistentVolumeClaim{}
		given.Namespace, given.GenerateName = "shop", "data-"
		wantAnother(t, fmt.Sprint(answer, "a name that is given"), false, west.Live().Create(t.Context(), given))
	}
}

func wantAnother(t *testing.T, what string, refused bool, err error) {
	t.Helper()
	if refused != (err != nil) || err != nil && (!strings.Contains(err.Error(), "cluster west answered about another object") || client.IgnoreNotFound(err) == nil) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestOneObject: the size limit for one object is smaller than that for a list.
func TestOneObject(t *testing.T) {
	west := serve(t, discovered(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","annotations":{"a":%q}}}`, strings.Repeat("a", MaxEvent))
	}))
	if _, err := west.ID(t.Context()); !errors.Is(err, ErrTooMuch) {
		t.Errorf("got %v", err)
	}
}
