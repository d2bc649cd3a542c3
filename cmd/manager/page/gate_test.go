package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/server"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// apiServer answers reviews: alice may get, bob may do nothing, and other tokens are unknown. It records requests.
type apiServer struct {
	mu     sync.Mutex
	asked  []http.Header
	denied authorizationv1.SubjectAccessReviewSpec
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		review := &authenticationv1.TokenReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		if name := review.Spec.Token; name == "alice" || name == "bob" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: name, UID: "1", Groups: []string{"shop"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"one"}},
			}}
		}
		_ = json.NewEncoder(w).Encode(review)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		review := &authorizationv1.SubjectAccessReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		review.Status.Allowed = review.Spec.User == "alice" && review.Spec.NonResourceAttributes.Verb == "get"
		if !review.Status.Allowed {
			s.denied = review.Spec
		}
		_ = json.NewEncoder(w).Encode(review)
	default:
		s.asked = append(s.asked, r.Header.Clone())
		http.Error(w, "{}", http.StatusNotFound)
	}
}

// newTestGate returns a gate of a manager with its own token and an impersonated user.
func newTestGate(t *testing.T) (*gate, *apiServer) {
	t.Helper()
	answers := &apiServer{}
	listening := httptest.NewServer(answers)
	t.Cleanup(listening.Close)
	local := &rest.Config{Host: listening.URL, BearerToken: "manager", Impersonate: rest.ImpersonationConfig{UserName: "admin"}}
	local.ContentType = "application/json"
	serves := meta.NewDefaultRESTMapper([]schema.GroupVersion{api.GroupVersion})
	serves.Add(api.GroupVersion.WithKind("Migration"), meta.RESTScopeNamespace)
	g, err := newGate(local, clusters.NewScheme(), serves)
	if err != nil {
		t.Fatal(err)
	}
	return g, answers
}

// TestAdmit: a known user with permission is admitted. For others the error names the missing permission.
func TestAdmit(t *testing.T) {
	for name, tc := range map[string]struct {
		token, method string
		code          int
		message       string
	}{
		"may look":    {"alice", "GET", 0, ""},
		"may not act": {"alice", "POST", 403, "user alice may not post /ui, the page of the manager: bind the ClusterRole sliceshift-page-user"},
		"may nothing": {"bob", "GET", 403, "user bob may not get /ui"},
		"not known":   {"forged", "GET", 401, "does not know this token"},
	} {
		t.Run(name, func(t *testing.T) {
			g, answers := newTestGate(t)
			asks, err := g.admit(t.Context(), tc.token, tc.method)
			var denied server.Denied
			if (asks != nil) != (tc.code == 0) || errors.As(err, &denied) != (tc.code != 0) || denied.Code != tc.code || !strings.Contains(denied.Message, tc.message) {
				t.Errorf("the answer is %d %v", denied.Code, err)
			}
			if tc.code == http.StatusForbidden && (answers.denied.UID != "1" || len(answers.denied.Groups) != 1 || len(answers.denied.Extra) != 1) {
				t.Errorf("it is asked about %+v", answers.denied)
			}
		})
	}
}

// TestAdmitSilence: if the API server does not answer, no user is admitted.
func TestAdmitSilence(t *testing.T) {
	g, err := newGate(&rest.Config{Host: "http://127.0.0.1:1"}, clusters.NewScheme(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var denied server.Denied
	if asks, err := g.admit(t.Context(), "alice", "GET"); asks != nil || err == nil || errors.As(err, &denied) {
		t.Errorf("the answer is %v", err)
	}
}

// TestOwnToken: requests for a user carry the user's token and none of the manager's credentials.
func TestOwnToken(t *testing.T) {
	g, answers := newTestGate(t)
	asks, err := g.admit(t.Context(), "alice", "GET")
	if err != nil {
		t.Fatal(err)
	}
	if err := asks.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &api.Migration{}); err == nil {
		t.Error("it has found what is not there")
	}
	answers.mu.Lock()
	defer answers.mu.Unlock()
	if len(answers.asked) != 1 {
		t.Fatalf("%d requests were sent", len(answers.asked))
	}
	head := answers.asked[0]
	if got, as := head.Get("Authorization"), head.Values("Impersonate-User"); got != "Bearer alice" || len(as) > 0 {
		t.Errorf("the request shows %s, as %v", got, as)
	}
	if c := g.anonymous; c.BearerToken != "" || c.CertData != nil || c.KeyData != nil || c.CertFile != "" || c.BearerTokenFile != "" {
		t.Errorf("it keeps %+v", c)
	}
}
