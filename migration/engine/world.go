package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// World is the environment that an Engine reads and writes.
type World interface {
	// Engage prepares a pass, and returns the findings that keep a migration from beginning.
	Engage(ctx context.Context, m *api.Migration) ([]plan.Finding, error)
	// Snapshot reads both sides.
	Snapshot(ctx context.Context, m *api.Migration, reads planner.Reads) plan.Snapshot
	// EndPass drops the data that was read for one pass.
	EndPass()
	// Do carries out an effect, and returns the object that was written.
	Do(ctx context.Context, m *api.Migration, effect plan.Effect) (client.Object, error)
}

// inClusters is the World of two real clusters.
type inClusters struct {
	*world.Observer
	links     links
	watches   watches
	inspector *preflight.Inspector
	policy    volumes.Policy
	// parked is the volume that was parked last, and parkedAt is its side.
	parked   *corev1.PersistentVolume
	parkedAt plan.SideName
}

func newInClusters(m *api.Migration, options Options) *inClusters {
	pair := options.endpoints(m)
	connections := map[plan.SideName]*clusters.Connection{plan.SourceSide: options.Source, plan.DestinationSide: options.Destination}
	c := &inClusters{
		links:     links{clock: options.Clock, pair: pair, connections: connections},
		watches:   watches{notify: options.Notify, pair: pair},
		inspector: &preflight.Inspector{Pair: pair, Clock: options.Clock, Policy: options.Policy, Connections: connections},
		policy:    options.Policy,
	}
	c.Observer = &world.Observer{Pair: pair, Clock: options.Clock, Policy: options.Policy, Identify: c.links.identifyAgain, KeepsSlice: c.inspector.KeepsSlice, LetsIn: c.inspector.LetsIn}
	return c
}

// Do implements World.
func (c *inClusters) Do(ctx context.Context, m *api.Migration, effect plan.Effect) (client.Object, error) {
	c.BeforeWrite(effect)
	executor := world.New(m, c.links.pair, c.policy)
	executor.Parked, executor.ParkedAt = c.parked, c.parkedAt
	object, err := executor.Do(ctx, effect)
	if err != nil {
		return nil, err
	}
	c.LookAhead(ctx, effect)
	if effect.Parks() {
		c.parked, _ = object.(*corev1.PersistentVolume)
		c.parkedAt = effect.Side
	}
	return object, nil
}

// Engage implements World. It discovers facts that do not change, and starts to watch. For a migration that has
// not begun, it first checks the rights and everything that would keep it from completing.
func (c *inClusters) Engage(ctx context.Context, m *api.Migration) ([]plan.Finding, error) {
	places := []*endpoint.Endpoint{&c.links.pair.Source, &c.links.pair.Destination}
	if world.Recovers(m) {
		places = places[:1]
	}
	c.links.identified = planner.NoSide
	if m.Status.Baseline != nil {
		if c.watches.on {
			return nil, c.links.learnExports(ctx, m, places)
		}
		if err := c.links.learn(ctx, m, places); err != nil {
			return nil, err
		}
		return nil, c.watches.begin(ctx, places, c.links.connections)
	}
	for _, check := range []func(context.Context, *api.Migration) ([]plan.Finding, error){c.inspector.KindsNotServed, c.inspector.MissingPermissions} {
		if findings, err := check(ctx, m); err != nil || len(findings) > 0 {
			return findings, err
		}
	}
	c.links.forgetExports()
	if err := c.links.learn(ctx, m, places); err != nil {
		return nil, err
	}
	c.links.identified = planner.BothSides
	findings, err := c.inspector.Run(ctx, m)
	if err != nil {
		return nil, err
	}
	return findings, c.watches.begin(ctx, places, c.links.connections)
}
