package harness

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Managed prepares a move that a manager drives. It stores the destination's kubeconfig in a Secret and binds
// the shipped roles to the identities that the manager uses.
func (v *Move) Managed() client.Client {
	v.T.Helper()
	v.Must(Install())
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	if v.To != v.From {
		v.Grant(v.Destination, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
		v.UseMover()
	}
	c, err := Client(v.From)
	v.Must(err)
	return c
}

// UseMover stores a kubeconfig of the user mover in the Secret of the destination.
func (v *Move) UseMover() {
	v.T.Helper()
	v.Secret("west", v.KubeconfigOf("mover"))
	v.Migration.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
}

// KubeconfigOf returns a user's kubeconfig for the destination.
func (v *Move) KubeconfigOf(user string) []byte {
	v.T.Helper()
	path, err := v.To.UserKubeconfig(user)
	v.Must(err)
	data, err := os.ReadFile(path)
	v.Must(err)
	return data
}

// Secret stores a kubeconfig in a Secret in the namespace of the Migration.
func (v *Move) Secret(name string, kubeconfig []byte) {
	v.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: name}, Data: map[string][]byte{"value": kubeconfig}}
	_, err := v.Source.CoreV1().Secrets(v.App.Namespace).Create(v.Ctx, secret, metav1.CreateOptions{})
	v.Must(err)
}

// Grant gives a subject the rights for a move in a cluster.
func (v *Move) Grant(client kubernetes.Interface, subject rbacv1.Subject) {
	v.T.Helper()
	v.Must(fixture.GrantMove(v.Ctx, client, v.App.Namespace, subject))
}

// Await polls the Migration until a condition has a status.
func (v *Move) Await(c client.Client, kind string, status metav1.ConditionStatus) metav1.Condition {
	v.T.Helper()
	var found metav1.Condition
	m := &api.Migration{}
	defer func() {
		if v.T.Failed() {
			v.T.Logf("status: %+v", m.Status)
		}
	}()
	v.Eventually(fmt.Sprintf("condition %s=%s", kind, status), func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m); err != nil {
			return false, err
		}
		condition := meta.FindStatusCondition(m.Status.Conditions, kind)
		if condition == nil || condition.Status != status {
			return false, nil
		}
		found = *condition
		return true, nil
	})
	return found
}

// Gone returns a condition that is true once the Migration no longer exists.
func Gone(c client.Client, m *api.Migration) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(m), &api.Migration{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}
