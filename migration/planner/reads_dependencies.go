package planner

import (
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// aboutDependencies reports whether a hold can be fixed in either cluster by a change that no watch reports.
func aboutDependencies(reason string) bool {
	return slices.Contains([]string{
		api.ReasonDependencyMissing, api.ReasonDependencyDiffers, api.ReasonDependencyChanged, api.ReasonDependencySelects, api.ReasonDependencyNotRead,
		api.ReasonDependencyNotBound, volumes.ReasonClaimDiverges, volumes.ReasonClaimNotShareable, volumes.ReasonVolumeNotRetain,
	}, reason)
}

// dependsOn reports whether a record may only be written while every copy is up to date: before the first handoff,
// and when the last ordinal has arrived.
func dependsOn(s plan.Snapshot, next *plan.Record) bool {
	if next == nil || !s.Spec.Dependencies.Copy || s.Record.Baseline == nil || Giver(s) != plan.SourceSide || s.Deleting {
		return false
	}
	first := s.Record.Idle() && next.Handoff != nil && !Begun(s)
	return first || next.Completed != ""
}
