package move

import (
	"os/exec"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestRightsOfCopies: to copy dependencies, a user needs one more shipped role. To copy a Role, the user needs
// all rights that it grants. Together with the other shipped roles these are enough. Missing rights are named
// before the first write.
func TestRightsOfCopies(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy)
	v.Must(harness.Install())
	v.Must(v.makeNamespace())
	user := "copier-of-" + v.App.Namespace
	run := func(code int) string {
		from, err := v.From.UserKubeconfig(user)
		v.Must(err)
		to, err := v.To.UserKubeconfig(user)
		v.Must(err)
		return v.exits(exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), "run", v.App.Name, "-n", v.App.Namespace,
			"--kubeconfig", from, "--to-kubeconfig", to, "--copy-dependencies", "--shared", "data"), code)
	}
	for _, each := range []harness.Endpoint{v.Here(), v.There()} {
		v.allow(each.Client, "", "sliceshift-mover-cluster", user)
		v.allow(each.Client, "", "sliceshift-mover-dependencies-cluster", user)
		v.allow(each.Client, each.Namespace, "sliceshift-mover", user)
	}
	if out := run(exitRefused); !strings.Contains(out, "get secrets") || !strings.Contains(out, "sliceshift-mover-dependencies") {
		t.Errorf("without the role:\n%s", out)
	}
	for _, each := range []harness.Endpoint{v.Here(), v.There()} {
		v.allow(each.Client, each.Namespace, "sliceshift-mover-dependencies", user)
	}
	if out := run(exitRefused); !strings.Contains(out, "cannot grant permissions that it does not have") || !strings.Contains(out, "Role "+v.ToNamespace+"/reader") {
		t.Errorf("without the rights of the role:\n%s", out)
	}
	v.allow(v.Destination, v.ToNamespace, "view", user)
	run(0)
	v.expectCleaned()
	v.ExpectMovedCleanly()
}

// TestManagerCopies: the manager copies dependencies as the ServiceAccount of the Migration's namespace and as
// the user of its kubeconfig.
func TestManagerCopies(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy, copying(nil))
	c := v.Managed()
	v.Must(v.makeNamespace())
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: v.App.Namespace, Name: "default"}
	v.bind(v.Source, v.App.Namespace, "sliceshift-mover-dependencies", account)
	for _, role := range []string{"sliceshift-mover-dependencies", "view"} {
		v.allow(v.Destination, v.ToNamespace, role, "mover")
	}
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	for _, object := range needed(v.Move) {
		v.expectCopy(object)
	}
	v.expectCleaned()
	v.ExpectMovedCleanly()
}

// allow binds a ClusterRole to a user, in one namespace, or in all if namespace is empty.
func (v *move) allow(c kubernetes.Interface, namespace, role, user string) {
	v.T.Helper()
	v.bind(c, namespace, role, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
}

// bind binds a ClusterRole to a subject, in one namespace, or in all if namespace is empty.
func (v *move) bind(c kubernetes.Interface, namespace, role string, subject rbacv1.Subject) {
	v.T.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	subjects := []rbacv1.Subject{subject}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: role + "-" + subject.Name}
	var err error
	if namespace == "" {
		_, err = c.RbacV1().ClusterRoleBindings().Create(v.Ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = c.RbacV1().RoleBindings(namespace).Create(v.Ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	}
	v.Must(err)
}
