package v1alpha1

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// FieldManager is the field manager of every write of the slice controller.
const FieldManager = "sliceshift-slices"

// Annotations of pods.
const (
	// TerminationReasonAnnotationKey says, before a pod is deleted, why.
	TerminationReasonAnnotationKey = "apps.sliceshift.io/termination-reason"
	// TerminationTimeAnnotationKey is when that was written (RFC 3339).
	TerminationTimeAnnotationKey = "apps.sliceshift.io/termination-time"
	// InPlaceUpdateAnnotationKey is the update in place that a pod is in (JSON).
	InPlaceUpdateAnnotationKey = "apps.sliceshift.io/in-place-update"
	// NotYetAvailableAnnotationKey is on a pod from its creation until it is available for the first time. Only of such
	// a pod it is known that an update takes nothing away with it.
	NotYetAvailableAnnotationKey = "apps.sliceshift.io/not-yet-available"
)

// RestartedAtAnnotationKey is what kubectl writes on a template to have its pods made anew.
const RestartedAtAnnotationKey = "kubectl.kubernetes.io/restartedAt"

// Finalizer keeps a StatefulSet that is deleted until its pods carry the reason: the
// garbage collector deletes them as soon as it is gone. One has it while a pod of its own is to
// be told.
const Finalizer = "apps.sliceshift.io/termination-reason"

// SpecifiedDeleteKey is an annotation or label by which a person asks for one pod to
// be deleted, as the budget allows; the value is "true".
const SpecifiedDeleteKey = "apps.sliceshift.io/specified-delete"

// AskedToGo says whether a person asked for a pod to be deleted.
func AskedToGo(pod *corev1.Pod) bool {
	return pod.Annotations[SpecifiedDeleteKey] == "true" || pod.Labels[SpecifiedDeleteKey] == "true"
}

// PrePullLabelKey is on a pod that pulls the images of an update on a node; the value is the
// StatefulSet's name.
const PrePullLabelKey = "apps.sliceshift.io/pre-pull"

// MigratingAnnotationKey is on a StatefulSet while a migration drives it: pods that its
// scale-downs delete get the reason Migration, those that an update replaces are evicted,
// there are no surge pods (maxSurge), and Recreate waits.
const MigratingAnnotationKey = "apps.sliceshift.io/migrating"

// SplitAnnotationKey is on a StatefulSet whose application is split for good: another slice owns
// some of its ordinals, and may be anywhere. It has no surge pods (maxSurge), for
// the ordinals above its range may be the other one's. A migration writes it when it ends with both, and
// NotSplit when it ends with one. What it has said is kept in the condition Split: taking the annotation off
// takes nothing back.
const SplitAnnotationKey = "apps.sliceshift.io/split"

// NotSplit is the value of that annotation which says that no other slice owns ordinals of the application.
const NotSplit = "false"

// SurgeAnnotationKey is on a claim that was made for a surge pod (maxSurge), one above the
// range: it goes with that pod, whatever the retention policy says, unless the ordinal
// comes to be the StatefulSet's while the pod runs.
const SurgeAnnotationKey = "apps.sliceshift.io/surge"

// MaxUnavailableAnnotationKey is a StatefulSet's share of the disruption budget of an
// application of which a migration moves ordinals: a number, at most which of its pods may be
// unavailable for an available one to be updated, or deleted because somebody asks for it.
// What maxUnavailable says holds as well. status.observedMaxUnavailable confirms it.
const MaxUnavailableAnnotationKey = "apps.sliceshift.io/max-unavailable"

// ShareOf reads MaxUnavailableAnnotationKey; nil: there is none. One that is no number lets
// nothing go.
func ShareOf(annotations map[string]string) *int32 {
	text, found := annotations[MaxUnavailableAnnotationKey]
	if !found {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return new(int32)
	}
	return new(int32(n))
}

// InPlaceUpdateReady is the readiness gate that is False while a pod is updated in
// place.
const InPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"

// LifecycleStateLabelKey says how far the updates in place of a pod are, and whether its turn has
// come: it is on pods of sets with a podUpdatePolicy in place or a hook lifecycle.inPlaceUpdate.
const LifecycleStateLabelKey = "apps.sliceshift.io/lifecycle-state"

// LifecycleState is a value of LifecycleStateLabelKey; a pod without one is Normal.
type LifecycleState string

// The states, in the words of OpenKruise.
const (
	// LifecycleNormal: nothing is under way.
	LifecycleNormal LifecycleState = "Normal"
	// LifecyclePreparingUpdate: lifecycle.inPlaceUpdate holds the pod back, or it is not Ready
	// for the grace period before it is patched.
	LifecyclePreparingUpdate LifecycleState = "PreparingUpdate"
	// LifecycleUpdating: the pod was patched, and does not run what it was updated to yet.
	LifecycleUpdating LifecycleState = "Updating"
	// LifecycleUpdated: the update is done, and the marks of lifecycle.inPlaceUpdate, which were
	// taken off for it, are not back yet.
	LifecycleUpdated LifecycleState = "Updated"
	// LifecyclePreparingDelete: the pod carries its termination reason, and lifecycle.preDelete
	// may hold it back.
	LifecyclePreparingDelete LifecycleState = "PreparingDelete"
)

// TerminationReason is why a pod is deleted.
type TerminationReason string

// The reasons.
const (
	TerminationUpdate    TerminationReason = "Update"
	TerminationScaleDown TerminationReason = "ScaleDown"
	TerminationMigration TerminationReason = "Migration"
	TerminationDeletion  TerminationReason = "Deletion"
)

// Condition types.
const (
	// ConditionProgressing is True while a roll-out gets on and when it is complete, and
	// False once it has not for progressDeadlineSeconds.
	ConditionProgressing = "Progressing"
	// ConditionHeld is True while a pod is left alone that would be acted on; its
	// message says which and why.
	ConditionHeld = "Held"
	// ConditionSplit is True as long as another slice may own ordinals of the application: see SplitAnnotationKey.
	ConditionSplit = "Split"
	// ConditionFailedCreatePod and ConditionFailedUpdatePod are True while the API server
	// refuses to make a pod, or any other write of one or of its claims.
	ConditionFailedCreatePod = "FailedCreatePod"
	ConditionFailedUpdatePod = "FailedUpdatePod"
	// ConditionReady is True while every ordinal has a pod that is available and has the
	// revision that it shall have, and no other pod is left.
	ConditionReady = "Ready"
	// ConditionReconciling and ConditionStalled are there while Ready is False: Reconciling
	// while the controller is at it, Stalled once the roll-out has failed. Neither is there
	// while it waits for somebody, because the set is paused or is being deleted.
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// ReasonFieldUnreadable is the reason of Stalled where a stored value does not fit its field.
const ReasonFieldUnreadable = "FieldUnreadable"
