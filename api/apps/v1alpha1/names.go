package v1alpha1

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// FieldManager is the field manager of every write of the slice controller.
const FieldManager = "sliceshift-slices"

// Annotations of pods.
const (
	// TerminationReasonAnnotationKey holds the reason of a deletion. It is written before the pod is deleted.
	TerminationReasonAnnotationKey = "apps.sliceshift.io/termination-reason"
	// TerminationTimeAnnotationKey holds the time at which the reason was written (RFC 3339).
	TerminationTimeAnnotationKey = "apps.sliceshift.io/termination-time"
	// InPlaceUpdateAnnotationKey holds the state of the pod's in-place update (JSON).
	InPlaceUpdateAnnotationKey = "apps.sliceshift.io/in-place-update"
)

// RestartedAtAnnotationKey is the annotation that kubectl rollout restart writes on a template to recreate the pods.
const RestartedAtAnnotationKey = "kubectl.kubernetes.io/restartedAt"

// Finalizer delays the deletion of a StatefulSet until its pods have the termination reason. Without it, the garbage
// collector could delete the pods first. A set has the finalizer while any of its pods needs a reason.
const Finalizer = "apps.sliceshift.io/termination-reason"

// SpecifiedDeleteKey is an annotation or label by which a user requests the deletion of a single pod. The controller deletes
// the pod when the budget allows it. The value is "true".
const SpecifiedDeleteKey = "apps.sliceshift.io/specified-delete"

// AskedToGo reports whether a user requested the deletion of a pod.
func AskedToGo(pod *corev1.Pod) bool {
	return pod.Annotations[SpecifiedDeleteKey] == "true" || pod.Labels[SpecifiedDeleteKey] == "true"
}

// PrePullLabelKey is on a pod that pulls the images of an update on a node. The value is the name of the StatefulSet.
const PrePullLabelKey = "apps.sliceshift.io/pre-pull"

// MigratingAnnotationKey is on a StatefulSet while a migration drives it. Scale-downs then delete pods with the reason
// Migration. Updates and specified deletes evict pods. There are no surge pods (maxSurge), and Recreate waits.
const MigratingAnnotationKey = "apps.sliceshift.io/migrating"

// SplitAnnotationKey is on a StatefulSet whose application stays split: another slice, possibly in another cluster, owns
// some of its ordinals. Such a set has no surge pods (maxSurge), because the ordinals above its range may belong to the
// other slice. A migration writes the annotation when it ends with two slices, and NotSplit when it ends with one. The
// condition Split records the value. Removing the annotation does not clear the condition.
const SplitAnnotationKey = "apps.sliceshift.io/split"

// NotSplit is the value of SplitAnnotationKey when no other slice owns ordinals of the application.
const NotSplit = "false"

// SurgeAnnotationKey is on a claim that was created for a surge pod (maxSurge), above the range. The claim is deleted with
// that pod, whatever the retention policy is. It is kept if the ordinal becomes part of the StatefulSet while the pod runs.
const SurgeAnnotationKey = "apps.sliceshift.io/surge"

// RevisionInputsAnnotationKey is on a ControllerRevision that has inputs (spec.revisionInputs). The value is a JSON list of
// their kinds, names and contents. A content is a hash, so the annotation shows no data.
const RevisionInputsAnnotationKey = "apps.sliceshift.io/revision-inputs"

// InputCopyLabelKey is on the copy of a ConfigMap or Secret that pods of a revision refer to. The value is "true".
// InputCopyAnnotationKey holds the name of the object that was copied.
const (
	InputCopyLabelKey      = "apps.sliceshift.io/revision-input"
	InputCopyAnnotationKey = "apps.sliceshift.io/revision-input-of"
)

// MaxUnavailableAnnotationKey is a StatefulSet's share of the disruption budget while a migration moves ordinals of its
// application. The value is a number. An available pod is updated, or deleted on request, only while at most this number of
// pods is unavailable. maxUnavailable applies as well. status.observedMaxUnavailable confirms the value.
const MaxUnavailableAnnotationKey = "apps.sliceshift.io/max-unavailable"

// ShareOf returns the value of MaxUnavailableAnnotationKey, or nil if the annotation is absent. It returns 0, which allows
// no disruption, if the value is not a number.
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

// InPlaceUpdateReady is the readiness gate that is False while a pod is updated in place.
const InPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"

// LifecycleStateLabelKey is the progress of a pod's in-place update or deletion. It is on pods of sets with an in-place
// podUpdatePolicy or with the hook lifecycle.inPlaceUpdate.
const LifecycleStateLabelKey = "apps.sliceshift.io/lifecycle-state"

// LifecycleState is a value of LifecycleStateLabelKey. A pod without the label is Normal.
type LifecycleState string

// The states, with the names that OpenKruise uses.
const (
	// LifecycleNormal means that no update or deletion is in progress.
	LifecycleNormal LifecycleState = "Normal"
	// LifecyclePreparingUpdate means that lifecycle.inPlaceUpdate delays the update, or that the pod is in the grace period,
	// not Ready, before it is patched.
	LifecyclePreparingUpdate LifecycleState = "PreparingUpdate"
	// LifecycleUpdating means that the pod was patched and does not run the new revision yet.
	LifecycleUpdating LifecycleState = "Updating"
	// LifecycleUpdated means that the update is complete, but the labels and finalizers of lifecycle.inPlaceUpdate, which
	// were removed for it, are not restored yet.
	LifecycleUpdated LifecycleState = "Updated"
	// LifecyclePreparingDelete means that the pod has its termination reason. lifecycle.preDelete may delay the deletion.
	LifecyclePreparingDelete LifecycleState = "PreparingDelete"
)

// TerminationReason is the reason why a pod is deleted.
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
	// ConditionProgressing is True while a roll-out makes progress, waits, and when it is complete. It is False after a pod of
	// its revision, or the creation of one, has been late for progressDeadlineSeconds.
	ConditionProgressing = "Progressing"
	// ConditionHeld is True while the controller delays an action on a pod. Its message names the pod and the reason.
	ConditionHeld = "Held"
	// ConditionClaimsBehind is True while claims differ from their templates under volumeClaimUpdateStrategy.type OnDelete. Its
	// message has the command that replaces them.
	ConditionClaimsBehind = "ClaimsBehind"
	// ConditionSplit is True while another slice may own ordinals of the application. See SplitAnnotationKey.
	ConditionSplit = "Split"
	// ConditionFailedCreatePod and ConditionFailedUpdatePod are True while the API server refuses to create a pod, or
	// refuses another write of a pod or its claims.
	ConditionFailedCreatePod = "FailedCreatePod"
	ConditionFailedUpdatePod = "FailedUpdatePod"
	// ConditionReady is True while every ordinal has an available pod at the desired revision, and no other pod remains.
	ConditionReady = "Ready"
	// ConditionReconciling and ConditionStalled are present while Ready is False. Reconciling means that the controller is
	// working. Stalled means that the roll-out has failed, or has the reason ReasonFieldUnreadable. Its message names the pod
	// that is late. Both are absent while the set is paused or being deleted, unless a revision has failed.
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

// ReasonFieldUnreadable is the reason of Stalled when a stored value has the wrong type for its field.
const ReasonFieldUnreadable = "FieldUnreadable"

// ReasonRevisionFailed is the reason of Ready, Progressing and Stalled while status.failedRevision is set (onFailure:
// Rollback).
const ReasonRevisionFailed = "RevisionFailed"

// ReasonRevisionInput is the reason of Ready, Progressing, Reconciling and Stalled while a revision input of the template is
// missing, cannot be read or cannot be copied. No pod is updated then.
const ReasonRevisionInput = "RevisionInputUnavailable"
