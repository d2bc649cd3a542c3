package measure

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Mover is the manager's identity at a destination.
const Mover = "mover"

// Install installs the resource definitions in the source and the shipped roles in all clusters, and returns a client
// of the source. It omits the Deployment: the measured manager is a process of this machine.
func Install(ctx context.Context, source *rest.Config, destinations ...*rest.Config) (client.Client, error) {
	c, err := fixture.Client(source)
	if err != nil {
		return nil, err
	}
	if err := fixture.InstallCRDs(ctx, c); err != nil {
		return nil, err
	}
	if err := fixture.InstallRoles(ctx, c); err != nil {
		return nil, err
	}
	for _, destination := range destinations {
		there, err := fixture.Client(destination)
		if err != nil {
			return nil, err
		}
		if err := fixture.InstallRoles(ctx, there); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// AllowAccount binds the shipped roles to the ServiceAccount that is the manager's identity at the source.
func AllowAccount(ctx context.Context, source kubernetes.Interface, namespace string) error {
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}
	return fixture.GrantMove(ctx, source, namespace, account)
}

// AllowMover binds the shipped roles to the user of the kubeconfigs of a destination.
func AllowMover(ctx context.Context, destination kubernetes.Interface) error {
	person := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: Mover}
	return fixture.GrantMove(ctx, destination, Mover, person)
}

// KubeconfigSecret returns a Secret with the kubeconfig of a file.
func KubeconfigSecret(namespace, name, path string) (*corev1.Secret, error) {
	kubeconfig, err := os.ReadFile(path)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"value": kubeconfig},
	}, err
}

// Template is the claim template of every application here.
const Template = "data"

// Application returns an application to move, of which one pod may be down at a time.
func Application(namespace, name string, replicas int32) fixture.App {
	return fixture.App{
		Namespace: namespace, Name: name, Replicas: replicas, Claims: []string{Template},
		MaxUnavailable: new(intstr.FromInt32(1)),
	}
}

// Migration returns the Migration of an application.
func Migration(app fixture.App) *api.Migration {
	m := fixture.NewMigration(app.Namespace, app.Name)
	m.Spec.Destination.CreateNamespace = true
	fixture.SharePaths(m, app.Claims...)
	return m
}
