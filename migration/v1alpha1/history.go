package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// History is what a migration has done, as far as there is room for it: the newest of each list last.
// Nothing is decided by it.
type History struct {
	// handoffs are those that have come to their end, at either side, or were turned round on their way.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Handoffs []PastHandoff `json:"handoffs,omitempty"`
	// stops are the times in which it did not go on: stalled, paused, or outside of its schedule.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Stops []PastStop `json:"stops,omitempty"`
	// drivers are the processes that have driven it, and in which direction.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Drivers []Driver `json:"drivers,omitempty"`
	// seals are what the volumes have shown that ordinals came up on, where these were copied or restored.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Seals []PastSeal `json:"seals,omitempty"`
	// stopped is the ordinal on its way, since it was stopped; absent: it was not yet, or it is not known when.
	// +optional
	Stopped *StoppedOrdinal `json:"stopped,omitempty"`
	// dropped is how many of the oldest handoffs are not listed any more.
	// +optional
	Dropped int32 `json:"dropped,omitempty"`
	// droppedStops is how many of the oldest stops are not listed any more.
	// +optional
	DroppedStops int32 `json:"droppedStops,omitempty"`
	// droppedSeals is how many of the oldest seals are not listed any more.
	// +optional
	DroppedSeals int32 `json:"droppedSeals,omitempty"`
}

// StoppedOrdinal is an ordinal that was stopped to be moved, and is not available since.
type StoppedOrdinal struct {
	// ordinal on its way.
	Ordinal int32 `json:"ordinal"`
	// stopTime is when it was taken out of the slice that gives it.
	StopTime metav1.MicroTime `json:"stopTime"`
	// readyTime is since when its pod is Ready at the side that takes it; absent: it is not. From then on it serves, and only the
	// time is waited for in which it must stay Ready.
	// +optional
	ReadyTime metav1.MicroTime `json:"readyTime,omitempty,omitzero"`
}

// HandoffOutcome is how a handoff has ended.
//
// +kubebuilder:validation:Enum=TurnedBack
type HandoffOutcome string

// HandoffTurnedBack is that of a handoff which was turned round before the ordinal was available: the way back is
// another one. One that has none has arrived.
const HandoffTurnedBack HandoffOutcome = "TurnedBack"

// PastHandoff is a handoff that has come to its end.
type PastHandoff struct {
	// ordinal that was moved.
	Ordinal int32 `json:"ordinal"`
	// direction that it took.
	Direction Direction `json:"direction"`
	// startTime is when it began, or was turned round.
	StartTime metav1.MicroTime `json:"startTime"`
	// stopTime is when the ordinal was stopped, in a handoff before that was turned back perhaps; absent: it was not,
	// or it is not known when.
	// +optional
	StopTime metav1.MicroTime `json:"stopTime,omitempty,omitzero"`
	// readyTime is since when its pod was Ready without a break when the handoff ended: the ordinal was down from stopTime until then.
	// Absent: it has not arrived, or it is not known.
	// +optional
	ReadyTime metav1.MicroTime `json:"readyTime,omitempty,omitzero"`
	// endTime is when the ordinal was seen to be available, or the handoff was turned round.
	EndTime metav1.MicroTime `json:"endTime"`
	// outcome is TurnedBack where the ordinal has not arrived; absent where it has.
	// +optional
	Outcome HandoffOutcome `json:"outcome,omitempty"`
	// stayed is true where the ordinal was not stopped at all: its handoff was turned back before.
	// +optional
	Stayed bool `json:"stayed,omitempty"`
	// attempts counts how often it was begun, turned round or taken over.
	Attempts int32 `json:"attempts"`
	// epoch of the fence in which it ended: see drivers.
	Epoch int64 `json:"epoch"`
	// fewestAvailable is the fewest replicas of both sides that were seen to be available meanwhile.
	// +optional
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// clients are the requests of the probe that were sent meanwhile; absent: there was no probe.
	// +optional
	Clients *ClientRequests `json:"clients,omitempty"`
}

// PastSeal is the seal of a volume that an ordinal has come up on.
type PastSeal struct {
	// ordinal whose volume it is, and claimTemplate that of its claim.
	Ordinal       int32  `json:"ordinal"`
	ClaimTemplate string `json:"claimTemplate"`
	// direction and endTime are those of its handoff.
	Direction Direction        `json:"direction"`
	EndTime   metav1.MicroTime `json:"endTime"`
	// root is the digest of all that is on the volume, or that of the snapshot's driver and handle.
	Root string `json:"root"`
	// verify is how both sides were compared; absent for what is no copy.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// bytes and files are what was on it, and trusted is how many bytes of both sides together were not read for the seal.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Trusted int64 `json:"trusted,omitempty"`
}

// PastStop is a time in which a migration did not go on.
type PastStop struct {
	// reason of the condition Progressing.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// message of it, as much of it as there is room for.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// ordinal that was on its way, if any.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// startTime is when it was found to have stopped.
	StartTime metav1.Time `json:"startTime"`
	// endTime is when it went on, or stopped for another reason.
	EndTime metav1.Time `json:"endTime"`
}

// Driver is a process that drives a migration from one epoch on.
type Driver struct {
	// epoch of its fence.
	Epoch int64 `json:"epoch"`
	// holder is the identity of the process.
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder"`
	// direction in which it drives.
	Direction Direction `json:"direction"`
	// startTime is when it took over.
	StartTime metav1.Time `json:"startTime"`
}
