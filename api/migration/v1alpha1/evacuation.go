package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/api/tolerant"
)

// Evacuation moves many StatefulSets in an order. It begins each of its Migrations when those that it comes after have
// moved, so one that stalls holds only those that come after it. The author of a Migration creates it in mode Pause, with
// the label migration.sliceshift.io/evacuation and the annotation migration.sliceshift.io/held-by-evacuation, which both
// have the name of the Evacuation. An Evacuation creates and deletes no Migration: what a Migration may use is judged by
// the rights of its author.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=evac,categories=sliceshift
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Moved",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Moving",type=integer,JSONPath=`.status.moving`
// +kubebuilder:printcolumn:name="Stalled",type=integer,JSONPath=`.status.stalled`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be at most 63 characters long"
type Evacuation struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec EvacuationSpec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status EvacuationStatus `json:"status,omitempty"`
	// Unreadable lists the fields whose stored values did not fit their type and were dropped by the decoder. An
	// Evacuation that has any is not acted on.
	Unreadable []tolerant.Fault `json:"-"`
}

// EvacuationList is a list of Evacuations.
//
// +kubebuilder:object:root=true
type EvacuationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Evacuation `json:"items"`
}

// EvacuationMode selects the work of an Evacuation. It may be changed at any time.
//
// +kubebuilder:validation:Enum=Run;Pause;Rollback
type EvacuationMode string

// The modes of an Evacuation.
const (
	// EvacuationRun begins Migrations in their order, and resumes those that the Evacuation has paused.
	EvacuationRun EvacuationMode = "Run"
	// EvacuationPause begins none, and pauses those that run.
	EvacuationPause EvacuationMode = "Pause"
	// EvacuationRollback begins none, and rolls back those that have begun and not completed. Mode Run takes them forward
	// again.
	EvacuationRollback EvacuationMode = "Rollback"
)

// The states of an Evacuation.
const (
	// EvacuationRunning means that a Migration is under way, or can begin.
	EvacuationRunning = "Running"
	// EvacuationPaused means that its mode is Pause.
	EvacuationPaused = "Paused"
	// EvacuationRollingBack means that its mode is Rollback, and a Migration is under way.
	EvacuationRollingBack = "RollingBack"
	// EvacuationRolledBack means that its mode is Rollback, and none is under way. Those that had completed stay at the
	// destination.
	EvacuationRolledBack = "RolledBack"
	// EvacuationStalled means that something else must change before it continues.
	EvacuationStalled = "Stalled"
	// EvacuationCompleted means that all have moved.
	EvacuationCompleted = "Completed"
)

// EvacuationSpec is the order of an evacuation.
type EvacuationSpec struct {
	// mode selects the work of the Evacuation: Run, Pause or Rollback.
	// +optional
	// +kubebuilder:default=Run
	Mode EvacuationMode `json:"mode,omitempty"`
	// maxActive is how many Migrations may be under way at once. One that is paused does not count, nor one that is
	// stalled while its clusters answer. Default: no limit, except those of the manager.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxActive *int32 `json:"maxActive,omitempty"`
	// migrations lists the Migrations of this namespace, in the order in which they begin if nothing else decides.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Migrations []EvacuatedMigration `json:"migrations"`
}

// EvacuatedMigration is a Migration of an Evacuation.
type EvacuatedMigration struct {
	// name of the Migration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// after names the Migrations of the list that must have moved before this one begins.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	After []string `json:"after,omitempty"`
	// wave orders the Migrations: one begins after all those of lower waves have moved. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Wave int32 `json:"wave,omitempty"`
	// planned is the expected course of its move, for the screens that show it beside the real one.
	// +optional
	Planned *PlannedMove `json:"planned,omitempty"`
}

// PlannedMove is the expected course of a move in an evacuation.
type PlannedMove struct {
	// beginSeconds is the time from the begin of the evacuation to that of the move.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BeginSeconds int64 `json:"beginSeconds,omitempty"`
	// endSeconds is the time from the begin of the evacuation to the end of the move.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EndSeconds int64 `json:"endSeconds,omitempty"`
	// ordinals is how many ordinals move.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Ordinals int32 `json:"ordinals,omitempty"`
}

// EvacuatedState is the state of a Migration in its Evacuation.
type EvacuatedState string

// The states of a Migration in its Evacuation.
const (
	// EvacuatedMissing means that there is no such Migration, or that it does not have the label.
	EvacuatedMissing EvacuatedState = "Missing"
	// EvacuatedWaiting means that it begins when those before it have moved, and fewer are under way.
	EvacuatedWaiting EvacuatedState = "Waiting"
	// EvacuatedHeld means that one before it cannot move without a change.
	EvacuatedHeld EvacuatedState = "Held"
	// EvacuatedPaused means that it was paused, by the Evacuation or by a user.
	EvacuatedPaused EvacuatedState = "Paused"
	// EvacuatedMoving means that it is under way.
	EvacuatedMoving EvacuatedState = "Moving"
	// EvacuatedStalled means that something else must change before it continues.
	EvacuatedStalled EvacuatedState = "Stalled"
	// EvacuatedRollingBack means that its ordinals return to the source.
	EvacuatedRollingBack EvacuatedState = "RollingBack"
	// EvacuatedMoved means that it has completed at the destination. It may have been deleted since.
	EvacuatedMoved EvacuatedState = "Moved"
	// EvacuatedBack means that it has completed at the source.
	EvacuatedBack EvacuatedState = "Back"
)

// EvacuationStatus is the observed state of an Evacuation.
type EvacuationStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state is one word: Running, Paused, RollingBack, RolledBack, Stalled or Completed.
	// +optional
	State string `json:"state,omitempty"`
	// startTime is when the first of its Migrations began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// progress is how many Migrations have moved, of all: 3/10.
	// +optional
	Progress string `json:"progress,omitempty"`
	// total counts all Migrations; the others count those in a state.
	// +optional
	Total int32 `json:"total,omitempty"`
	// +optional
	Moved int32 `json:"moved,omitempty"`
	// +optional
	Moving int32 `json:"moving,omitempty"`
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// +optional
	Stalled int32 `json:"stalled,omitempty"`
	// migrations lists the state of each Migration, in the order of the spec. It is atomic, so that managedFields do not
	// list its entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Migrations []EvacuatedStatus `json:"migrations,omitempty"`
	// conditions are Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EvacuatedStatus is the observed state of a Migration of an Evacuation.
type EvacuatedStatus struct {
	// name of the Migration.
	Name  string         `json:"name"`
	State EvacuatedState `json:"state"`
	// message is why it does not continue. The messages of hundreds of Migrations are cut.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
