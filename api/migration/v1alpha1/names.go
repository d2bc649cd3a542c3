package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Annotations and labels that a migration sets on objects.
const (
	// FenceAnnotationKey is set on both StatefulSets while a migration owns them, and on the volumes that it has
	// written. Its value is "<UID of the Migration>.<epoch>"; see Fence. The API server refuses a late write of an
	// older epoch, because writing a new epoch changes the resourceVersion that the late write carries.
	FenceAnnotationKey = "migration.sliceshift.io/fence"
	// OriginalReclaimPolicyAnnotationKey is set on a PersistentVolume whose reclaim policy a migration set to Retain.
	// Its value is the policy to restore and the UID of that Migration, "Delete <UID>". It applies to that Migration
	// only.
	OriginalReclaimPolicyAnnotationKey = "migration.sliceshift.io/original-reclaim-policy"
	// ReleasedAnnotationKey is set on a PersistentVolume that a mover reads by a claim other than the ordinal's. Its
	// value is the fence under which the volume was bound to that claim. It is also set on a VolumeSnapshot of a
	// volume that was detached from its ordinal.
	ReleasedAnnotationKey = "migration.sliceshift.io/released"
	// SealAnnotationKey is set on a PersistentVolume that replaced another one as its copy. Its value is the digest
	// of the content of both volumes when they were last read. In place, the UID of the Migration follows.
	SealAnnotationKey = "migration.sliceshift.io/seal"
	// VolumeThereAnnotationKey is set on a PersistentVolume whose disk has a PersistentVolume of another name in the
	// other cluster, because there its own name belongs to another disk. Its value is that other name.
	VolumeThereAnnotationKey = "migration.sliceshift.io/volume-there"
	// BudgetAnnotationKey is set on a PodDisruptionBudget that a migration has taken over. Its value is the fence and
	// the content of the last write, such as "<fence> maxUnavailable 0", so that a change by another writer is
	// detected.
	BudgetAnnotationKey = "migration.sliceshift.io/budget"
	// BudgetHandedOver is the value with which a user returns a PodDisruptionBudget that another writer has changed
	// to the migration.
	BudgetHandedOver = "handed-over"
	// AuthorBudgetAnnotationKey is set on a PodDisruptionBudget that a migration writes. Its value is the form in
	// which the author wrote it for the whole application, such as "maxUnavailable 1". While an application stays
	// split, this value defines how many of its replicas may be unavailable.
	AuthorBudgetAnnotationKey = "migration.sliceshift.io/author-budget"
	// OwnerAnnotationKey is set on every object that a migration created. Its value is the UID of that Migration. A
	// rollback deletes only such objects.
	OwnerAnnotationKey = "migration.sliceshift.io/created-by"
	// HeldAnnotationKey is set on the Job of a hook until the Job is allowed to start.
	HeldAnnotationKey = "migration.sliceshift.io/held"
	// OwnerLabelKey is set on every copy of a dependency, with the value of OwnerAnnotationKey.
	OwnerLabelKey = OwnerAnnotationKey
	// OriginAnnotationKey is set on every copy of a dependency; see dependencies.Mark. Its value identifies the
	// original by the UID of the namespace kube-system of its cluster, its namespace, name and UID. It also has the
	// hash of the copied content, and how often the copy had to be restored.
	OriginAnnotationKey = "migration.sliceshift.io/origin"
	// LeftOutAnnotationKey is set by a user on a volume, a StatefulSet, or another object of a former migration whose
	// ordinal every later move must leave out.
	LeftOutAnnotationKey = "migration.sliceshift.io/left-out"
	// MigrationLabelKey is set on the Jobs of a migration's gates and hooks. Its value is the UID of the Migration.
	// The Jobs are kept, so that none runs twice.
	MigrationLabelKey = "migration.sliceshift.io/migration"
	// RehearsalLabelKey is set on every object of a rehearsal. Its value is the ID of the rehearsal, which no other one
	// has. Objects without it are not deleted, unless they are in the namespace of the rehearsal.
	RehearsalLabelKey = "migration.sliceshift.io/rehearsal"
	// WriterAnnotationKey is set on a resource whose controller writes the source and was paused for the move. Its
	// value is the fence of that write. It is removed when the setting is restored.
	WriterAnnotationKey = "migration.sliceshift.io/paused-for"
	// TemplateAnnotationKey is set on a destination that a migration created. Its value is the hash of the source's
	// pod template that was copied. A user who updates the destination to a later template in another form writes the
	// hash of that template.
	TemplateAnnotationKey = "migration.sliceshift.io/template"
	// AutomaticRollbackAnnotationKey is set on a Migration whose spec.mode was set to Rollback automatically. Its
	// value is the time of the status.automaticRollback that caused it. Annotation and mode are one write, so a mode
	// Run beside it was set later.
	AutomaticRollbackAnnotationKey = "migration.sliceshift.io/automatic-rollback"
	// ClaimFinalizer keeps a claim of an ordinal whose volumes are being replaced, until a volume is reserved for its name.
	// While the claim is being deleted, no pod of the ordinal starts.
	ClaimFinalizer = "migration.sliceshift.io/replaced"
	// PokeAnnotationKey is set on a StatefulSet so that its controller reconciles it. Its value is the UID of the claim
	// whose end was awaited, and a time.
	PokeAnnotationKey = "migration.sliceshift.io/poked-for"
	// EvacuationLabelKey is set on a Migration by its author. Its value is the name of the Evacuation that may begin,
	// pause and roll back the Migration.
	EvacuationLabelKey = "migration.sliceshift.io/evacuation"
	// EvacuationHeldAnnotationKey is set on a Migration in mode Pause whose Evacuation sets mode Run at its turn. Its
	// value is the name of the Evacuation. The value of one in mode Rollback ends with EvacuationRolledBackSuffix. A
	// Migration that was paused or rolled back without it is not resumed by its Evacuation.
	EvacuationHeldAnnotationKey = "migration.sliceshift.io/held-by-evacuation"
	// EvacuationRolledBackSuffix follows the name of the Evacuation that has rolled a Migration back.
	EvacuationRolledBackSuffix = "/Rollback"
	// Finalizer keeps a Migration until both StatefulSets are released.
	Finalizer = "migration.sliceshift.io/release"
	// FieldManager is the field manager of every write of a migration.
	FieldManager = "sliceshift"
)

// Condition types of a Migration.
const (
	// ConditionAccepted is True when the migration may start: the source, the destination and the rights were
	// checked.
	ConditionAccepted = "Accepted"
	// ConditionReady is True when every selected ordinal runs at the destination. A migration that ended otherwise,
	// such as by a rollback, is never Ready, because a program that waits for it may delete the old cluster next.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the migration is in progress, waits or is paused; else it is absent. It is
	// also absent while the migration is stalled, because kstatus takes it for progress.
	ConditionReconciling = "Reconciling"
	// ConditionProgressing is True while ordinals are moving or can move.
	ConditionProgressing = "Progressing"
	// ConditionStalled is True when something outside the migration must change first. The reason is stable; the
	// message names the object and the fix.
	ConditionStalled = "Stalled"
	// ConditionAheadHeld is True while the copies of a later ordinal are blocked because a cluster refuses a write or
	// one of their pods does not start; else it is absent. The current handoff does not wait for them. The reason is
	// the one with which the move would stall at that ordinal's turn. The message names the object and the fix.
	ConditionAheadHeld = "AheadHeld"
	// ConditionCompleted is True when every selected ordinal has arrived, the settings changed for the move are
	// restored and both StatefulSets are released. It is False, with its final reason, during that last step.
	ConditionCompleted = "Completed"
)

// FenceOwner returns the UID of the Migration that wrote a fence, of the form <uid>.<epoch>.
func FenceOwner(fence string) types.UID {
	owner, _, _ := strings.Cut(fence, ".")
	return types.UID(owner)
}
