package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MigrationStatus holds observations, and records that cannot be observed again.
type MigrationStatus struct {
	// conditions: Ready, Reconciling, Accepted, Progressing, Stalled, Completed; AheadHeld while copies for a later
	// ordinal, or the proof of the copy of an earlier one, are blocked.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state summarizes the migration in one word.
	// +optional
	State State `json:"state,omitempty"`
	// progress is the number of ordinals that have arrived and the number that move, such as 2/5.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`
	// now describes the current action or wait in one short sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Now string `json:"now,omitempty"`
	// baseline records the state of both sides before the first write.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
	// fence identifies the process that drives the migration, and the direction.
	// +optional
	Fence *Fence `json:"fence,omitempty"`
	// heartbeat is the last sign of life of the process that drives the migration. It is absent when none is needed.
	// +optional
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`
	// handoff is the handoff in progress, if any. Of several, it is the one of the ordinal that moves first in
	// spec.ordinals.order.
	// +optional
	Handoff *Handoff `json:"handoff,omitempty"`
	// furtherHandoffs are the other handoffs in progress, in that order. See spec.handoff.maxInFlight.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	FurtherHandoffs []Handoff `json:"furtherHandoffs,omitempty"`
	// storage is the record of a migration in place.
	// +optional
	Storage *StorageStatus `json:"storage,omitempty"`
	// ahead lists the ordinals whose volumes are copied before their turn.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Ahead []CopyAhead `json:"ahead,omitempty"`
	// proofs lists the ordinals that run on copies with verify: Later whose sources are not read whole yet, or differ.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Proofs []CopyAhead `json:"proofs,omitempty"`
	// lastAttempt is the highest number of any attempt to copy a volume.
	// +optional
	LastAttempt int32 `json:"lastAttempt,omitempty"`
	// turnedBack is the ordinal that was rolled back because its copy took longer than copy.downtimeLimit. No ordinal
	// is stopped until that limit is changed.
	// +optional
	TurnedBack *CopyTurnedBack `json:"turnedBack,omitempty"`
	// staleSince is the time since which source, destination and moved are out of date because a side does not
	// answer; absent while both sides answer.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
	// startWithdrawn is the last start that the migration has undone because another writer started the same ordinal
	// on the other side. It is kept until spec.mode is Pause. Until then no handoff starts.
	// +optional
	StartWithdrawn *StartWithdrawn `json:"startWithdrawn,omitempty"`
	// automaticRollback is the reason for an automatic rollback: a gate or a hook with onFailure: Rollback has
	// failed. It is kept until spec.mode is Pause. While it is set, mode Run starts no handoff, even if a user sets
	// it.
	// +optional
	AutomaticRollback *AutomaticRollback `json:"automaticRollback,omitempty"`
	// pace is the duration of handoffs; absent until an ordinal has arrived at the destination.
	// +optional
	Pace *Pace `json:"pace,omitempty"`
	// history records past handoffs, stops, drivers and seals.
	// +optional
	History *History `json:"history,omitempty"`
	// probe holds the measurements of spec.probe; absent before the first one.
	// +optional
	Probe *ProbeStatus `json:"probe,omitempty"`
	// schedule is the position in spec.schedule; absent while the schedule does not decide about the next handoff.
	// +optional
	Schedule *ScheduleStatus `json:"schedule,omitempty"`
	// pausedWriters lists the writers of the source that were paused for the move, with their original settings.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PausedWriters []PausedWriter `json:"pausedWriters,omitempty"`
	// owedCopies lists copies of dependencies that were deleted, or are about to be, because they are immutable and
	// must be replaced. Their replacements are created in every mode, as long as the destination has pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	OwedCopies []OwedCopy `json:"owedCopies,omitempty"`
	// gates lists the gates of spec.gates that apply now.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Gates []GateStatus `json:"gates,omitempty"`
	// hooks lists the runs of spec.hooks that must be remembered, in the order in which they are due.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Hooks []HookRun `json:"hooks,omitempty"`
	// hookTurns counts how often a migration with hooks has changed direction or restarted. Hooks of another turn run
	// as other Jobs.
	// +optional
	HookTurns int32 `json:"hookTurns,omitempty"`
	// source is the last observed state of the source slice.
	// +optional
	Source *SliceStatus `json:"source,omitempty"`
	// destination is the last observed state of the destination slice.
	// +optional
	Destination *SliceStatus `json:"destination,omitempty"`
	// moved is the number of ordinals that have arrived. An ordinal in a handoff counts only while it moves back.
	// +optional
	Moved int32 `json:"moved"`
	// total is the number of ordinals that the migration moves.
	// +optional
	Total int32 `json:"total"`
	// warnings are findings of the checks before the first write that did not refuse the migration. The list is
	// truncated; kubectl migrate preflight prints all. It is not updated after the migration was accepted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Warnings []Warning `json:"warnings,omitempty"`
}

// State summarizes a migration in one word.
//
// +kubebuilder:validation:Enum=Waiting;Refused;Moving;RollingBack;Recovering;Pausing;Paused;Stalled;Moved;RolledBack;Recovered;Released
type State string

// Warning is a finding of one check before the first write that did not refuse the migration.
type Warning struct {
	// check is the name of the check; docs/preflight.md has a heading for each.
	// +kubebuilder:validation:MaxLength=253
	Check string `json:"check"`
	// reason is an identifier that does not change between versions.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// object is the object and its cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Object string `json:"object,omitempty"`
	// message describes the finding and its risk.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// remedy is the fix, as a command if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Remedy string `json:"remedy,omitempty"`
}

// Baseline records facts that cannot be observed any more after the first ordinal has moved.
type Baseline struct {
	// start is the first ordinal of the application.
	Start int32 `json:"start"`
	// replicas of the whole application: those of the source, and of a destination that already owned the other
	// ordinals.
	Replicas int32 `json:"replicas"`
	// destinationReplicas is how many of them the destination owned before the migration.
	// +optional
	DestinationReplicas int32 `json:"destinationReplicas,omitempty"`
	// budget is the disruption budget d of the whole application.
	Budget int32 `json:"budget"`
	// sourceCluster is the UID of the namespace kube-system of the source's cluster.
	SourceCluster types.UID `json:"sourceCluster"`
	// destinationCluster is the UID of the namespace kube-system of the destination's
	// cluster.
	DestinationCluster types.UID `json:"destinationCluster"`
	// sourceUID is the UID of the source StatefulSet.
	SourceUID types.UID `json:"sourceUID"`
	// destinationUID is the UID of the destination StatefulSet; absent until the first handoff is about to start.
	// +optional
	DestinationUID types.UID `json:"destinationUID,omitempty"`
	// budgetsTakenTime is no longer written: sourceBudget and destinationBudget replace it. Records of older versions
	// contain it.
	// +optional
	BudgetsTakenTime *metav1.Time `json:"budgetsTakenTime,omitempty"`
	// disruptionBudget is the PodDisruptionBudget in the form that its author wrote last; absent without one.
	// +optional
	DisruptionBudget *DisruptionBudget `json:"disruptionBudget,omitempty"`
	// sourceBudget is the version of the source's PodDisruptionBudget whose form was recorded last.
	// +optional
	SourceBudget *BudgetVersion `json:"sourceBudget,omitempty"`
	// destinationBudget is the version of the destination's PodDisruptionBudget whose form was recorded last.
	// +optional
	DestinationBudget *BudgetVersion `json:"destinationBudget,omitempty"`
	// volumes records, for each claim template, how its data moves, as specified at acceptance. Method and storage
	// class remain the same for the whole move and its rollback, even if spec.volumes changes.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	// +kubebuilder:validation:MaxItems=256
	Volumes []VolumeSpec `json:"volumes,omitempty"`
	// services records how clients find the pods, as specified at acceptance. It remains the same for the whole move
	// and its rollback, even if spec.services changes. A record of an older version lacks it; the value of
	// spec.services is then recorded when a process next takes the migration over.
	// +optional
	Services *ServicesSpec `json:"services,omitempty"`
	// defaultStorageClass is the default StorageClass at acceptance, for a migration in place whose claim templates name
	// none. They mean this class until the migration ends, even if another one becomes the default.
	// +optional
	DefaultStorageClass string `json:"defaultStorageClass,omitempty"`
	// startTime is when the migration was accepted.
	StartTime metav1.Time `json:"startTime"`
}

// BudgetVersion identifies a PodDisruptionBudget and its spec at one moment.
type BudgetVersion struct {
	// uid of the PodDisruptionBudget.
	UID types.UID `json:"uid"`
	// generation of the PodDisruptionBudget.
	Generation int64 `json:"generation"`
	// taken is true while the PodDisruptionBudget is observed with the migration's annotation, until it is restored.
	// +optional
	Taken bool `json:"taken,omitempty"`
}

// DisruptionBudget is a PodDisruptionBudget as its author wrote it.
type DisruptionBudget struct {
	// name of the PodDisruptionBudget.
	Name string `json:"name"`
	// minAvailable of the PodDisruptionBudget, as its author wrote it.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// maxUnavailable of the PodDisruptionBudget, as its author wrote it.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Direction is the direction in which ordinals move.
//
// +kubebuilder:validation:Enum=Forward;Back
type Direction string

// The directions.
const (
	// Forward is from the source to the destination.
	Forward Direction = "Forward"
	// Back is from the destination to the source.
	Back Direction = "Back"
)

// Fence identifies the process that drives the migration. A new epoch is written to both StatefulSets before that
// process starts or stops anything.
type Fence struct {
	// epoch increases whenever another process takes over or the direction changes.
	Epoch int64 `json:"epoch"`
	// holder is the identity of the process.
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder"`
	// direction in which ordinals move during this epoch.
	Direction Direction `json:"direction"`
}

// Heartbeat is a sign of life of the process that drives the migration.
type Heartbeat struct {
	// time of the heartbeat, by the clock of the API server that stores the migration. It is updated with every write
	// of the status, and at least every 15 seconds.
	Time metav1.Time `json:"time"`
	// mode that the process acts on.
	// +optional
	Mode Mode `json:"mode,omitempty"`
}

// Step is a step of a handoff.
type Step string

// The steps of a handoff, in their order.
const (
	// StepGate waits until all other replicas are available and no roll-out runs.
	StepGate Step = "Gate"
	// StepCopyAhead copies volumes while the ordinal runs, for method Copy.
	StepCopyAhead Step = "CopyAhead"
	// StepReserveBudget shrinks the PodDisruptionBudgets and waits for confirmation.
	StepReserveBudget Step = "ReserveBudget"
	// StepSecureVolumes sets the ordinal's volumes to Retain.
	StepSecureVolumes Step = "SecureVolumes"
	// StepScaleDown removes the ordinal from the slice that gives it.
	StepScaleDown Step = "ScaleDown"
	// StepAwaitRelease waits until the pod and the attachments of its volumes do not exist any more.
	StepAwaitRelease Step = "AwaitRelease"
	// StepCarryVolumes points the volumes at the claims of the slice that takes the ordinal.
	StepCarryVolumes Step = "CarryVolumes"
	// StepScaleUp adds the ordinal to the slice that takes it.
	StepScaleUp Step = "ScaleUp"
	// StepAwaitReadiness waits until the pod is available.
	StepAwaitReadiness Step = "AwaitReadiness"
	// StepProveCopy reads what an ordinal has left, after its handoff. The status has it in no handoff.
	StepProveCopy Step = "ProveCopy"
)

// Handoff is the move of one ordinal, in progress.
type Handoff struct {
	// ordinal that moves.
	Ordinal int32 `json:"ordinal"`
	// step of the handoff, as last reported.
	// +optional
	Step Step `json:"step,omitempty"`
	// stepTime is when that step was first reported.
	// +optional
	StepTime metav1.MicroTime `json:"stepTime,omitempty,omitzero"`
	// steps records when each step was first reported since the ordinal was stopped or its direction changed. A step
	// that is left and entered again counts from its first report.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Steps []StepStart `json:"steps,omitempty"`
	// startTime is when this handoff started, or last changed its direction.
	StartTime metav1.MicroTime `json:"startTime"`
	// attempts counts the starts, changes of direction and takeovers of this handoff.
	Attempts int32 `json:"attempts"`
	// fewestAvailable is the lowest number of available replicas, of both sides together, observed since startTime.
	// +optional
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// load lists the resources that it shares with the handoffs of other migrations.
	// +optional
	Load *HandoffLoad `json:"load,omitempty"`
	// volumes are the ordinal's volumes at the start of its handoff. The ordinal has arrived when it runs on them
	// again. A claim may meanwhile be deleted, and recreated with an empty volume.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	Volumes []HandoffVolume `json:"volumes,omitempty"`
}

// StepStart is the time at which a handoff reached a step.
type StepStart struct {
	// step of the handoff.
	Step Step `json:"step"`
	// time at which the step was first reported.
	Time metav1.MicroTime `json:"time"`
}

// HandoffLoad lists the resources that a handoff shares with the handoffs of other migrations.
type HandoffLoad struct {
	// cluster that the ordinal leaves: the UID of its namespace kube-system.
	// +optional
	Cluster types.UID `json:"cluster,omitempty"`
	// node that it leaves.
	// +optional
	Node string `json:"node,omitempty"`
	// storageClasses of its volumes there.
	// +optional
	// +listType=atomic
	StorageClasses []string `json:"storageClasses,omitempty"`
}

// HandoffVolume is the volume of one claim of the moving ordinal.
type HandoffVolume struct {
	// claimTemplate is the volumeClaimTemplate of the claim.
	ClaimTemplate string `json:"claimTemplate"`
	// name of the PersistentVolume.
	Name string `json:"name"`
	// disk identifies the disk behind the volume. It is a digest of the driver and handle, or of the whole volume
	// source.
	// +optional
	Disk string `json:"disk,omitempty"`
	// copy is the progress of its second volume, for methods Copy and Snapshot.
	// +optional
	Copy CopyAttempt `json:"copy,omitempty,omitzero"`
	// left lists the pods that may have mounted the volume when it was detached from the ordinal's claim.
	// +optional
	Left LeftVolume `json:"left,omitempty,omitzero"`
}

// LeftVolume is a list of pods, read after no pod could mount a volume by its former claim any more.
type LeftVolume struct {
	// side is the side that the volume was detached from: source or destination.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Side string `json:"side,omitempty"`
	// pods are those that referenced the claim and were scheduled to a node, as name/UID, separated by commas; empty
	// if there were none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Pods string `json:"pods,omitempty"`
}

// Volume returns the volume that the ordinal had for a claim template. Its name is empty if the volume is not known.
func (h *Handoff) Volume(claimTemplate string) HandoffVolume {
	for _, v := range h.Volumes {
		if v.ClaimTemplate == claimTemplate {
			return v
		}
	}
	return HandoffVolume{}
}

// SliceStatus is the last observed state of one slice.
type SliceStatus struct {
	// slice is the StatefulSet and its ordinals in readable form: "shop/web [0,3)".
	// +optional
	Slice string `json:"slice,omitempty"`
	// start is the first ordinal.
	Start int32 `json:"start"`
	// replicas is how many ordinals the slice owns.
	Replicas int32 `json:"replicas"`
	// available is how many of them are available.
	Available int32 `json:"available"`
	// maxUnavailable is how many evictions the slice's PodDisruptionBudget allows at most; absent without one.
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// StartWithdrawn is a start of an ordinal that the migration has undone.
type StartWithdrawn struct {
	// ordinal that ran on both sides.
	Ordinal int32 `json:"ordinal"`
	// by is the field manager that started it on the other side.
	// +kubebuilder:validation:MaxLength=256
	By string `json:"by"`
	// time is when the conflict was found.
	Time metav1.Time `json:"time"`
}
