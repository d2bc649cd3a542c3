package move

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestNarrowedManager: with watchNamespace a manager needs rights in that namespace only. It moves applications
// there, and can neither see nor do anything elsewhere.
func TestNarrowedManager(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	c := v.Managed()
	elsewhere := newMove(t, harness.Usual(1), harness.AcrossClusters)
	elsewhere.Managed()
	user := "system:serviceaccount:" + v.App.Namespace + ":narrowed"
	v.bindManager(user)
	kubeconfig, err := v.From.UserKubeconfig(user)
	v.Must(err)
	m := harness.ManagerWith(t, kubeconfig, v.App.Namespace, "narrowed.log")
	m.Args = append(m.Args, "--leader-election-namespace", v.App.Namespace)
	m.Run()
	v.Must(c.Create(v.Ctx, elsewhere.Migration))
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
	other := &api.Migration{}
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(elsewhere.Migration), other))
	if len(other.Status.Conditions) > 0 || len(other.Finalizers) > 0 {
		t.Errorf("the Migration of another namespace was taken up: %+v", other.Status)
	}
	elsewhere.ExpectSlice(elsewhere.Here(), 0, 1)
}

// bindManager gives a user the manager's rights, in the application's namespace only.
func (v *move) bindManager(user string) {
	v.T.Helper()
	for _, role := range []string{"sliceshift-manager", "sliceshift-slices"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		}
		_, err := v.Source.RbacV1().RoleBindings(v.App.Namespace).Create(v.Ctx, binding, metav1.CreateOptions{})
		v.Must(err)
	}
	shipped, err := v.Source.RbacV1().Roles("sliceshift-system").Get(v.Ctx, "sliceshift-leader-election", metav1.GetOptions{})
	v.Must(err)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: shipped.Name}, Rules: shipped.Rules}
	_, err = v.Source.RbacV1().Roles(v.App.Namespace).Create(v.Ctx, role, metav1.CreateOptions{})
	v.Must(err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: shipped.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: shipped.Name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	_, err = v.Source.RbacV1().RoleBindings(v.App.Namespace).Create(v.Ctx, binding, metav1.CreateOptions{})
	v.Must(err)
}

// TestLocalAddresses: with its default settings a manager connects to no address of its own machine, whatever a
// kubeconfig contains.
func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	c := v.Managed()
	m := harness.NewManager(t, v.App.Namespace, "manager.log")
	m.Args = slices.DeleteFunc(m.Args, func(arg string) bool { return arg == harness.AllowLocal })
	m.Run()
	v.Must(c.Create(v.Ctx, v.Migration))
	condition := v.Await(c, api.ConditionAccepted, metav1.ConditionFalse)
	if condition.Reason != api.ReasonKubeConfigRefused {
		t.Errorf("refused with %s: %s", condition.Reason, condition.Message)
	}
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(v.Migration), v.Migration))
	if meta.IsStatusConditionTrue(v.Migration.Status.Conditions, api.ConditionAccepted) {
		t.Error("it was accepted")
	}
	events, err := v.Source.CoreV1().Events(v.App.Namespace).List(v.Ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	v.Must(err)
	if len(events.Items) == 0 {
		t.Error("no event says so")
	}
	v.ExpectSlice(v.Here(), 0, 1)
}
