package scope

import (
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// aboutDependencies says whether a hold is about what may be mended in either cluster, unseen by any watch.
func aboutDependencies(reason string) bool {
	return slices.Contains([]string{
		api.ReasonDependencyMissing, api.ReasonDependencyDiffers, api.ReasonDependencyChanged, api.ReasonDependencySelects, api.ReasonDependencyNotRead,
		api.ReasonDependencyNotBound, volumes.ReasonClaimDiverges, volumes.ReasonClaimNotShareable, volumes.ReasonVolumeNotRetain,
	}, reason)
}

// dependsOn says whether a record may only be written where every copy is up to date: before the
// first ordinal is on its way, and when the last one has arrived.
func dependsOn(s plan.Snapshot, next *plan.Record) bool {
	if next == nil || !s.Spec.Dependencies.Copy || s.Record.Baseline == nil || planner.Giver(s) != plan.SourceSide || s.Deleting {
		return false
	}
	first := s.Record.Handoff == nil && next.Handoff != nil && !planner.Begun(s)
	return first || next.Completed != ""
}
