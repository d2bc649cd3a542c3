package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/kind"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const (
	managerNamespace = "sliceshift-system"
	managerName      = "sliceshift-manager"
	mover            = "mover"
)

// roles are what whoever moves needs, in both clusters.
var roles = []string{"sliceshift-mover", "sliceshift-mover-cluster"}

// installManager runs the manager in east exactly as it is shipped, and puts the mover's
// roles into west.
func installManager(ctx context.Context, p *kind.Pair) error {
	objects, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if err := setImage(object, managerImage); err != nil {
				return err
			}
		}
		if err := createIn(ctx, p.East, object.DeepCopy()); err != nil {
			return err
		}
		if slices.Contains(roles, object.GetName()) {
			if err := createIn(ctx, p.West, object); err != nil {
				return err
			}
		}
	}
	return awaitManager(ctx, p.East)
}

func setImage(deployment *unstructured.Unstructured, image string) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	containers[0].(map[string]any)["image"] = image
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

func createIn(ctx context.Context, c *kind.Cluster, object client.Object) error {
	direct, err := direct(c)
	if err != nil {
		return err
	}
	if err := direct.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cluster %s: create %s: %w", c.Name, object.GetName(), err)
	}
	return nil
}

func awaitManager(ctx context.Context, c *kind.Cluster) error {
	const patience = 3 * time.Minute
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		deployment, err := c.Client.AppsV1().Deployments(managerNamespace).Get(ctx, managerName, metav1.GetOptions{})
		return err == nil && deployment.Status.AvailableReplicas == *deployment.Spec.Replicas, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: the manager does not become available: %w", c.Name, err)
	}
	return nil
}

// TestManager moves by a Migration resource that the manager's pod acts upon, with the
// rights that are shipped: an account of the namespace in east, a token of one in west.
func TestManager(t *testing.T) {
	t.Parallel()
	v := deploy(t, usual())
	v.must(namespace(v.ctx, pair.West, v.app.namespace))
	for _, c := range pair.Both() {
		v.must(v.createMover(c))
	}
	v.must(v.createSecret())
	v.watch()
	v.m.Spec.ServiceAccountName = mover
	v.m.Spec.Destination.CreateNamespace = false
	v.m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	c, err := direct(pair.East)
	v.must(err)
	v.must(c.Create(v.ctx, v.m))
	err = pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(v.m), v.m); err != nil {
			return false, err
		}
		return meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionCompleted), nil
	})
	if err != nil {
		t.Fatalf("the Migration is not completed: %v: %+v", err, v.m.Status.Conditions)
	}
	v.audit(v.expectMoved(), "by the manager's pod")
}

// createMover makes an account with the rights to move.
func (v *move) createMover(c *kind.Cluster) error {
	in := v.app.namespace
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: mover}}
	if err := createIn(v.ctx, c, account); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: in, Name: mover}}
	role := func(i int) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roles[i]}
	}
	inNamespace := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: mover}, RoleRef: role(0), Subjects: subjects}
	if err := createIn(v.ctx, c, inNamespace); err != nil {
		return err
	}
	v.t.Cleanup(func() {
		_ = c.Client.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(v.ctx), in, metav1.DeleteOptions{})
	})
	return createIn(v.ctx, c, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: in}, RoleRef: role(1), Subjects: subjects})
}

// createSecret puts the kubeconfig of west's mover into a Secret of east, with an address
// that the manager's pod can reach.
func (v *move) createSecret() error {
	token, err := pair.West.Client.CoreV1().ServiceAccounts(v.app.namespace).CreateToken(v.ctx, mover, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	server, err := pair.West.Inside(v.ctx)
	if err != nil {
		return err
	}
	west := rest.CopyConfig(pair.West.Config)
	if err := rest.LoadTLSFiles(west); err != nil {
		return err
	}
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"west": {Server: server, CertificateAuthorityData: west.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{mover: {Token: token.Status.Token}},
		Contexts:  map[string]*clientcmdapi.Context{"west": {Cluster: "west", AuthInfo: mover}}, CurrentContext: "west",
	})
	if err != nil {
		return err
	}
	return createIn(v.ctx, pair.East, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: "west"}, Data: map[string][]byte{"value": kubeconfig},
	})
}
