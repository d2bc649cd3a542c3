package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/internal/clusters"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// direct reaches a cluster with every type that the tests write.
func direct(c *kind.Cluster) (client.Client, error) {
	scheme := clusters.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(c.Config, client.Options{Scheme: scheme})
}

// installCRDs puts the resource definitions into a cluster and waits until they are served.
func installCRDs(ctx context.Context, at *kind.Cluster) error {
	c, err := direct(at)
	if err != nil {
		return err
	}
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := c.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", crd.Name, err)
		}
	}
	for _, list := range []client.ObjectList{&api.MigrationList{}, &sliceapi.StatefulSetList{}} {
		err := wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
			return c.List(ctx, list) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%T is not served: %w", list, err)
		}
	}
	return nil
}
