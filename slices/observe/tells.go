package observe

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// PodTells says whether there is anything in which a decision would see two states of a pod
// differ. An update in place is followed by all that its pod says.
func PodTells(before, after *corev1.Pod) bool {
	if before.ResourceVersion == after.ResourceVersion {
		return false
	}
	readyBefore, since := Readiness(before)
	readyAfter, now := Readiness(after)
	return InPlaceOf(before) != nil || InPlaceOf(after) != nil ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		after.Labels[api.PrePullLabelKey] != "" && pullEnded(before) != pullEnded(after) ||
		phaseOf(before) != phaseOf(after) || readyBefore != readyAfter || !since.Equal(now) || GateOf(before) != GateOf(after) ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) || !equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

// ClaimTells says whether there is anything in which a decision would see two states of a claim
// differ: that it goes, its owners, or its size.
func ClaimTells(before, after *corev1.PersistentVolumeClaim) bool {
	return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Spec.Resources, after.Spec.Resources) ||
		!equality.Semantic.DeepEqual(before.Status.Capacity, after.Status.Capacity) || grown(before) != grown(after) ||
		before.Status.Phase != after.Status.Phase || infeasible(before) != infeasible(after)
}
