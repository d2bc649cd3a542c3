package preflight

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
	Run  func(context.Context, *Inspector, subject) ([]plan.Finding, error)
}

// subject is the migration that is checked, with its StatefulSets as the API servers have them.
type subject struct {
	migration *api.Migration
	source    *appsv1.StatefulSet
	// destination is nil when it does not exist yet.
	destination *appsv1.StatefulSet
}

// checks are done in this order: the first finding is the one that the status shows.
var checks = []Check{
	{"owner", pure(func(e *Inspector, s subject) []plan.Finding { return controllerOwner(e.Source, s.source) })},
	{"GitOps", pure(func(e *Inspector, s subject) []plan.Finding { return tracked(e.Source, s.source) })},
	{"feature gates", pure(func(e *Inspector, s subject) []plan.Finding {
		return unopenedGate(e.Destination, s.source, s.destination)
	})},
	{"fields", func(ctx context.Context, e *Inspector, _ subject) ([]plan.Finding, error) {
		return e.unsupportedFields(ctx)
	}},
	{"autoscaler of the source", func(ctx context.Context, e *Inspector, _ subject) ([]plan.Finding, error) {
		return autoscaled(ctx, e.Source)
	}},
	{"autoscaler of the destination", func(ctx context.Context, e *Inspector, _ subject) ([]plan.Finding, error) {
		return autoscaled(ctx, e.Destination)
	}},
	{"dependencies", func(ctx context.Context, e *Inspector, s subject) ([]plan.Finding, error) {
		return dependencies(ctx, e.Destination, s.source)
	}},
	{"shared claims", func(ctx context.Context, e *Inspector, s subject) ([]plan.Finding, error) {
		return e.sharedClaims(ctx, s.source)
	}},
	{"quotas", ofSource((*Inspector).quotas)},
	{"volumes", ofSource((*Inspector).reachableVolumes)},
	{"release", ofSource((*Inspector).release)},
	{"rehearsal", ofBoth((*Inspector).rehearse)},
	{"ordinals", ofBoth((*Inspector).startOrdinals)},
	{"admission of pods", ofSource((*Inspector).admission)},
	{"names", pure(func(e *Inspector, s subject) []plan.Finding { return e.unnameable(s.migration) })},
	{"exports", pure((*Inspector).unexportable)},
	{"differences", pure(func(e *Inspector, s subject) []plan.Finding {
		return differences(e.Destination, s.migration, s.source, s.destination)
	})},
}

// pure is a check that asks no API server.
func pure(find func(*Inspector, subject) []plan.Finding) func(context.Context, *Inspector, subject) ([]plan.Finding, error) {
	return func(_ context.Context, e *Inspector, s subject) ([]plan.Finding, error) { return find(e, s), nil }
}

// ofSource is a check of the migration and its source.
func ofSource(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s subject) ([]plan.Finding, error) {
		return find(e, ctx, s.migration, s.source)
	}
}

// ofBoth is a check of the migration and both StatefulSets.
func ofBoth(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s subject) ([]plan.Finding, error) {
		return find(e, ctx, s.migration, s.source, s.destination)
	}
}
