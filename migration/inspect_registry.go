package migration

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Check looks for one thing that would keep a migration from ending well, before anything is
// written. An error means that it could not look.
type Check struct {
	Name string
	Run  func(context.Context, *inspector, subject) ([]plan.Finding, error)
}

// subject is the migration that is checked, with its StatefulSets as the API servers have them.
type subject struct {
	m      *api.Migration
	source *appsv1.StatefulSet
	// destination is nil when it does not exist yet.
	destination *appsv1.StatefulSet
}

// checks are done in this order: the first finding is the one that the status shows.
var checks = []Check{
	{"owner", pure(func(e *inspector, s subject) []plan.Finding { return owned(e.source, s.source) })},
	{"GitOps", pure(func(e *inspector, s subject) []plan.Finding { return tracked(e.source, s.source) })},
	{"feature gates", pure(func(e *inspector, s subject) []plan.Finding {
		return unopenedGate(e.destination, s.source, s.destination)
	})},
	{"fields", func(ctx context.Context, e *inspector, _ subject) ([]plan.Finding, error) { return e.beyond(ctx) }},
	{"autoscaler of the source", func(ctx context.Context, e *inspector, _ subject) ([]plan.Finding, error) {
		return autoscaled(ctx, e.source)
	}},
	{"autoscaler of the destination", func(ctx context.Context, e *inspector, _ subject) ([]plan.Finding, error) {
		return autoscaled(ctx, e.destination)
	}},
	{"dependencies", func(ctx context.Context, e *inspector, s subject) ([]plan.Finding, error) {
		return dependencies(ctx, e.destination, s.source)
	}},
	{"shared claims", func(ctx context.Context, e *inspector, s subject) ([]plan.Finding, error) {
		return e.sharedClaims(ctx, s.source)
	}},
	{"quotas", ofSource((*inspector).quotas)},
	{"volumes", ofSource((*inspector).reachableVolumes)},
	{"release", ofSource((*inspector).release)},
	{"rehearsal", ofBoth((*inspector).rehearse)},
	{"ordinals", ofBoth((*inspector).numbers)},
	{"admission of pods", ofSource((*inspector).admission)},
	{"names", pure(func(e *inspector, s subject) []plan.Finding { return e.unnameable(s.m) })},
	{"exports", pure((*inspector).unexportable)},
	{"differences", pure(func(e *inspector, s subject) []plan.Finding {
		return differences(e.destination, s.m, s.source, s.destination)
	})},
}

// pure is a check that asks no API server.
func pure(find func(*inspector, subject) []plan.Finding) func(context.Context, *inspector, subject) ([]plan.Finding, error) {
	return func(_ context.Context, e *inspector, s subject) ([]plan.Finding, error) { return find(e, s), nil }
}

// ofSource is a check of the migration and its source.
func ofSource(find func(*inspector, context.Context, *api.Migration, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *inspector, subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *inspector, s subject) ([]plan.Finding, error) {
		return find(e, ctx, s.m, s.source)
	}
}

// ofBoth is a check of the migration and both StatefulSets.
func ofBoth(find func(*inspector, context.Context, *api.Migration, *appsv1.StatefulSet, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *inspector, subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *inspector, s subject) ([]plan.Finding, error) {
		return find(e, ctx, s.m, s.source, s.destination)
	}
}
