package engine

import (
	"cmp"
	"time"

	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
)

// Options configures an Engine.
type Options struct {
	// Source and Destination are the clusters. A permanently lost destination is clusters.Off. Mode Recover
	// sends no request to it; in every other mode the engine waits as for a cluster that does not answer.
	Source, Destination *clusters.Connection
	Records             Records
	// Holder identifies this process; it must be unique.
	Holder string
	// Notify is called when a watched object has changed. It must not block.
	Notify func()
	// Policy restricts which volumes may be created in the other cluster.
	Policy volumes.Policy
	// Access is what its health gates and its probe may reach.
	Access Access
	// Traffic holds the limits that the handoffs of all migrations share; nil means no limits.
	Traffic Traffic
	// Relays bounds the relays of all migrations; nil means no limit.
	Relays *relay.Bound
	// Onward finds the migration that has moved ordinals on from the destination of a migration to recover; nil
	// disables the search.
	Onward Onward
	// ServerTime converts a local time to the time of the API server that stores the migration; nil means that
	// both are equal.
	ServerTime func(time.Time) time.Time
	// Clock is the time source; nil means the real clock.
	Clock clock.PassiveClock
	// World reads and writes both sides; nil means the clusters.
	World World
}

// Access is what the health gates and the probe of a migration may reach.
type Access struct {
	// Secrets reads Secrets of the migration's namespace.
	Secrets health.Secrets
	// Addresses restricts the Prometheus servers that may be queried, and Probes the addresses that the probe may
	// request.
	Addresses, Probes health.Addresses
}

// endpoints returns both sides of a migration.
func (o Options) endpoints(m *api.Migration) *endpoint.Pair {
	source := endpointOf(plan.SourceSide, o.Source, cmp.Or(m.Spec.Source.Namespace, m.Namespace))
	destination := endpointOf(plan.DestinationSide, o.Destination, cmp.Or(m.Target().Namespace, m.Namespace))
	source.Set = m.Spec.Source.Name
	destination.Set = cmp.Or(m.Target().Name, source.Set)
	source.APIVersion = cmp.Or(m.Spec.Source.APIVersion, workload.NativeVersion)
	destination.APIVersion = cmp.Or(m.Target().APIVersion, source.APIVersion)
	return &endpoint.Pair{Source: source, Destination: destination}
}

func endpointOf(side plan.SideName, at *clusters.Connection, namespace string) endpoint.Endpoint {
	return endpoint.Endpoint{Side: side, Cluster: at.Name(), Flags: at.Flags(), Namespace: namespace, Live: clusters.Judged(at.Live()), Lender: at.Lender, Skew: at.Skew}
}
