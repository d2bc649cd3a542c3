package setup

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Mover is the account that moves the workloads of a namespace.
const Mover = "mover"

// MoverIn creates the account with the rights to move. RemoveMover removes the objects outside of the namespace.
func MoverIn(ctx context.Context, at *kind.Cluster, namespace string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Mover}}
	if err := Create(ctx, at, account); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: Mover}}
	role := func(i int) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: fixture.MoverRoles[i]}
	}
	inNamespace := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Mover}, RoleRef: role(0), Subjects: subjects}
	if err := Create(ctx, at, inNamespace); err != nil {
		return err
	}
	return Create(ctx, at, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}, RoleRef: role(1), Subjects: subjects})
}

// Roles of movers in addition to the roles that every move needs.
const (
	AsksPods = moverRoles + "-gates"
	RunsJobs = moverRoles + "-jobs"
	RunsPods = moverRoles + "-pods"
)

// MoverMay binds the account of a namespace to another role there.
func MoverMay(ctx context.Context, at *kind.Cluster, namespace, role string) error {
	return Create(ctx, at, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: Mover}},
	})
}

// RemoveMover removes the rights outside of the namespace.
func RemoveMover(ctx context.Context, at *kind.Cluster, namespace string) error {
	err := at.Client.RbacV1().ClusterRoleBindings().Delete(ctx, namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Credentials puts the kubeconfig of a cluster's mover into a Secret of another cluster, named after the first
// cluster. Its address is reachable from the manager's pod. It returns the reference to the Secret.
func Credentials(ctx context.Context, of, into *kind.Cluster, namespace string) (*api.SecretKeyReference, error) {
	kubeconfig, err := moverKubeconfig(ctx, of, namespace)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: of.Name}, Data: map[string][]byte{"value": kubeconfig}}
	return &api.SecretKeyReference{Name: of.Name}, Create(ctx, into, secret)
}

func moverKubeconfig(ctx context.Context, of *kind.Cluster, namespace string) ([]byte, error) {
	token, err := of.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, Mover, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	server, err := of.Inside(ctx)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(of.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{of.Name: {Server: server, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{Mover: {Token: token.Status.Token}},
		Contexts:  map[string]*clientcmdapi.Context{of.Name: {Cluster: of.Name, AuthInfo: Mover}}, CurrentContext: of.Name,
	})
}
