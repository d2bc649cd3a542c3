package setup

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/config"
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
