package move

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestManagedHooks: a Migration with hooks is refused until the role for Jobs is bound. Then a manager runs the
// hooks as stored by the API server, and obeys the command's retry.
func TestManagedHooks(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal), hook("join", api.HookAfterOrdinal)))
	says := func(told map[string]string) string {
		if told["HOOK"] == "leave" && told["ATTEMPT"] == "1" {
			return "no"
		}
		return ""
	}
	v.runHooks(t, v.Source, says)
	v.runHooks(t, v.Destination, says)
	c := v.Managed()
	harness.StartManager(t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	if refused := v.Await(c, api.ConditionAccepted, metav1.ConditionFalse); refused.Reason != api.ReasonPermissionMissing || !strings.Contains(refused.Message, "sliceshift-mover-jobs") {
		t.Errorf("it is refused with %s: %s", refused.Reason, refused.Message)
	}
	v.Must(v.makeNamespace())
	v.mayRunJobs(v.Source, v.App.Namespace, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	v.mayRunJobs(v.Destination, v.ToNamespace, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
	v.Await(c, api.ConditionAccepted, metav1.ConditionTrue)
	if stalls := v.Await(c, api.ConditionStalled, metav1.ConditionTrue); stalls.Reason != api.ReasonHookFailed || !strings.Contains(stalls.Message, "exit code 3: no") {
		t.Errorf("it stalls with %s: %s", stalls.Reason, stalls.Message)
	}
	v.exits(v.hooksCommand("retry"), 0)
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	if diff := cmp.Diff([]string{"leave BeforeOrdinal web-0 0 Source Forward 1", "leave BeforeOrdinal web-0 0 Source Forward 2"}, v.hooksOf(v.Source, v.App.Namespace)); diff != "" {
		t.Errorf("at the source (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"join AfterOrdinal web-0 0 Destination Forward 1"}, v.hooksOf(v.Destination, v.ToNamespace)); diff != "" {
		t.Errorf("at the destination (-want +got):\n%s", diff)
	}
	v.Audit()
}

// mayRunJobs binds the role for Jobs to a subject in a namespace.
func (v *move) mayRunJobs(side kubernetes.Interface, namespace string, subject rbacv1.Subject) {
	v.T.Helper()
	const role = "sliceshift-mover-jobs"
	_, err := side.RbacV1().RoleBindings(namespace).Create(v.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{subject},
	}, metav1.CreateOptions{})
	v.Must(err)
}
