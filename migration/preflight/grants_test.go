package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/internal/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestGrantsAreListed: a right that the API server's list shows is not asked for again, and every
// other one is, so that nothing is taken for granted that might be refused with an ordinal down.
func TestGrantsAreListed(t *testing.T) {
	pods := Rule{Resource: "pods", Verbs: "get list"}
	system := Rule{Resource: "namespaces", Name: "kube-system", Verbs: "get", ClusterWide: true}
	own := Rule{Resource: "secrets", Name: "own", Verbs: "get"}
	rule := func(names []string, verbs ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods", "namespaces", "secrets"}, ResourceNames: names}
	}
	all := authorizationv1.ResourceRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	for name, tc := range map[string]struct {
		status authorizationv1.SubjectRulesReviewStatus
		err    error
		asked  string
	}{
		"nothing is listed":                 {asked: "get namespaces, get pods, get secrets, list pods"},
		"one verb is":                       {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule(nil, "list")}}, asked: "get namespaces, get pods, get secrets"},
		"of one object only":                {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule([]string{"own"}, "get")}}, asked: "get namespaces, get pods, list pods"},
		"of another group":                  {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"pods"}}}}, asked: "get namespaces, get pods, get secrets, list pods"},
		"everything, but in the namespace":  {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{all}}, asked: "get namespaces"},
		"everything, and there may be more": {status: authorizationv1.SubjectRulesReviewStatus{Incomplete: true, ResourceRules: []authorizationv1.ResourceRule{all}}, asked: "get namespaces, get pods, get secrets, list pods"},
		"lists are not served":              {err: &meta.NoKindMatchError{}, asked: "get namespaces, get pods, get secrets, list pods"},
		"lists are forbidden":               {err: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), asked: "get namespaces, get pods, get secrets, list pods"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			reviews := clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				mu.Lock()
				defer mu.Unlock()
				switch review := object.(type) {
				case *authorizationv1.SelfSubjectRulesReview:
					review.Status = tc.status
					return tc.err
				case *authorizationv1.SelfSubjectAccessReview:
					of := review.Spec.ResourceAttributes
					asked = append(asked, of.Verb+" "+of.Resource)
					if (of.Namespace == "") != (of.Resource == "namespaces") {
						t.Errorf("%s was asked for in namespace %q", of.Resource, of.Namespace)
					}
					review.Status.Allowed = of.Verb != "list"
				}
				return nil
			}}
			finding, err := missingOf(t.Context(), endpointtest.Source(clustertest.Hooked(reviews)), []Rule{pods, system, own}, plan.RemedyRights)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(asked)
			if got := strings.Join(asked, ", "); got != tc.asked {
				t.Errorf("asked for %s, want %s", got, tc.asked)
			}
			if refused := strings.Contains(tc.asked, "list pods"); refused != (finding != nil && strings.Contains(finding.Message, "list pods")) {
				t.Errorf("found %+v", finding)
			}
		})
	}
	unreachable := clustertest.Failing(errors.New("no route to host"), "create")
	if _, err := missingOf(t.Context(), endpointtest.Source(clustertest.Hooked(unreachable)), []Rule{pods}, plan.RemedyRights); err == nil {
		t.Error("who did not answer has granted something")
	}
}
