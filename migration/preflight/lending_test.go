package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestLending: a right of the account that the manager may not use as that account is reported before a move. A
// manager with unrestricted impersonation lacks nothing.
func TestLending(t *testing.T) {
	down := errors.New("no route to host")
	rules := []Rule{{Resource: "pods", Verbs: "get list"}, {Resource: "secrets", Verbs: "get create"}}
	for name, tc := range map[string]struct {
		grants, user string
		err          error
		says         string
	}{
		"without bounds": {grants: "impersonate serviceaccounts mover shop", user: "system:serviceaccount:shop:mover"},
		"all that is needed": {
			grants: "impersonate-on:serviceaccount:get pods,impersonate-on:serviceaccount:list pods,impersonate-on:serviceaccount:get secrets,impersonate-on:serviceaccount:create secrets",
			user:   "system:serviceaccount:shop:mover",
		},
		"not all": {
			grants: "impersonate-on:serviceaccount:get pods,impersonate-on:serviceaccount:list pods", user: "system:serviceaccount:shop:mover",
			says: "the manager may not, as ServiceAccount shop/mover in cluster east: create secrets, get secrets (namespace shop)",
		},
		"nobody lends it": {},
		"it does not say": {user: "system:serviceaccount:shop:mover", err: down},
	} {
		t.Run(name, func(t *testing.T) {
			granted := clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				if review, is := object.(*authorizationv1.SelfSubjectAccessReview); is {
					review.Status.Allowed = true
				}
				return nil
			}})
			lender := clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				switch review := object.(type) {
				case *authorizationv1.SelfSubjectAccessReview:
					of := review.Spec.ResourceAttributes
					asked := of.Verb + " " + of.Resource
					if of.Name != "" {
						asked += " " + of.Name + " " + of.Namespace
					}
					for grant := range strings.SplitSeq(tc.grants, ",") {
						review.Status.Allowed = review.Status.Allowed || grant == asked
					}
				case *authenticationv1.SelfSubjectReview:
					review.Status.UserInfo.Username = "system:serviceaccount:sliceshift-system:sliceshift-manager"
				}
				return tc.err
			}})
			at := endpointtest.Source(granted)
			at.Lender = func() (client.Client, string, error) {
				if tc.user == "" {
					return nil, "", nil
				}
				return lender, tc.user, nil
			}
			findings, err := missingOf(t.Context(), at, required{rules, plan.RemedyRights})
			if !errors.Is(err, tc.err) || (len(findings) > 0) != (tc.says != "") {
				t.Fatalf("found %+v, %v", findings, err)
			}
			if len(findings) == 0 {
				return
			}
			finding := findings[0]
			if finding.Message != tc.says || !strings.Contains(finding.Remedy, "kubectl create clusterrolebinding sliceshift-impersonated-dependencies --clusterrole=sliceshift-impersonated-dependencies --serviceaccount=sliceshift-system:sliceshift-manager") {
				t.Errorf("found %+v", finding)
			}
		})
	}
}
