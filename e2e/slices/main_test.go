// Package slices runs our own StatefulSet kind on a real control plane.
package slices

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// lookAgain is the interval between two reads of an awaited state.
const lookAgain = 50 * time.Millisecond

// one is the cluster that all tests share: each works in its own namespace. api is its administrator.
var (
	one *rest.Config
	api client.Client
)

// embedded is that cluster if it runs as processes of this machine.
var embedded *cluster.Cluster

// limit bounds every test.
var limit = time.Minute

// tidy removes the objects of a passed test from the cluster: real nodes have limited room. An embedded cluster is
// removed with everything in it.
var tidy = func(*testing.T, *corev1.Namespace) {}

func TestMain(m *testing.M) { os.Exit(harness.Main(m, onKind, startEmbedded, startKind)) }

// startEmbedded starts a control plane in processes of this machine, with the resource definition of our kind.
func startEmbedded(ctx context.Context) (end func(failed bool) error, err error) {
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	often := map[cluster.Role][]string{cluster.ControllerManager: {"--horizontal-pod-autoscaler-sync-period=1s"}}
	c, err := cluster.Start(ctx, cluster.Options{Name: "one", Binary: binary, Gates: []string{cluster.MaxUnavailable}, Args: often})
	if err != nil {
		return nil, err
	}
	end = func(failed bool) error { return harness.Stop(c, failed) }
	one, embedded = c.RESTConfig(), c
	if api, err = fixture.Client(one); err == nil {
		err = harness.Prepare(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, end(true))
	}
	return end, nil
}

// define creates a resource definition and waits until it is served, which is a moment after it is established.
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
