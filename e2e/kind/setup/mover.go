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

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// Mover is the account that moves what is in a namespace, West the Secret with the
// kubeconfig of that of west.
const (
	Mover = "mover"
	West  = "west"
)

// MoverIn makes the account with the rights to move. RemoveMover takes back what is not in
// the namespace.
func MoverIn(ctx context.Context, at *kind.Cluster, namespace string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Mover}}
	if err := Create(ctx, at, account); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: Mover}}
	role := func(i int) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roles[i]}
	}
	inNamespace := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Mover}, RoleRef: role(0), Subjects: subjects}
	if err := Create(ctx, at, inNamespace); err != nil {
		return err
	}
	return Create(ctx, at, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}, RoleRef: role(1), Subjects: subjects})
}

// RemoveMover takes the rights outside of the namespace back.
func RemoveMover(ctx context.Context, at *kind.Cluster, namespace string) error {
	err := at.Client.RbacV1().ClusterRoleBindings().Delete(ctx, namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Credentials puts the kubeconfig of west's mover into a Secret of east, with an address
// that the manager's pod can reach.
func Credentials(ctx context.Context, p *kind.Pair, namespace string) error {
	token, err := p.West.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, Mover, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	server, err := p.West.Inside(ctx)
	if err != nil {
		return err
	}
	west := rest.CopyConfig(p.West.Config)
	if err := rest.LoadTLSFiles(west); err != nil {
		return err
	}
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{West: {Server: server, CertificateAuthorityData: west.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{Mover: {Token: token.Status.Token}},
		Contexts:  map[string]*clientcmdapi.Context{West: {Cluster: West, AuthInfo: Mover}}, CurrentContext: West,
	})
	if err != nil {
		return err
	}
	return Create(ctx, p.East, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: West}, Data: map[string][]byte{"value": kubeconfig}})
}
