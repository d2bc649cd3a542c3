package engine

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// Outlook observes the StatefulSet of a migration in place, and returns what the migration would do. It writes nothing.
func Outlook(ctx context.Context, m *api.Migration, options Options) (outlook.Plan, error) {
	c, err := looking(ctx, m, options)
	if err != nil {
		return outlook.Plan{}, err
	}
	for _, check := range []func(context.Context, *api.Migration) ([]plan.Finding, error){c.inspector.KindsNotServed, c.inspector.MissingPermissions} {
		findings, err := check(ctx, m)
		if err != nil {
			return outlook.Plan{}, err
		}
		if len(findings) > 0 {
			return unread(c, findings), nil
		}
	}
	snapshot := c.Snapshot(ctx, m, planner.Reads{Live: true, Wide: true})
	if snapshot.Source.Reach != plan.Seen {
		return outlook.Plan{}, &UnreadError{Cluster: snapshot.Source.Cluster, Text: snapshot.Source.ReachError}
	}
	return c.inspector.InPlace(ctx, m, snapshot)
}

// UnreadError is the error of a cluster that cannot be read.
type UnreadError struct{ Cluster, Text string }

// Error implements error.
func (e *UnreadError) Error() string { return "cluster " + e.Cluster + " cannot be read: " + e.Text }

// unread returns the outlook of a StatefulSet that was not read.
func unread(c *inClusters, findings []plan.Finding) outlook.Plan {
	set := &appsv1.StatefulSet{}
	set.Namespace, set.Name = c.links.pair.Source.Namespace, c.links.pair.Source.Set
	return outlook.New(outlook.State{Cluster: c.links.pair.Source.Cluster, Set: set}, 0, preflight.NewReportInPlace(findings).Findings())
}

// ChooseInPlace returns the volumes of a migration in place with a method each, as its claims need it. manifest has the wanted
// claim templates, if a user has given them.
func ChooseInPlace(ctx context.Context, m *api.Migration, manifest []corev1.PersistentVolumeClaim, options Options) ([]api.VolumeSpec, error) {
	c, err := looking(ctx, m, options)
	if err != nil {
		return nil, err
	}
	return c.inspector.Chosen(ctx, m, manifest)
}

// looking returns the cluster of a migration in place, to be read.
func looking(ctx context.Context, m *api.Migration, options Options) (*inClusters, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	options.Destination = options.Source
	c := newInClusters(m, options)
	// The set has its slice and its pods already.
	c.KeepsSlice = func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
		return nil, nil
	}
	return c, c.links.learn(ctx, m, []*endpoint.Endpoint{&c.links.pair.Source, &c.links.pair.Destination})
}
