package engine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
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
type inClusters struct{ *Engine }

// Snapshot implements World.
func (e inClusters) Snapshot(ctx context.Context, m *api.Migration, reads planner.Reads) plan.Snapshot {
	return e.observer.Snapshot(ctx, m, reads)
}

// EndPass implements World.
func (e inClusters) EndPass() { e.observer.EndPass() }

// Do implements World.
func (e inClusters) Do(ctx context.Context, m *api.Migration, effect plan.Effect) (client.Object, error) {
	e.observer.BeforeWrite(effect)
	executor := world.New(m, e.sides, e.policy)
	executor.Parked, executor.ParkedAt = e.parked, e.parkedAt
	object, err := executor.Do(ctx, effect)
	if err != nil {
		return nil, err
	}
	e.observer.LookAhead(ctx, effect)
	if effect.Parks() {
		e.parked, _ = object.(*corev1.PersistentVolume)
		e.parkedAt = effect.Side
	}
	return object, nil
}

// Engage implements World. It discovers facts that do not change, and starts to watch. For a migration that has
// not begun, it first checks the rights and everything that would keep it from completing.
func (e inClusters) Engage(ctx context.Context, m *api.Migration) ([]plan.Finding, error) {
	places := []*endpoint.Endpoint{&e.sides.Source, &e.sides.Destination}
	if world.Recovers(m) {
		places = places[:1]
	}
	e.asked = planner.NoSide
	if m.Status.Baseline != nil {
		if e.watching {
			return nil, e.learnExports(ctx, m, places)
		}
		if err := e.learn(ctx, m, places); err != nil {
			return nil, err
		}
		return nil, e.watch(ctx, places)
	}
	for _, check := range []func(context.Context, *api.Migration) ([]plan.Finding, error){e.inspector.KindsNotServed, e.inspector.MissingPermissions} {
		if findings, err := check(ctx, m); err != nil || len(findings) > 0 {
			return findings, err
		}
	}
	e.exportsAsked, e.sides.Source.ExportVersion, e.sides.Destination.ExportVersion = time.Time{}, "", ""
	if err := e.learn(ctx, m, places); err != nil {
		return nil, err
	}
	e.asked = planner.BothSides
	findings, err := e.inspector.Run(ctx, m)
	if err != nil {
		return nil, err
	}
	return findings, e.watch(ctx, places)
}

// learn identifies the clusters and discovers the APIs that they serve.
func (e *Engine) learn(ctx context.Context, m *api.Migration, places []*endpoint.Endpoint) error {
	for _, p := range places {
		if err := e.identify(ctx, p); err != nil {
			return err
		}
	}
	return e.learnExports(ctx, m, places)
}

// identifyAgain identifies the cluster of a side unless that was done in this pass.
func (e *Engine) identifyAgain(ctx context.Context, p *endpoint.Endpoint) error {
	if e.asked.Has(p.Side) {
		return nil
	}
	return e.identify(ctx, p)
}

// identify reads which cluster a side is in: a kubeconfig, a DNS name or a load balancer may lead to another
// cluster than before.
func (e *Engine) identify(ctx context.Context, p *endpoint.Endpoint) error {
	id, err := e.connections[p.Side].ID(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", p.Cluster, err)
	}
	p.ID = id
	return nil
}

func (e *Engine) watch(ctx context.Context, places []*endpoint.Endpoint) error {
	if e.watching || e.notify == nil {
		return nil
	}
	for _, p := range places {
		view, leave, err := e.connections[p.Side].Watch(ctx, clusters.Scope{Namespace: p.Namespace, Kind: p.APIVersion}, clusters.Subscription{Set: p.Set, Notify: e.notify})
		if err != nil {
			e.Close()
			return err
		}
		p.Cached = view
		e.leave = append(e.leave, leave)
	}
	e.watching = true
	return nil
}
