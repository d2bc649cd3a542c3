package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// Shortfall returns the storage request of the template if it is larger than the claim's, or nil.
func Shortfall(template, claim *corev1.PersistentVolumeClaim) *corev1.ResourceList {
	want, asks := template.Spec.Resources.Requests[corev1.ResourceStorage]
	have := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asks || have.Cmp(want) >= 0 {
		return nil
	}
	return &corev1.ResourceList{corev1.ResourceStorage: want}
}

// grown reports whether a claim's volume has the requested size. The file system does not count, because some drivers grow
// it only when a pod mounts the volume again.
func grown(claim *corev1.PersistentVolumeClaim) bool {
	want := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	have := claim.Status.Capacity[corev1.ResourceStorage]
	return have.Cmp(want) >= 0 || fileSystemPending(claim) != nil
}

// urgency orders the growth states of several claims. The last one takes precedence.
var urgency = []decide.GrowthState{decide.Grown, decide.Unbound, decide.AwaitsFileSystem, decide.Growing, decide.ToGrow, decide.Infeasible}

// growthOf returns the growth of an ordinal's claims. Claims do not grow for a revision that has failed.
func (s Seen) growthOf(ordinal int32) (most decide.Growth) {
	if s.failed || !growsClaims(s.Set) {
		return decide.Growth{}
	}
	grows := false
	for i := range s.Set.Spec.VolumeClaimTemplates {
		template := &s.Set.Spec.VolumeClaimTemplates[i]
		claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
		if claim == nil || claim.DeletionTimestamp != nil { // the next one is created with the size of the template
			continue
		}
		grows = grows || inProgress(claim)
		next := decide.Growth{State: GrowthState(template, claim), Claim: claim.Name}
		if pending := fileSystemPending(claim); next.State == decide.AwaitsFileSystem {
			next.Since = pending.LastTransitionTime.Time
		}
		if order := slices.Index(urgency, next.State) - slices.Index(urgency, most.State); order > 0 || order == 0 && next.Since.After(most.Since) {
			most = next
		}
	}
	most.InProgress = grows && most.State == decide.ToGrow
	return most
}

// inProgress reports whether a claim was asked for more than it has.
func inProgress(claim *corev1.PersistentVolumeClaim) bool {
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	return claim.Status.Phase == corev1.ClaimBound && have.Cmp(want) < 0
}

// GrowthState returns the growth state of a claim relative to its template. The API server accepts a larger request only for
// a bound claim.
func GrowthState(template, claim *corev1.PersistentVolumeClaim) decide.GrowthState {
	bound := claim.Status.Phase == corev1.ClaimBound
	switch {
	case Shortfall(template, claim) != nil && bound:
		return decide.ToGrow
	case Shortfall(template, claim) != nil:
		return decide.Unbound
	case !inProgress(claim):
		return decide.Grown
	case infeasible(claim):
		return decide.Infeasible
	case fileSystemPending(claim) != nil:
		return decide.AwaitsFileSystem
	default:
		return decide.Growing
	}
}

// infeasible reports whether the driver of a claim reported that it cannot grow.
func infeasible(claim *corev1.PersistentVolumeClaim) bool {
	state := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	return state == corev1.PersistentVolumeClaimControllerResizeInfeasible || state == corev1.PersistentVolumeClaimNodeResizeInfeasible
}

// fileSystemPending returns the condition that a claim's volume has grown and its file system has not, or nil.
func fileSystemPending(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimCondition {
	for i := range claim.Status.Conditions {
		c := &claim.Status.Conditions[i]
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// VolumeClaims counts, for each claim template, the claims of these ordinals that request at least its size, and those of
// them that have it.
func (s Seen) VolumeClaims(ordinals []int32) []api.VolumeClaimStatus {
	var all []api.VolumeClaimStatus
	for i := range s.Set.Spec.VolumeClaimTemplates {
		template := &s.Set.Spec.VolumeClaimTemplates[i]
		status := api.VolumeClaimStatus{VolumeClaimName: template.Name}
		for _, ordinal := range ordinals {
			claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
			if claim == nil || Shortfall(template, claim) != nil {
				continue
			}
			status.CompatibleReplicas++
			if grown(claim) {
				status.CompatibleReadyReplicas++
			}
		}
		all = append(all, status)
	}
	return all
}

// growsClaims reports whether an update raises the requests of existing claims.
func growsClaims(set *api.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy != nil && set.Spec.VolumeClaimUpdateStrategy.Type == api.OnPodRollingUpdate
}
