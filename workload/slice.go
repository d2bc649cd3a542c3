package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// SliceVersion is the apiVersion of our own kind.
var SliceVersion = slicesapi.GroupVersion.String()

// Slice is our own kind. It has the fields of every kind.
type Slice struct{ Native }

// APIVersion implements Kind.
func (Slice) APIVersion() string { return SliceVersion }

// Resource implements Kind.
func (Slice) Resource() string { return "slice" }

// AddToScheme implements Kind.
func (Slice) AddToScheme(scheme *runtime.Scheme) error { return slicesapi.AddToScheme(scheme) }

// New implements Kind.
func (Slice) New(meta metav1.ObjectMeta) client.Object {
	return &slicesapi.StatefulSet{ObjectMeta: meta}
}

// Unsupported implements Kind.
func (Slice) Unsupported(*slicesapi.StatefulSet) []string { return nil }

// KeepsStart implements Kind.
func (Slice) KeepsStart() bool { return true }

// UpdatesTemplates implements Kind.
func (Slice) UpdatesTemplates() bool { return true }

// OpensGate implements Kind.
func (Slice) OpensGate() bool { return true }

// Fenced implements Kind.
func (Slice) Fenced() map[string]any {
	return map[string]any{slicesapi.MigratingAnnotationKey: "true"}
}

// Released implements Kind.
func (Slice) Released(split bool) map[string]any {
	marks := map[string]any{slicesapi.MigratingAnnotationKey: nil, slicesapi.MaxUnavailableAnnotationKey: nil, slicesapi.SplitAnnotationKey: slicesapi.NotSplit}
	if split {
		marks[slicesapi.SplitAnnotationKey] = "true"
	}
	return marks
}

// Observe implements Kind.
func (Slice) Observe(object client.Object, pods []corev1.Pod) Facts {
	set, is := object.(*slicesapi.StatefulSet)
	if !is {
		return Facts{}
	}
	facts := Facts{
		Managed: true, AllAtOnce: set.Spec.UpdateStrategy.Type == slicesapi.Recreate, DeleteRequested: deleteRequested(set, pods),
		Paused: set.Spec.Paused, ByHand: set.Spec.UpdateStrategy.Type == slicesapi.OnDelete, Unmarked: set.Annotations[slicesapi.MigratingAnnotationKey] == "",
		Failed: set.Status.FailedRevision != "" && set.Status.FailedRevision == set.Status.UpdateRevision,
		Cap:    slicesapi.ShareOf(set.Annotations), SkipsOrdinals: len(set.Spec.ReserveOrdinals) > 0,
	}
	if facts.TemplatesLocked = templatesLocked(set.Spec.VolumeClaimUpdateStrategy); facts.TemplatesLocked != "" {
		facts.TemplatesUnlock = fmt.Sprintf(`{"spec":{"volumeClaimUpdateStrategy":{"type":%q}}}`, slicesapi.OnClaimDelete)
	}
	facts.CapObserved = equality.Semantic.DeepEqual(facts.Cap, set.Status.ObservedMaxUnavailable)
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil {
		return facts
	}
	if rolling.MinReadySeconds != nil {
		facts.MinReadySeconds = *rolling.MinReadySeconds
	}
	if rolls := set.Spec.UpdateStrategy.Type == "" || set.Spec.UpdateStrategy.Type == slicesapi.RollingUpdate; rolls {
		facts.Paused = facts.Paused || rolling.Paused
		if rolling.Partition != nil {
			facts.KeepsBelow = *rolling.Partition
		}
	}
	return facts
}

// templatesLocked returns why a strategy does not permit any change of the claim templates; empty if it does. A controller
// that grows claims would resize those that a migration replaces.
func templatesLocked(strategy *slicesapi.VolumeClaimUpdateStrategy) string {
	switch {
	case strategy == nil:
		return "spec.volumeClaimUpdateStrategy is not set, and without it no claim template can change"
	case strategy.Type != slicesapi.OnClaimDelete:
		return fmt.Sprintf("spec.volumeClaimUpdateStrategy.type is %s, under which its controller resizes claims, and templates only grow", strategy.Type)
	}
	return ""
}

// deleteRequested reports whether the deletion of a pod of the set has been requested.
func deleteRequested(set *slicesapi.StatefulSet, pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return metav1.IsControlledBy(&pod, set) && pod.DeletionTimestamp == nil && slicesapi.AskedToGo(&pod)
	})
}

// Updating implements Kind.
func (Slice) Updating(pod *corev1.Pod) bool {
	return pod.Annotations[slicesapi.InPlaceUpdateAnnotationKey] != ""
}
