// Package setup installs the prerequisites of tests and demonstrations in two kind clusters: resource definitions,
// storage, the shipped manager, and the rights and credentials of the account that moves.
package setup

import (
	"context"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
)

// The names of the manager, as shipped.
const (
	ManagerNamespace = "sliceshift-system"
	ManagerName      = "sliceshift-manager"
)

// Manager deploys the shipped manager in a cluster, except that it allows hostPath volumes, which the tests
// use. Several calls may run in parallel: AwaitManager waits for one manager.
func Manager(ctx context.Context, at *kind.Cluster, image string) error {
	objects, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if err := setImage(object, image); err != nil {
				return err
			}
		}
		if err := Create(ctx, at, object); err != nil {
			return err
		}
	}
	return nil
}

// moverRoles is the prefix of the names of the movers' roles.
const moverRoles = "sliceshift-mover"

// Roles creates the movers' roles in a cluster that has no manager.
func Roles(ctx context.Context, at *kind.Cluster) error {
	objects, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if strings.HasPrefix(object.GetName(), moverRoles) {
			if err := Create(ctx, at, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// RemoveManager removes the manager of a cluster and waits until its pods no longer exist. Its rights remain.
func RemoveManager(ctx context.Context, at *kind.Cluster) error {
	const patience = time.Minute
	err := at.Client.AppsV1().Deployments(ManagerNamespace).Delete(ctx, ManagerName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cluster %s: delete the manager: %w", at.Name, err)
	}
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := at.Client.CoreV1().Pods(ManagerNamespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: the manager's pods do not end: %w", at.Name, err)
	}
	return nil
}

func setImage(deployment *unstructured.Unstructured, image string) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	container := containers[0].(map[string]any)
	container["image"] = image
	container["env"] = []any{map[string]any{"name": "SLICESHIFT_VOLUMES_ALLOW_PATHS", "value": "true"}}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

// AwaitManager waits until the manager's replicas are available.
func AwaitManager(ctx context.Context, at *kind.Cluster) error {
	const patience = 3 * time.Minute
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		deployment, err := at.Client.AppsV1().Deployments(ManagerNamespace).Get(ctx, ManagerName, metav1.GetOptions{})
		return err == nil && deployment.Status.AvailableReplicas == *deployment.Spec.Replicas, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: the manager does not become available: %w", at.Name, err)
	}
	return nil
}

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

// poll is the interval between two checks of a condition.
const poll = 100 * time.Millisecond

// Client returns a client of a cluster for every type that the tests write.
func Client(at *kind.Cluster) (client.Client, error) { return fixture.Client(at.Config) }

// Create creates an object unless it exists.
func Create(ctx context.Context, at *kind.Cluster, object client.Object) error {
	return with(at, func(c client.Client) error { return fixture.Create(ctx, c, object) })
}

// CRDs installs the resource definitions of this checkout in a cluster and waits until they are served.
func CRDs(ctx context.Context, at *kind.Cluster) error {
	return with(at, func(c client.Client) error { return fixture.InstallCRDs(ctx, c) })
}

// with runs a function with a client of a cluster; an error names the cluster.
func with(at *kind.Cluster, do func(client.Client) error) error {
	c, err := Client(at)
	if err == nil {
		err = do(c)
	}
	if err != nil {
		return fmt.Errorf("cluster %s: %w", at.Name, err)
	}
	return nil
}

// Storage creates the storage class.
func Storage(ctx context.Context, at *kind.Cluster) error {
	return Create(ctx, at, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: kind.StorageClass}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate), ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
	})
}

// Namespace creates a namespace in which pods can be created.
func Namespace(ctx context.Context, at *kind.Cluster, name string) error {
	if err := Create(ctx, at, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, err := at.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}
