package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// exportsAgain is how often discovery is repeated for a cluster that served no ServiceExport. The definition
// may be installed while a migration waits for it.
const exportsAgain = 30 * time.Second

// links are the connections to both clusters, and what is known of these clusters.
type links struct {
	clock       clock.PassiveClock
	pair        *endpoint.Pair
	connections map[plan.SideName]*clusters.Connection
	// identified holds the sides whose cluster was identified in this pass. exportsAsked is the last time when the
	// served ServiceExport versions were discovered.
	identified   planner.Sides
	exportsAsked time.Time
}

// learn identifies the clusters and discovers the APIs that they serve.
func (l *links) learn(ctx context.Context, m *api.Migration, places []*endpoint.Endpoint) error {
	for _, p := range places {
		if err := l.identify(ctx, p); err != nil {
			return err
		}
	}
	return l.learnExports(ctx, m, places)
}

// identifyAgain identifies the cluster of a side unless that was done in this pass.
func (l *links) identifyAgain(ctx context.Context, p *endpoint.Endpoint) error {
	if l.identified.Has(p.Side) {
		return nil
	}
	return l.identify(ctx, p)
}

// identify reads which cluster a side is in: a kubeconfig, a DNS name or a load balancer may lead to another
// cluster than before.
func (l *links) identify(ctx context.Context, p *endpoint.Endpoint) error {
	id, err := l.connections[p.Side].ID(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", p.Cluster, err)
	}
	p.ID = id
	return nil
}

// dialMover returns a function that connects to the port of a mover through the API server of its cluster.
func (l *links) dialMover(end plan.RelayEnd) relay.Dial {
	return func(ctx context.Context) (relay.Conn, error) {
		return l.connections[end.Side].RelayPod(ctx, client.ObjectKey{Namespace: end.Namespace, Name: end.Name}, manifest.Port)
	}
}

// askers returns the function that creates the client of a health gate.
func (l *links) askers(access Access) askers {
	side := func(at endpoint.Endpoint) health.Side {
		return health.Side{Connection: l.connections[at.Side], Namespace: at.Namespace, StatefulSet: at.Set}
	}
	sides := health.Sides{Source: side(l.pair.Source), Destination: side(l.pair.Destination), Secrets: access.Secrets, Addresses: access.Addresses}
	return func(gate api.HealthGate) (health.Asker, error) { return health.New(gate, sides) }
}

// forgetExports makes the next discovery begin again.
func (l *links) forgetExports() {
	l.exportsAsked, l.pair.Source.ExportVersion, l.pair.Destination.ExportVersion = time.Time{}, "", ""
}

// learnExports discovers which version of ServiceExport the clusters serve, for a migration that requests
// exports of the application's Services or of receivers, from its beginning or later.
func (l *links) learnExports(ctx context.Context, m *api.Migration, places []*endpoint.Endpoint) error {
	if !m.AcceptedServices().Exports() && !m.ExportsReceivers() || !l.asksForExports(places) {
		return nil
	}
	again := !l.exportsAsked.IsZero()
	for _, p := range places {
		if p.ExportVersion != "" {
			continue
		}
		version, err := l.exportVersion(ctx, p)
		if err != nil && !again {
			return err
		}
		p.ExportVersion = version // if a repeated discovery fails, nothing changes
	}
	l.exportsAsked = l.clock.Now()
	return nil
}

// asksForExports reports whether discovery is due.
func (l *links) asksForExports(places []*endpoint.Endpoint) bool {
	lacks := slices.ContainsFunc(places, func(p *endpoint.Endpoint) bool { return p.ExportVersion == "" })
	return lacks && (l.exportsAsked.IsZero() || l.clock.Since(l.exportsAsked) >= exportsAgain)
}

// exportVersion returns the newest version of ServiceExport that a side serves; empty if it serves none.
func (l *links) exportVersion(ctx context.Context, p *endpoint.Endpoint) (newest string, err error) {
	for version, object := range map[string]client.Object{mcsv1alpha1.GroupVersion.Version: &mcsv1alpha1.ServiceExport{}, mcsv1beta1.GroupVersion.Version: &mcsv1beta1.ServiceExport{}} {
		served, err := l.connections[p.Side].Serves(ctx, object)
		if err != nil {
			return "", err
		}
		if served {
			newest = max(newest, version)
		}
	}
	return newest, nil
}
