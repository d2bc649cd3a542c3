package ui

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
)

// TestBehind: while the API server is stopped or does not answer, the page shows its last data and the time
// since which they are stale. When the server answers again, the page shows each change.
func TestBehind(t *testing.T) {
	shop := newShop(t)
	shop.keep(staged.UnderWay(t, "web", time.Now()))
	p := serve(t, harness.East().Kubeconfig(), "-n", shop.namespace)
	b := browse(t, p.address, desk)
	b.says("list", "web")
	b.says("standing", "live")
	east := harness.PartsOf(harness.East())
	for name, outage := range map[string]struct{ begin, end func() error }{
		"gone":   {func() error { return east.Kill(cluster.APIServer) }, func() error { return east.StartRole(t.Context(), cluster.APIServer) }},
		"silent": {func() error { return east.Freeze(cluster.APIServer) }, func() error { return east.Thaw(cluster.APIServer) }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := outage.begin(); err != nil {
				t.Fatal(err)
			}
			b.says("standing", "behind")
			b.says("faults", "was last heard at")
			b.says("list", "web")
			if err := outage.end(); err != nil {
				t.Fatal(err)
			}
			b.says("standing", "live")
			shop.change("web", name)
			b.says("list", name)
		})
	}
}

// TestForbidden: if the user may not read a namespace, the page reports that, and shows the permitted
// namespaces.
func TestForbidden(t *testing.T) {
	open, closed := newShop(t), newShop(t)
	open.keep(staged.UnderWay(t, "web", time.Now()))
	closed.keep(staged.UnderWay(t, "vault", time.Now()))
	east := kubernetes.NewForConfigOrDie(harness.East().RESTConfig())
	who := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "reader-" + open.namespace}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"migration.sliceshift.io"}, Resources: []string{"migrations"}, Verbs: []string{"list", "watch", "get"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}},
	}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Subjects: []rbacv1.Subject{who}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"}}
	if _, err := east.RbacV1().Roles(open.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := east.RbacV1().RoleBindings(open.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := fixture.AwaitRight(t.Context(), east, who, rightTo("watch", open.namespace)); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := harness.East().UserKubeconfig(who.Name)
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, serve(t, kubeconfig, "-n", open.namespace+","+closed.namespace).address, desk)
	b.says("list", "web")
	b.says("faults", "You may not see the Migrations of namespace "+closed.namespace)
	if text := b.text("list"); len(text) == 0 || ask[bool](b, `document.body.innerText.includes("vault")`) {
		t.Errorf("it shows what the user may not see:\n%s", text)
	}
	b.visit("#/migration/" + open.namespace + "/web")
	b.says("head", "moving")
	b.await(`document.getElementById("pause")?.disabled === false`) // until then the key has no effect
	b.press("p")
	b.await(`document.getElementById("dialog").open`)
	b.press(enter)
	b.says("dialog", "cannot patch")
	everywhere := browse(t, serve(t, kubeconfig, "-A").address, desk)
	everywhere.says("faults", "You may not see the Migrations of all namespaces")
}
