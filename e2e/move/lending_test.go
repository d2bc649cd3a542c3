package move

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// asOthers lists requests made as another account. needed marks those of every move, and copies those of copied
// dependencies. The account may make the other requests as well, but no move needs them.
var asOthers = map[string]struct {
	needed, copies bool
	do             func(context.Context, kubernetes.Interface) error
}{
	"what is served": {needed: true, do: func(_ context.Context, c kubernetes.Interface) error {
		_, err := c.Discovery().ServerPreferredResources()
		return err
	}},
	"list StatefulSets": {needed: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AppsV1().StatefulSets("shop").List(ctx, metav1.ListOptions{})
		return err
	}},
	"create a pod as a dry run": {needed: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
		_, err := c.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}},
	"list volumes": {needed: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		return err
	}},
	"what it may do": {needed: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "shop"}}, metav1.CreateOptions{})
		return err
	}},
	"list Secrets": {copies: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Secrets("shop").List(ctx, metav1.ListOptions{})
		return err
	}},
	"create a RoleBinding": {copies: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "copied"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"}}
		_, err := c.RbacV1().RoleBindings("shop").Create(ctx, binding, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}},
	"list RoleBindings": {needed: true, do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.RbacV1().RoleBindings("shop").List(ctx, metav1.ListOptions{})
		return err
	}},
	"list Deployments": {do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.AppsV1().Deployments("shop").List(ctx, metav1.ListOptions{})
		return err
	}},
	"delete all pods": {do: func(ctx context.Context, c kubernetes.Interface) error {
		return c.CoreV1().Pods("shop").DeleteCollection(ctx, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ListOptions{})
	}},
	"run a command in a pod": {do: func(ctx context.Context, c kubernetes.Interface) error {
		err := c.CoreV1().RESTClient().Post().Namespace("shop").Resource("pods").Name("web-0").SubResource("exec").Do(ctx).Error()
		if apierrors.IsForbidden(err) {
			return err
		}
		return nil // it is allowed, but the pod does not exist
	}},
	"a token of an account": {do: func(ctx context.Context, c kubernetes.Interface) error {
		err := c.CoreV1().RESTClient().Post().Namespace("shop").Resource("serviceaccounts").Name("admin").SubResource("token").Do(ctx).Error()
		if apierrors.IsForbidden(err) {
			return err
		}
		return nil
	}},
	"bind a ClusterRole": {do: func(ctx context.Context, c kubernetes.Interface) error {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
		_, err := c.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}},
	"delete a namespace": {do: func(ctx context.Context, c kubernetes.Interface) error {
		return c.CoreV1().Namespaces().Delete(ctx, "elsewhere", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	}},
	"patch a node": {do: func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().Nodes().Patch(ctx, "node", "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
		if apierrors.IsForbidden(err) {
			return err
		}
		return nil
	}},
}

// TestConstrainedImpersonation: the manager impersonates an account that has all rights, but can only make the
// requests that moves need, unless the legacy rule is selected. Under both rules it can impersonate only
// ServiceAccounts. The preflight names missing rights.
func TestConstrainedImpersonation(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "lending")
	j.namespace("shop")
	j.namespace("elsewhere")
	typed := kubernetes.NewForConfigOrDie(j.RESTConfig())
	j.must(j.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "admin"}}))
	_, err := typed.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin-of-shop"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "admin"}},
	}, metav1.CreateOptions{})
	j.must(err)
	manager, err := clientcmd.BuildConfigFromFlags("", j.accountKubeconfig("sliceshift-system", "sliceshift-manager"))
	j.must(err)
	j.run("K3/constrained", func(j judged) { j.lends(manager, true, false) })
	j.run("K3/nobody else", func(j judged) { j.lendsNobody(manager) })
	j.run("K3/the preflight names what is missing", func(j judged) { j.namesUnlent(manager, true) })
	j.must(j.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sliceshift-impersonated-dependencies"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-impersonated-dependencies"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "sliceshift-system", Name: "sliceshift-manager"}},
	}))
	j.awaitLent("impersonate-on:serviceaccount:list", "secrets")
	j.run("K3/constrained, with copies", func(j judged) { j.lends(manager, true, true) })
	j.run("K3/then nothing is missing", func(j judged) { j.namesUnlent(manager, false) })
	j.says(j.migrate(0, "install", "--wait=false", "--impersonation=legacy"), "clusterrole.rbac.authorization.k8s.io/sliceshift-manager changed", "clusterrole.rbac.authorization.k8s.io/sliceshift-impersonated deleted")
	j.awaitLent("impersonate", "serviceaccounts")
	j.run("K3/the old rule", func(j judged) { j.lends(manager, false, true) })
	j.says(j.migrate(0, "install", "--wait=false"), "clusterrole.rbac.authorization.k8s.io/sliceshift-impersonated created")
	j.settle()
	j.run("K3/constrained again", func(j judged) { j.lends(manager, true, true) }) // the binding for copies still exists
}

// awaitLent waits until the API server knows a right of the manager.
func (j judged) awaitLent(verb, resource string) {
	j.t.Helper()
	who := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "sliceshift-system", Name: "sliceshift-manager"}
	j.must(fixture.AwaitRight(j.t.Context(), kubernetes.NewForConfigOrDie(j.RESTConfig()), who, authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: "shop"}))
}

// lends checks the requests that the manager can make as an account with all rights.
func (j judged) lends(manager *rest.Config, bounded, copies bool) {
	j.t.Helper()
	lent := rest.CopyConfig(manager)
	lent.QPS, lent.Burst = 1000, 1000 // repeated requests must not be throttled
	lent.Impersonate.UserName = "system:serviceaccount:shop:admin"
	as := kubernetes.NewForConfigOrDie(lent)
	for name, tc := range asOthers {
		want := !bounded || tc.needed || tc.copies && copies
		j.eventually(name, func(ctx context.Context) error {
			err := tc.do(ctx, as)
			switch {
			case want:
				return err
			case err == nil:
				return errLetThrough
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot impersonate"):
				return nil
			}
			return err
		})
	}
}

// lendsNobody checks that the manager can impersonate no other identity.
func (j judged) lendsNobody(manager *rest.Config) {
	j.t.Helper()
	for name, who := range map[string]rest.ImpersonationConfig{
		"a user":                {UserName: "alice"},
		"an administrator":      {UserName: "alice", Groups: []string{"system:masters"}},
		"a node":                {UserName: "system:node:node"},
		"an account in a group": {UserName: "system:serviceaccount:shop:admin", Groups: []string{"system:masters"}},
	} {
		lent := rest.CopyConfig(manager)
		lent.Impersonate = who
		_, err := kubernetes.NewForConfigOrDie(lent).AppsV1().StatefulSets("shop").List(j.t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot impersonate") { // a list as a user without rights is forbidden as well
			j.t.Errorf("as %s: %v", name, err)
		}
	}
}

// namesUnlent checks the preflight's findings for a Migration that copies dependencies.
func (j judged) namesUnlent(manager *rest.Config, missing bool) {
	j.t.Helper()
	lent := rest.CopyConfig(manager)
	lent.QPS, lent.Burst = 1000, 1000 // repeated requests must not be throttled
	lent.Impersonate.UserName = "system:serviceaccount:shop:admin"
	connection, err := clusters.Connect("local", lent)
	j.must(err)
	at := func(side plan.SideName, namespace string) endpoint.Endpoint {
		return endpoint.Endpoint{Side: side, Cluster: "local", Namespace: namespace, Set: "web", APIVersion: "apps/v1", Live: connection.Live(), Lender: connection.Lender}
	}
	e := &preflight.Inspector{Pair: &endpoint.Pair{Source: at(plan.SourceSide, "shop"), Destination: at(plan.DestinationSide, "elsewhere")}}
	m := &api.Migration{Spec: api.MigrationSpec{Dependencies: api.DependenciesSpec{Mode: api.DependenciesCopy}}}
	findings, err := e.MissingPermissions(j.t.Context(), m)
	j.must(err)
	if !missing {
		if len(findings) > 0 {
			j.t.Errorf("found %+v", findings)
		}
		return
	}
	if len(findings) != 2 {
		j.t.Fatalf("found %+v", findings)
	}
	j.says(findings[0].Message, "the manager may not, as ServiceAccount shop/admin in cluster local", "get rolebindings", "(namespace shop)")
	j.says(findings[1].Message, "create secrets", "update roles", "(namespace elsewhere)")
	j.says(findings[0].Remedy, "kubectl create clusterrolebinding sliceshift-impersonated-dependencies", "--serviceaccount=sliceshift-system:sliceshift-manager")
}
