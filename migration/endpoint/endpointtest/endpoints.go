// Package endpointtest provides the two sides of a migration for tests.
package endpointtest

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// Source returns StatefulSet shop/web in cluster east, read and written through live.
func Source(live client.Client) endpoint.Endpoint {
	return endpoint.Endpoint{Side: plan.SourceSide, Cluster: "east", ID: "1", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: live}
}

// Destination returns the same in cluster west.
func Destination(live client.Client) endpoint.Endpoint {
	return endpoint.Endpoint{Side: plan.DestinationSide, Cluster: "west", ID: "2", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: live}
}

// Pair returns both.
func Pair(source, destination client.Client) *endpoint.Pair {
	return &endpoint.Pair{Source: Source(source), Destination: Destination(destination)}
}
