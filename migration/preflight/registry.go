package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/writers"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Check looks for one thing that would keep a migration from ending well, before anything is
// written. An error means that it could not look.
type Check struct {
	// Name tells it from the others.
	Name string
	// Rules are the rights without which it cannot look, on both sides: a migration that lacks one
	// is refused before any check is done. What is read only where it may be needs none.
	Rules []Rule
	// Run looks. It writes nothing, unless as a dry run.
	Run func(context.Context, *Inspector, Subject) ([]plan.Finding, error)
}

// Subject is the migration that is checked, with its StatefulSets as the API servers have them.
type Subject struct {
	Migration *api.Migration
	Source    *appsv1.StatefulSet
	// Destination is nil when it does not exist yet.
	Destination *appsv1.StatefulSet
}

// Register has one more check done, after all others. It is for the start of a program: a check
// that cannot be done, or that takes another one's name, is a mistake in it, and panics.
func Register(check Check) {
	taken := slices.ContainsFunc(checks, func(other Check) bool { return other.Name == check.Name })
	if check.Name == "" || check.Run == nil || taken {
		panic(fmt.Sprintf("check %q cannot be registered", check.Name))
	}
	checks = append(checks, check)
}

// checks are done in this order: the first finding is the one that the status shows.
var checks = []Check{
	{Name: "owner", Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return writers.Operator(ctx, e.Source, s.Source)
	}},
	{Name: "GitOps", Run: pure(func(e *Inspector, s Subject) []plan.Finding { return writers.GitOps(e.Source, s.Source) })},
	{Name: "feature gates", Run: pure(func(e *Inspector, s Subject) []plan.Finding {
		return unopenedGate(e.Destination, s.Source, s.Destination)
	})},
	{Name: "fields", Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
		return e.unsupportedFields(ctx)
	}},
	{Name: "autoscaler of the source", Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
		return writers.Autoscalers(ctx, e.Source)
	}},
	{Name: "autoscaler of the destination", Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
		return writers.Autoscalers(ctx, e.Destination)
	}},
	{Name: "dependencies", Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return dependencies(ctx, e.Destination, s.Source)
	}},
	{Name: "shared claims", Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return e.sharedClaims(ctx, s.Source)
	}},
	{Name: "quotas", Run: ofSource((*Inspector).quotas)},
	{Name: "volumes", Run: ofSource((*Inspector).reachableVolumes)},
	{Name: "release", Run: ofSource((*Inspector).release)},
	{Name: "rehearsal", Run: ofBoth((*Inspector).rehearse)},
	{Name: "ordinals", Run: ofBoth((*Inspector).startOrdinals)},
	{Name: "admission of pods", Run: ofSource((*Inspector).admission)},
	{Name: "names", Run: pure(func(e *Inspector, s Subject) []plan.Finding { return e.unnameable(s.Migration) })},
	{Name: "exports", Run: pure((*Inspector).unexportable)},
	{Name: "health gates", Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return e.healthGates(ctx, s)
	}},
	{Name: "differences", Run: pure(func(e *Inspector, s Subject) []plan.Finding {
		return differences(e.Destination, s.Migration, s.Source, s.Destination)
	})},
}

// pure is a check that asks no API server.
func pure(find func(*Inspector, Subject) []plan.Finding) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(_ context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return find(e, s), nil }
}

// ofSource is a check of the migration and its source.
func ofSource(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return find(e, ctx, s.Migration, s.Source)
	}
}

// ofBoth is a check of the migration and both StatefulSets.
func ofBoth(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return find(e, ctx, s.Migration, s.Source, s.Destination)
	}
}
