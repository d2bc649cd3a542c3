package observe

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// PodTells reports whether two states of a pod can lead to different decisions. During an in-place update, every change
// counts.
func PodTells(before, after *corev1.Pod) bool {
	if before.ResourceVersion == after.ResourceVersion {
		return false
	}
	readyBefore, since := Readiness(before)
	readyAfter, now := Readiness(after)
	return InPlaceOf(before) != nil || InPlaceOf(after) != nil ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		after.Labels[api.PrePullLabelKey] != "" && pullEnded(before) != pullEnded(after) ||
		phaseOf(before) != phaseOf(after) || readyBefore != readyAfter || !since.Equal(now) || !lostSince(before).Equal(lostSince(after)) || GateOf(before) != GateOf(after) ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) || !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

// ClaimTells reports whether two states of a claim can lead to different decisions: in deletion, owners, size or phase.
func ClaimTells(before, after *corev1.PersistentVolumeClaim) bool {
	return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Spec.Resources, after.Spec.Resources) ||
		!equality.Semantic.DeepEqual(before.Status.Capacity, after.Status.Capacity) || grown(before) != grown(after) ||
		before.Status.Phase != after.Status.Phase || infeasible(before) != infeasible(after)
}
