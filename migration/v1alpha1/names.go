package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Annotations and labels that a migration puts on the objects it touches.
const (
	// FenceAnnotationKey is on both StatefulSets while a migration owns them, and on
	// the volumes that it has written. Its value is "<UID of the Migration>.<epoch>";
	// see Fence. A writer that acts on an older epoch is refused by the API server,
	// because writing a new epoch changes the resourceVersion that the late write
	// carries.
	FenceAnnotationKey = "migration.sliceshift.io/fence"
	// OriginalReclaimPolicyAnnotationKey is on a PersistentVolume whose reclaim
	// policy a migration set to Retain. Its value is the policy to go back to and the UID
	// of that Migration, "Delete <UID>": it counts for that one alone.
	OriginalReclaimPolicyAnnotationKey = "migration.sliceshift.io/original-reclaim-policy"
	// ReleasedAnnotationKey is on a PersistentVolume that is read by a mover, and not under the name of its
	// ordinal: the fence under which it was pointed elsewhere for that.
	ReleasedAnnotationKey = "migration.sliceshift.io/released"
	// SealAnnotationKey is on a PersistentVolume that was taken over as a copy: the digest of all that was
	// on it and on the volume that was copied, when both were read for the last time.
	SealAnnotationKey = "migration.sliceshift.io/seal"
	// VolumeThereAnnotationKey is on a PersistentVolume whose disk has one of another name in the other cluster, because
	// there its own name was that of another disk: the name of that one.
	VolumeThereAnnotationKey = "migration.sliceshift.io/volume-there"
	// BudgetAnnotationKey is on a PodDisruptionBudget that a migration has taken
	// over. Its value is the fence under which it was written and what was written,
	// such as "<fence> maxUnavailable 0", so that a change by somebody else is noticed.
	BudgetAnnotationKey = "migration.sliceshift.io/budget"
	// BudgetHandedOver is the value by which a person gives a PodDisruptionBudget that
	// somebody has changed back to the migration.
	BudgetHandedOver = "handed-over"
	// AuthorBudgetAnnotationKey is on a PodDisruptionBudget that a migration writes: the
	// form in which its author wrote it for the whole application, such as
	// "maxUnavailable 1". While an application stays split it is what says how many of
	// its replicas may be unavailable.
	AuthorBudgetAnnotationKey = "migration.sliceshift.io/author-budget"
	// OwnerAnnotationKey is on every object that a migration created: the UID of
	// that Migration. Only such objects are ever deleted when it rolls back.
	OwnerAnnotationKey = "migration.sliceshift.io/created-by"
	// HeldAnnotationKey is on the Job of a hook until it is let begin.
	HeldAnnotationKey = "migration.sliceshift.io/held"
	// OwnerLabelKey is on every copy of a dependency, with the same value.
	OwnerLabelKey = OwnerAnnotationKey
	// OriginAnnotationKey is on every copy of a dependency: the UID of the namespace kube-system of
	// its origin's cluster, its namespace and name, its UID, the hash of its content as it was copied,
	// and how often the copy had to be put back; see dependencies.Mark.
	OriginAnnotationKey = "migration.sliceshift.io/origin"
	// LeftOutAnnotationKey is on a volume, on a StatefulSet, or on another object of a former migration, whose ordinal a person leaves out of every later move on purpose.
	LeftOutAnnotationKey = "migration.sliceshift.io/left-out"
	// MigrationLabelKey is on the Jobs of a migration's gates and hooks: its UID. They are kept, so that none
	// is run twice.
	MigrationLabelKey = "migration.sliceshift.io/migration"
	// WriterAnnotationKey is on a resource whose controller writes the source and was paused for the move: the
	// fence under which that was done. It is taken off when the setting is given back.
	WriterAnnotationKey = "migration.sliceshift.io/paused-for"
	// TemplateAnnotationKey is on a destination that a migration created: the hash of the
	// source's pod template that it is a copy of. Whoever has brought the destination up
	// to a later one in another form writes that one's hash.
	TemplateAnnotationKey = "migration.sliceshift.io/template"
	// AutomaticRollbackAnnotationKey is on a Migration whose spec.mode was set to Rollback by itself: the time of the
	// status.automaticRollback for which it was. Both are one write, so that a mode that is Run all the same was written since.
	AutomaticRollbackAnnotationKey = "migration.sliceshift.io/automatic-rollback"
	// Finalizer keeps a Migration until its claim on both StatefulSets is released.
	Finalizer = "migration.sliceshift.io/release"
	// FieldManager is the name under which every write of ours is recorded.
	FieldManager = "sliceshift"
)

// Condition types of a Migration.
const (
	// ConditionAccepted says whether the migration may begin: the source, the
	// destination and the rights were checked.
	ConditionAccepted = "Accepted"
	// ConditionReady is True once every ordinal that was asked for runs at the destination. A migration that ended otherwise, as
	// by a rollback, is never Ready: whatever waits for it, as to remove the old cluster, must not go on.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the migration is under way, or waits or is paused; else it is absent. While it is stalled it
	// is absent, too, because tools that wait (kstatus) take that for under way.
	ConditionReconciling = "Reconciling"
	// ConditionProgressing is True while ordinals are moving or can move.
	ConditionProgressing = "Progressing"
	// ConditionStalled is True when something outside must change first; the
	// reason is stable and the message names the object and the way out.
	ConditionStalled = "Stalled"
	// ConditionAheadHeld is True while the copies of an ordinal whose turn is to come do not go on: a cluster refuses
	// what is next of them, or a pod of theirs does not start; else it is absent. Nothing that is under way waits for them: the reason is that for which the move would
	// stall when it is that ordinal's turn, and the message names the object and the way out.
	ConditionAheadHeld = "AheadHeld"
	// ConditionCompleted is True when every ordinal that was asked for is where it
	// should be, what had been changed for the move is restored and both StatefulSets
	// are let go. It is False, with its final reason, while that last step is done.
	ConditionCompleted = "Completed"
)

// FenceOwner is the UID of the Migration that wrote a fence, of the form <uid>.<epoch>.
func FenceOwner(fence string) types.UID {
	owner, _, _ := strings.Cut(fence, ".")
	return types.UID(owner)
}
