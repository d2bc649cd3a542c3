package harness

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Install puts the shipped roles into both clusters. The manager itself is not among what is
// applied: the tests run it.
var Install = OnceInBoth(InstallRoles)

// installCRDs puts the resource definitions into a cluster, and waits until they are
// served.
func installCRDs(at Cluster) error { return with(at, fixture.InstallCRDs) }

// InstallRoles puts the shipped roles into a cluster.
func InstallRoles(at Cluster) error { return with(at, fixture.InstallRoles) }

func with(at Cluster, do func(context.Context, client.Client) error) error {
	c, err := Client(at)
	if err == nil {
		err = do(context.Background(), c)
	}
	if err != nil {
		return fmt.Errorf("cluster %s: %w", at.Name(), err)
	}
	return nil
}

// Client is a client of a cluster's administrator.
func Client(at Cluster) (client.Client, error) { return fixture.Client(at.RESTConfig()) }
