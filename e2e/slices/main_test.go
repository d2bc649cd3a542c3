// Package slices runs our own StatefulSet kind on a real control plane.
package slices

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// lookAgain is how often what is waited for is read.
const lookAgain = 50 * time.Millisecond

// one is shared by all tests: each works in a namespace of its own. api is its
// administrator.
var (
	one *cluster.Cluster
	api client.Client
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "logs of cluster %s: %s\n", one.Name(), one.KeepLogs())
	}
	if err := one.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// start brings up the cluster with the resource definition of our kind.
func start(ctx context.Context) error {
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		return err
	}
	often := map[cluster.Role][]string{cluster.ControllerManager: {"--horizontal-pod-autoscaler-sync-period=1s"}}
	if one, err = cluster.Start(ctx, cluster.Options{Name: "one", Binary: binary, Args: often}); err != nil {
		return err
	}
	if api, err = connect(one); err == nil {
		err = errors.Join(install(ctx), restart(ctx, one))
	}
	if err != nil {
		return errors.Join(err, one.Stop())
	}
	return nil
}

func connect(c *cluster.Cluster) (client.Client, error) {
	scheme := clusters.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), sliceapi.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(c.RESTConfig(), client.Options{Scheme: scheme})
}

// restart starts the controller manager anew: its disruption controller looks for new
// kinds every 30 s only.
func restart(ctx context.Context, c *cluster.Cluster) error {
	if err := c.Kill(cluster.ControllerManager); err != nil {
		return err
	}
	return c.StartRole(ctx, cluster.ControllerManager)
}

func install(ctx context.Context) error {
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := define(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}

// define creates a resource definition and waits until it is served: it is a moment
// after it is established.
func define(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	if err := api.Create(ctx, crd); err != nil {
		return fmt.Errorf("creating the resource definition %s: %w", crd.Name, err)
	}
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.ListKind})
	return wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		err := api.List(ctx, objects)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}
