package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestNarrowedManager: with watchNamespace a manager needs its rights in that namespace alone. It
// moves what is there, and neither sees nor may do anything elsewhere.
func TestNarrowedManager(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(2), acrossClusters)
	c := v.managed()
	elsewhere := newMove(t, usual(1), acrossClusters)
	elsewhere.managed()
	user := "system:serviceaccount:" + v.app.Namespace + ":narrowed"
	v.bindManager(user)
	kubeconfig, err := v.from.UserKubeconfig(user)
	v.must(err)
	m := managerWith(t, kubeconfig, v.app.Namespace, "narrowed.log")
	m.args = append(m.args, "--leader-election-namespace", v.app.Namespace)
	m.start()
	t.Cleanup(func() {
		m.kill()
		m.tellLog()
	})
	v.must(c.Create(v.ctx, elsewhere.m))
	v.must(c.Create(v.ctx, v.m))
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.expectMoved()
	v.audit()
	other := &api.Migration{}
	v.must(c.Get(v.ctx, client.ObjectKeyFromObject(elsewhere.m), other))
	if len(other.Status.Conditions) > 0 || len(other.Finalizers) > 0 {
		t.Errorf("the Migration of another namespace was taken up: %+v", other.Status)
	}
	elsewhere.expectSlice(elsewhere.here(), 0, 1)
}

// bindManager gives somebody the manager's rights in the application's namespace only.
func (v *move) bindManager(user string) {
	v.t.Helper()
	for _, role := range []string{"sliceshift-manager", "sliceshift-slices"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		}
		_, err := v.source.RbacV1().RoleBindings(v.app.Namespace).Create(v.ctx, binding, metav1.CreateOptions{})
		v.must(err)
	}
	shipped, err := v.source.RbacV1().Roles("sliceshift-system").Get(v.ctx, "sliceshift-leader-election", metav1.GetOptions{})
	v.must(err)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: shipped.Name}, Rules: shipped.Rules}
	_, err = v.source.RbacV1().Roles(v.app.Namespace).Create(v.ctx, role, metav1.CreateOptions{})
	v.must(err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: shipped.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: shipped.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	_, err = v.source.RbacV1().RoleBindings(v.app.Namespace).Create(v.ctx, binding, metav1.CreateOptions{})
	v.must(err)
}

// TestLocalAddresses: a manager as it is shipped goes to no address of its own machine, whatever a
// kubeconfig says.
func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(1), acrossClusters)
	c := v.managed()
	m := newManager(t, v.app.Namespace, "manager.log")
	m.args = slices.DeleteFunc(m.args, func(arg string) bool { return arg == allowLocal })
	m.start()
	t.Cleanup(func() {
		m.kill()
		m.tellLog()
	})
	v.must(c.Create(v.ctx, v.m))
	condition := v.await(c, api.ConditionAccepted, metav1.ConditionFalse)
	if condition.Reason != api.ReasonKubeConfigRefused {
		t.Errorf("refused with %s: %s", condition.Reason, condition.Message)
	}
	v.must(c.Get(v.ctx, client.ObjectKeyFromObject(v.m), v.m))
	if meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionAccepted) {
		t.Error("it was accepted")
	}
	events, err := v.source.CoreV1().Events(v.app.Namespace).List(v.ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	v.must(err)
	if len(events.Items) == 0 {
		t.Error("no event says so")
	}
	v.expectSlice(v.here(), 0, 1)
}
