package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MigrationStatus is what was found, and what cannot be found again.
type MigrationStatus struct {
	// conditions: Ready, Reconciling, Accepted, Progressing, Stalled, Completed; AheadHeld while the copies of an ordinal whose turn is to
	// come do not go on.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state is how the migration stands, in one word.
	// +optional
	State State `json:"state,omitempty"`
	// progress is how many ordinals have arrived, of how many that are to: 2/5.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`
	// now describes the current action or wait in one short sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Now string `json:"now,omitempty"`
	// baseline is what the world looked like before the first write.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`
	// claim says which process drives the migration, in which direction.
	// +optional
	Fence *Fence `json:"fence,omitempty"`
	// heartbeat is the last sign of the process that drives the migration, while one needs to.
	// +optional
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`
	// handoff is the ordinal on its way, if any.
	// +optional
	Handoff *Handoff `json:"handoff,omitempty"`
	// ahead are the ordinals whose volumes are copied before it is their turn.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Ahead []CopyAhead `json:"ahead,omitempty"`
	// lastAttempt is the highest number that an attempt to copy a volume has had.
	// +optional
	LastAttempt int32 `json:"lastAttempt,omitempty"`
	// turnedBack is the ordinal that was taken back because its copy took longer than copy.downtimeLimit. None is stopped
	// until that says something else.
	// +optional
	TurnedBack *CopyTurnedBack `json:"turnedBack,omitempty"`
	// staleSince is since when source, destination and moved are as they were then, because not both sides answer; absent while they do.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
	// startWithdrawn is the last start that the migration has taken back, because another writer has started the same ordinal on
	// the other side. It is kept until spec.mode is Pause: until then no handoff begins.
	// +optional
	StartWithdrawn *StartWithdrawn `json:"startWithdrawn,omitempty"`
	// automaticRollback is why the migration was turned back by itself, because a gate or a hook with onFailure: Rollback has
	// failed. It is kept until spec.mode is Pause: as long as it is there, the mode Run begins no handoff, whoever writes it.
	// +optional
	AutomaticRollback *AutomaticRollback `json:"automaticRollback,omitempty"`
	// pace is how long handoffs took; absent until one has come to the destination.
	// +optional
	Pace *Pace `json:"pace,omitempty"`
	// history is what the migration has done.
	// +optional
	History *History `json:"history,omitempty"`
	// probe is what clients see, as spec.probe measures it; absent: nothing was asked yet.
	// +optional
	Probe *ProbeStatus `json:"probe,omitempty"`
	// schedule is where the migration is in its schedule, while that decides about the next handoff.
	// +optional
	Schedule *ScheduleStatus `json:"schedule,omitempty"`
	// pausedWriters are who else writes the source and was paused for the move, with the settings as they
	// were.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PausedWriters []PausedWriter `json:"pausedWriters,omitempty"`
	// owedCopies are copies of what pods need that were deleted, or are about to be, for new ones to be created in their place: those
	// that cannot be changed. They are created whatever the mode is by then, as long as the destination has pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	OwedCopies []OwedCopy `json:"owedCopies,omitempty"`
	// gates are those of spec.gates that are asked now.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Gates []GateStatus `json:"gates,omitempty"`
	// hooks are the runs of spec.hooks that must not be forgotten, in the order in which they are due.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Hooks []HookRun `json:"hooks,omitempty"`
	// hookTurns is how often a migration with hooks has turned, or begun anew: what is run on another
	// turn is another Job.
	// +optional
	HookTurns int32 `json:"hookTurns,omitempty"`
	// source is the source slice as it was last seen.
	// +optional
	Source *SliceStatus `json:"source,omitempty"`
	// destination is the destination slice as it was last seen.
	// +optional
	Destination *SliceStatus `json:"destination,omitempty"`
	// moved is how many ordinals have arrived: without the one in flight, unless that is on the way back.
	// +optional
	Moved int32 `json:"moved"`
	// total is how many ordinals are to be moved.
	// +optional
	Total int32 `json:"total"`
	// warnings are what the checks before the first write have found and did not refuse, as many of
	// them as there is room for: kubectl migrate preflight has all. They stay as they were when the
	// migration was accepted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Warnings []Warning `json:"warnings,omitempty"`
}

// State is how a migration stands, in one word.
//
// +kubebuilder:validation:Enum=Waiting;Refused;Moving;RollingBack;Recovering;Pausing;Paused;Stalled;Moved;RolledBack;Recovered;Released
type State string

// Warning is what one check before the first write has found and did not refuse.
type Warning struct {
	// check that has found it; docs/preflight.md has a heading for each.
	// +kubebuilder:validation:MaxLength=253
	Check string `json:"check"`
	// reason is a word that stays the same from one version to the next.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// object names the object and its cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Object string `json:"object,omitempty"`
	// message says what was found and why it is unsafe.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// remedy is what mends it, a command where there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Remedy string `json:"remedy,omitempty"`
}

// Baseline is what cannot be observed again once the first ordinal has moved.
type Baseline struct {
	// start is the first ordinal of the application.
	Start int32 `json:"start"`
	// replicas of the whole application: of the source, and of a destination that owned
	// the rest of it already.
	Replicas int32 `json:"replicas"`
	// destinationReplicas is how many of them the destination owned before.
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
	// destinationUID is the UID of the destination StatefulSet; absent until the first
	// ordinal is about to move.
	// +optional
	DestinationUID types.UID `json:"destinationUID,omitempty"`
	// budgetsTakenTime is not written any more: sourceBudget and destinationBudget have replaced it. Records of
	// older versions have it.
	// +optional
	BudgetsTakenTime *metav1.Time `json:"budgetsTakenTime,omitempty"`
	// disruptionBudget is the PodDisruptionBudget in the form that its author wrote last; absent when there
	// is none.
	// +optional
	DisruptionBudget *DisruptionBudget `json:"disruptionBudget,omitempty"`
	// sourceBudget is the version of the source's PodDisruptionBudget whose form was recorded last.
	// +optional
	SourceBudget *BudgetVersion `json:"sourceBudget,omitempty"`
	// destinationBudget is the version of the destination's PodDisruptionBudget whose form was recorded last.
	// +optional
	DestinationBudget *BudgetVersion `json:"destinationBudget,omitempty"`
	// volumes are how the data of each claim template moves, as it was asked for when the migration was accepted.
	// Methods and storage classes stay those for the whole move and its way back, whatever spec.volumes says since.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	// +kubebuilder:validation:MaxItems=256
	Volumes []VolumeSpec `json:"volumes,omitempty"`
	// services are what is made so that clients find the pods, as it was asked for when the migration was accepted. They stay
	// those for the whole move and its way back, whatever spec.services says since. A record of an older version lacks them:
	// they are what spec.services says when the migration is taken over next.
	// +optional
	Services *ServicesSpec `json:"services,omitempty"`
	// startTime is when the migration was accepted.
	StartTime metav1.Time `json:"startTime"`
}

// BudgetVersion identifies a PodDisruptionBudget and its spec at one moment.
type BudgetVersion struct {
	// uid of the PodDisruptionBudget.
	UID types.UID `json:"uid"`
	// generation of the PodDisruptionBudget.
	Generation int64 `json:"generation"`
	// taken is true from when the PodDisruptionBudget was seen with the mark of the migration until it is given back.
	// +optional
	Taken bool `json:"taken,omitempty"`
}

// DisruptionBudget is a PodDisruptionBudget as its author wrote it.
type DisruptionBudget struct {
	// name of the PodDisruptionBudget.
	Name string `json:"name"`
	// minAvailable as it was written.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// maxUnavailable as it was written.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Direction is the way that ordinals take.
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

// Fence says which process drives the migration. A new epoch is written to both
// StatefulSets before anything is started or stopped in its name.
type Fence struct {
	// epoch grows by one whenever another process takes over or the direction turns.
	Epoch int64 `json:"epoch"`
	// holder is the identity of the process.
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder"`
	// direction is the way that ordinals take in this epoch.
	Direction Direction `json:"direction"`
}

// Heartbeat is a sign of the process that drives the migration.
type Heartbeat struct {
	// time when the process wrote it, by the clock of the API server that keeps the migration. Each write of the status has a new one,
	// and every 15 seconds there is one.
	Time metav1.Time `json:"time"`
	// mode that the process acts upon.
	// +optional
	Mode Mode `json:"mode,omitempty"`
}

// Step is where an ordinal is on its way.
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
	// StepScaleDown takes the ordinal out of the slice that gives it.
	StepScaleDown Step = "ScaleDown"
	// StepAwaitRelease waits until the pod and the attachments of its volumes are gone.
	StepAwaitRelease Step = "AwaitRelease"
	// StepCarryVolumes points the volumes at the claims of the slice that takes the ordinal.
	StepCarryVolumes Step = "CarryVolumes"
	// StepScaleUp adds the ordinal to the slice that takes it.
	StepScaleUp Step = "ScaleUp"
	// StepAwaitReadiness waits until the pod is available.
	StepAwaitReadiness Step = "AwaitReadiness"
)

// Handoff is the ordinal on its way.
type Handoff struct {
	// ordinal on its way.
	Ordinal int32 `json:"ordinal"`
	// step that the ordinal is at, as it was last reported.
	// +optional
	Step Step `json:"step,omitempty"`
	// stepTime is when that step was first reported.
	// +optional
	StepTime metav1.MicroTime `json:"stepTime,omitempty,omitzero"`
	// steps are when each step was first reported since the ordinal was stopped, or turned round: a step that is left and comes again has
	// taken time all the while.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Steps []StepStart `json:"steps,omitempty"`
	// startTime is when this ordinal's handoff began, or was turned round.
	StartTime metav1.MicroTime `json:"startTime"`
	// attempts counts how often the handoff was begun, turned round or taken over.
	Attempts int32 `json:"attempts"`
	// fewestAvailable is the fewest replicas of both sides that were seen to be available since then.
	// +optional
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// load is what it uses that the handoffs of other migrations use, too.
	// +optional
	Load *HandoffLoad `json:"load,omitempty"`
	// volumes are those that the ordinal had when its handoff began: it arrives when it
	// runs on them again. A claim may be deleted meanwhile, and made again on an empty volume.
	// +optional
	// +listType=map
	// +listMapKey=claimTemplate
	Volumes []HandoffVolume `json:"volumes,omitempty"`
}

// StepStart is when a handoff came to a step.
type StepStart struct {
	// step of the handoff.
	Step Step `json:"step"`
	// time when it was first reported.
	Time metav1.MicroTime `json:"time"`
}

// HandoffLoad is what a handoff uses that the handoffs of other migrations use, too.
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

// HandoffVolume is the volume of one claim of the ordinal on its way.
type HandoffVolume struct {
	// claimTemplate is the volumeClaimTemplate that the claim was made from.
	ClaimTemplate string `json:"claimTemplate"`
	// name is the PersistentVolume's.
	Name string `json:"name"`
	// disk tells the disk behind it from every other one: a digest of its driver and
	// handle, or of its whole source.
	// +optional
	Disk string `json:"disk,omitempty"`
	// copy is how far its second volume is, for methods Copy and Snapshot.
	// +optional
	Copy CopyAttempt `json:"copy,omitempty,omitzero"`
	// left lists the pods that could have the volume when it was taken from the ordinal's claim.
	// +optional
	Left LeftVolume `json:"left,omitempty,omitzero"`
}

// LeftVolume is a list of pods that was read once no pod could mount a volume by its former claim.
type LeftVolume struct {
	// side is the side that the volume was taken from: source or destination.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Side string `json:"side,omitempty"`
	// pods are those that named the claim and had a node, as name/UID, separated by commas; empty: there were none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Pods string `json:"pods,omitempty"`
}

// Volume is the volume that the ordinal had for a claim template; its name is empty when it
// is not known.
func (h *Handoff) Volume(claimTemplate string) HandoffVolume {
	for _, v := range h.Volumes {
		if v.ClaimTemplate == claimTemplate {
			return v
		}
	}
	return HandoffVolume{}
}

// SliceStatus is one slice as it was last seen.
type SliceStatus struct {
	// slice is the StatefulSet and its ordinals, for people: "shop/web [0,3)".
	// +optional
	Slice string `json:"slice,omitempty"`
	// start is the first ordinal.
	Start int32 `json:"start"`
	// replicas is how many ordinals the slice owns.
	Replicas int32 `json:"replicas"`
	// available is how many of them are available.
	Available int32 `json:"available"`
	// maxUnavailable is how many evictions the slice's PodDisruptionBudget allows at
	// most; absent without one.
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// StartWithdrawn is a start of an ordinal that the migration has taken back.
type StartWithdrawn struct {
	// ordinal that ran on both sides.
	Ordinal int32 `json:"ordinal"`
	// by is the field manager that has started it on the other side.
	// +kubebuilder:validation:MaxLength=256
	By string `json:"by"`
	// time is when it was found.
	Time metav1.Time `json:"time"`
}
