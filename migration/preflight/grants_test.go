package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestGrantsAreListed: a right that the list shows is not reviewed again, and every other right is, so that no right
// is assumed that may be refused while an ordinal is down.
func TestGrantsAreListed(t *testing.T) {
	pods := Rule{Resource: "pods", Verbs: "get list"}
	system := Rule{Resource: "namespaces", Name: "kube-system", Verbs: "get", ClusterWide: true}
	own := Rule{Resource: "secrets", Name: "own", Verbs: "get"}
	rule := func(names []string, verbs ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods", "namespaces", "secrets"}, ResourceNames: names}
	}
	all := authorizationv1.ResourceRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	for name, tc := range map[string]struct {
		status, wide authorizationv1.SubjectRulesReviewStatus
		err          error
		asked        string
	}{
		"nothing is listed":                 {asked: "get namespaces, get pods, get secrets, list pods"},
		"one verb is":                       {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule(nil, "list")}}, asked: "get namespaces, get pods, get secrets"},
		"of one object only":                {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule([]string{"own"}, "get")}}, asked: "get namespaces, get pods, list pods"},
		"of another group":                  {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"pods"}}}}, asked: "get namespaces, get pods, get secrets, list pods"},
		"everything, but in the namespace":  {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{all}}, asked: "get namespaces"},
		"everything outside of it":          {wide: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{all}}, asked: "get pods, get secrets, list pods"},
		"everything everywhere":             {status: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{all}}, wide: authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{all}}},
		"everything outside, and more":      {wide: authorizationv1.SubjectRulesReviewStatus{Incomplete: true, ResourceRules: []authorizationv1.ResourceRule{all}}, asked: "get namespaces, get pods, get secrets, list pods"},
		"no namespace, and it is refused":   {err: apierrors.NewBadRequest("no namespace on request"), asked: "get namespaces, get pods, get secrets, list pods"},
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
					if review.Spec.Namespace == nowhere {
						review.Status = tc.wide
					}
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
			first, second := required{[]Rule{pods, system}, plan.RemedyRights}, required{[]Rule{own, pods}, plan.RemedyJobRights}
			findings, err := missingOf(t.Context(), endpointtest.Source(clustertest.Hooked(reviews)), first, second)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(asked)
			if got := strings.Join(asked, ", "); got != tc.asked {
				t.Errorf("asked for %s, want %s", got, tc.asked)
			}
			lacks := func(remedy string) bool {
				return slices.ContainsFunc(findings, func(f plan.Finding) bool {
					return f.Remedy == remedy && strings.Contains(f.Message, "may not: list pods (")
				})
			}
			if refused := strings.Contains(tc.asked, "list pods"); lacks(first.remedy) != refused || lacks(second.remedy) != refused {
				t.Errorf("found %+v", findings)
			}
		})
	}
	unreachable := clustertest.Failing(errors.New("no route to host"), "create")
	if _, err := missingOf(t.Context(), endpointtest.Source(clustertest.Hooked(unreachable)), required{[]Rule{pods}, plan.RemedyRights}); err == nil {
		t.Error("who did not answer has granted something")
	}
}

// TestWriterRights: the right to each paused writer is reviewed by its name, in its own namespace. A cluster that
// does not answer has granted nothing.
func TestWriterRights(t *testing.T) {
	source := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "argocd_store:apps/StatefulSet:shop/web"}}}
	application := endpointtest.Object(`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: argocd, name: store, uid: u}}`)
	m := &api.Migration{}
	m.Spec.Writers.Pause = true
	for name, tc := range map[string]struct {
		allowed bool
		err     error
		found   bool
	}{
		"granted":     {allowed: true},
		"not granted": {found: true},
		"unreachable": {err: errors.New("no route to host")},
	} {
		t.Run(name, func(t *testing.T) {
			hooks := clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				switch review := object.(type) {
				case *authorizationv1.SelfSubjectRulesReview:
					review.Status.Incomplete = true
				case *authorizationv1.SelfSubjectAccessReview:
					want := authorizationv1.ResourceAttributes{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "store", Verb: "patch"}
					if got := *review.Spec.ResourceAttributes; got != want {
						t.Errorf("asked for %+v", got)
					}
					review.Status.Allowed = tc.allowed
					return tc.err
				}
				return nil
			}}
			e := &Inspector{Pair: endpointtest.Pair(endpointtest.ServingAlso(hooks, application), nil)}
			findings, err := e.writerRights(t.Context(), m, source)
			if !errors.Is(err, tc.err) || tc.found != (len(findings) == 1) {
				t.Fatalf("found %+v, %v", findings, err)
			}
			if tc.found && (findings[0].Remedy != plan.RemedyWriterRights || !strings.Contains(findings[0].Message, "patch applications store")) {
				t.Errorf("found %+v", findings[0])
			}
			if findings, err := e.writerRights(t.Context(), &api.Migration{}, source); len(findings) > 0 || err != nil {
				t.Errorf("nobody is to be paused: %+v, %v", findings, err)
			}
		})
	}
}

// TestRightsOfWarmSnapshots: warm passes from snapshots need the right to create snapshots, but not to create their
// contents. In Auto a missing right refuses nothing.
func TestRightsOfWarmSnapshots(t *testing.T) {
	of := func(method api.VolumeMethod, warm api.CopyWarmMode) (resources []string) {
		m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: method, Copy: api.CopySpec{Warm: warm}}}}}
		for _, rule := range snapshotRights(m) {
			resources = append(resources, rule.Resource)
		}
		return resources
	}
	if got := of(api.MethodCopy, api.CopyWarmSnapshot); !slices.Equal(got, []string{"volumesnapshots", "volumesnapshotclasses"}) {
		t.Errorf("for snapshots: %v", got)
	}
	if got := of(api.MethodCopy, api.CopyWarmAuto); got != nil {
		t.Errorf("in Auto: %v", got)
	}
	if got := of(api.MethodSnapshot, ""); !slices.Contains(got, "volumesnapshotcontents") {
		t.Errorf("for method Snapshot: %v", got)
	}
}
