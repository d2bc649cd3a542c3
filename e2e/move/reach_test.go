package move

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestReach: a Migration can use only the ServiceAccounts and Secrets of its own namespace. Names that look
// like paths to other namespaces are refused.
func TestReach(t *testing.T) {
	for name, tc := range map[string]struct {
		// change makes the Migration refer to the other namespace, which has the application, an account with
		// all rights and a valid kubeconfig.
		change       func(spec *api.MigrationSpec, other string)
		reason, says string
	}{
		"a source elsewhere":      {func(s *api.MigrationSpec, other string) { s.Source.Namespace = other }, api.ReasonPermissionMissing, "may not"},
		"a destination elsewhere": {func(s *api.MigrationSpec, other string) { s.Destination.Namespace = other }, api.ReasonPermissionMissing, "may not"},
		"nobody's account":        {account(func(string) string { return "nobody" }), api.ReasonPermissionMissing, "may not"},
		"a Secret elsewhere":      {secret(func(string) string { return "west" }), api.ReasonKubeConfigMissing, "does not exist"},
		"a Secret by a path":      {secret(func(other string) string { return "../../" + other + "/secrets/west" }), "", "kubeConfigSecretRef.name in body should match"},
		"a Secret by a name":      {secret(func(other string) string { return other + "/west" }), "", "kubeConfigSecretRef.name in body should match"},
		"an account elsewhere":    {account(func(other string) string { return other + ":default" }), "", "serviceAccountName in body should match"},
		"the manager's account":   {account(func(string) string { return "sliceshift-system:sliceshift-manager" }), "", "serviceAccountName in body should match"},
		"an account by a path":    {account(func(other string) string { return "../" + other + "/default" }), "", "serviceAccountName in body should match"},
		"an account and a group":  {account(func(string) string { return "default\r\nImpersonate-Group: system:masters" }), "", "serviceAccountName in body should match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters)
			c := v.Managed()
			own := v.outsider()
			v.Migration.Namespace, v.Migration.Spec = own, api.MigrationSpec{
				Source: api.SourceReference{Name: v.App.Name}, Destination: api.DestinationReference{Name: "web-next"}, Mode: api.ModeRun,
			}
			tc.change(&v.Migration.Spec, v.App.Namespace)
			before := v.fingerprint()
			harness.StartManager(t, own)
			err := c.Create(v.Ctx, v.Migration)
			if tc.reason == "" { // the API server rejects it
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %v, want %q", err, tc.says)
				}
				v.expectUnchanged(before)
				return
			}
			v.Must(err)
			condition := v.Await(c, api.ConditionAccepted, metav1.ConditionFalse)
			if condition.Reason != tc.reason || !strings.Contains(condition.Message, tc.says) {
				t.Errorf("refused with %s: %s\nwant %s: %s", condition.Reason, condition.Message, tc.reason, tc.says)
			}
			v.expectUnchanged(before)
		})
	}
}

// secret sets the Secret of the destination's kubeconfig.
func secret(name func(other string) string) func(*api.MigrationSpec, string) {
	return func(s *api.MigrationSpec, other string) {
		s.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: name(other)}
	}
}

// account sets the account that moves the other namespace's application.
func account(name func(other string) string) func(*api.MigrationSpec, string) {
	return func(s *api.MigrationSpec, other string) {
		s.Source.Namespace, s.ServiceAccountName = other, name(other)
	}
}

// outsider creates a namespace with an application of the same name and returns its name. Its default account
// has the mover's namespaced and cluster-scoped rights.
func (v *move) outsider() string {
	v.T.Helper()
	app := harness.Usual(1)
	app.Namespace, app.Name = v.App.Namespace+"-out", v.App.Name
	v.Must(app.Deploy(v.Ctx, v.Source))
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: app.Namespace, Name: "default"}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	meta := metav1.ObjectMeta{Namespace: app.Namespace, Name: "outsider-" + app.Namespace}
	_, err := v.Source.RbacV1().RoleBindings(app.Namespace).Create(v.Ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role("sliceshift-mover"), Subjects: account}, metav1.CreateOptions{})
	v.Must(err)
	meta.Namespace = ""
	_, err = v.Source.RbacV1().ClusterRoleBindings().Create(v.Ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role("sliceshift-mover-cluster"), Subjects: account}, metav1.CreateOptions{})
	v.Must(err)
	return app.Namespace
}
