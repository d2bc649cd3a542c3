package harness

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Install applies the shipped roles to both clusters. It does not deploy the manager, which the tests run
// themselves.
var Install = OnceInBoth(InstallRoles)

// installCRDs applies the resource definitions to a cluster and waits until they are served.
func installCRDs(at Cluster) error { return with(at, fixture.InstallCRDs) }

// InstallRoles applies the shipped roles to a cluster.
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

// Client returns a client with the rights of the cluster's administrator.
func Client(at Cluster) (client.Client, error) { return fixture.Client(at.RESTConfig()) }
