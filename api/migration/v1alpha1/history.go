package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// History records the past of a migration, up to a size limit, with the newest entry of each list last. Of what
// it records, only the outages decide anything: the downtime of the next ordinal is projected from them.
type History struct {
	// handoffs lists those that have ended, at either side, or were turned back before they ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Handoffs []PastHandoff `json:"handoffs,omitempty"`
	// stops lists the times without progress: stalled, paused, or outside the schedule.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Stops []PastStop `json:"stops,omitempty"`
	// drivers lists the processes that have driven the migration, and their directions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Drivers []Driver `json:"drivers,omitempty"`
	// seals lists the seals of copied or restored volumes that ordinals have started on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Seals []PastSeal `json:"seals,omitempty"`
	// stopped is the ordinal that is down for its handoff; absent if it was not stopped yet, or the time is not
	// known.
	// +optional
	Stopped *StoppedOrdinal `json:"stopped,omitempty"`
	// furtherStopped lists the ordinals of status.furtherHandoffs that are down.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	FurtherStopped []StoppedOrdinal `json:"furtherStopped,omitempty"`
	// dropped is how many of the oldest handoffs are no longer listed.
	// +optional
	Dropped int32 `json:"dropped,omitempty"`
	// droppedStops is how many of the oldest stops are no longer listed.
	// +optional
	DroppedStops int32 `json:"droppedStops,omitempty"`
	// droppedSeals is how many of the oldest seals are no longer listed.
	// +optional
	DroppedSeals int32 `json:"droppedSeals,omitempty"`
}

// StoppedOrdinal is an ordinal that was stopped for its move and is not available yet.
type StoppedOrdinal struct {
	// ordinal that moves.
	Ordinal int32 `json:"ordinal"`
	// stopTime is since when no pod of it serves: after the ordinal was removed from the slice that gives it, its pod
	// there was first seen terminating, not Ready or absent. It is absent while that pod still serves.
	// +optional
	StopTime metav1.MicroTime `json:"stopTime,omitempty,omitzero"`
	// goneTime is when that pod was first seen absent, releaseTime when nothing held the ordinal's volumes any more,
	// and startTime when the ordinal was added to the slice that takes it. Each is absent until then.
	// +optional
	GoneTime metav1.MicroTime `json:"goneTime,omitempty,omitzero"`
	// +optional
	ReleaseTime metav1.MicroTime `json:"releaseTime,omitempty,omitzero"`
	// +optional
	StartTime metav1.MicroTime `json:"startTime,omitempty,omitzero"`
	// readyTime is since when its pod is Ready at the side that takes it; absent while it is not. From then on the
	// pod serves, and the handoff waits only for minReadySeconds.
	// +optional
	ReadyTime metav1.MicroTime `json:"readyTime,omitempty,omitzero"`
}

// HandoffOutcome is the result of a handoff.
//
// +kubebuilder:validation:Enum=TurnedBack
type HandoffOutcome string

// HandoffTurnedBack is the outcome of a handoff that was turned back before the ordinal was available. The way back
// is a handoff of its own. A handoff without an outcome has arrived.
const HandoffTurnedBack HandoffOutcome = "TurnedBack"

// PastHandoff is a handoff that has ended.
type PastHandoff struct {
	// ordinal that was moved.
	Ordinal int32 `json:"ordinal"`
	// direction of the handoff.
	Direction Direction `json:"direction"`
	// startTime is when it started, or last changed its direction.
	StartTime metav1.MicroTime `json:"startTime"`
	// stopTime is since when no pod of the ordinal served, possibly in an earlier handoff that was turned back; absent
	// if it was not stopped, or the time is not known.
	// +optional
	StopTime metav1.MicroTime `json:"stopTime,omitempty,omitzero"`
	// readyTime is since when its pod had been Ready without interruption when the handoff ended. The ordinal was
	// down from stopTime until then. Absent if it has not arrived, or the time is not known.
	// +optional
	ReadyTime metav1.MicroTime `json:"readyTime,omitempty,omitzero"`
	// outage divides the time from stopTime to readyTime; absent if one of its parts is not known, and for all but the
	// newest 8 handoffs.
	// +optional
	Outage OutageParts `json:"outage,omitempty,omitzero"`
	// endTime is when the ordinal was first observed available, or the handoff was turned back.
	EndTime metav1.MicroTime `json:"endTime"`
	// outcome is TurnedBack if the ordinal did not arrive; absent if it did.
	// +optional
	Outcome HandoffOutcome `json:"outcome,omitempty"`
	// stayed is true if the ordinal was not stopped at all, because its handoff was turned back earlier.
	// +optional
	Stayed bool `json:"stayed,omitempty"`
	// attempts counts the starts, changes of direction and takeovers of the handoff.
	Attempts int32 `json:"attempts"`
	// epoch of the fence during which it ended: see drivers.
	Epoch int64 `json:"epoch"`
	// fewestAvailable is the lowest number of available replicas, of both sides together, observed during the
	// handoff.
	// +optional
	FewestAvailable *int32 `json:"fewestAvailable,omitempty"`
	// clients counts the requests of the probe that were sent during the handoff; absent without a probe.
	// +optional
	Clients *ClientRequests `json:"clients,omitempty"`
}

// OutageParts are the consecutive parts of the outage of an ordinal.
type OutageParts struct {
	// stop lasts until the pod at the side that gives the ordinal is absent.
	Stop metav1.Duration `json:"stop"`
	// detach lasts until nothing holds the ordinal's volumes any more: no other pod and no attachment.
	Detach metav1.Duration `json:"detach"`
	// carry lasts until the ordinal is added to the slice that takes it, without copy: its volumes are pointed at the
	// claims there, restored, or mounted by pods that copy.
	Carry metav1.Duration `json:"carry"`
	// copy is the duration of the last pass over a copied volume, with its proof; 0 if none was copied.
	// +optional
	Copy metav1.Duration `json:"copy,omitempty,omitzero"`
	// start lasts until the pod there is Ready.
	Start metav1.Duration `json:"start"`
}

// PastSeal is the seal of a volume that an ordinal has started on.
type PastSeal struct {
	// ordinal of the volume, and claimTemplate of its claim.
	Ordinal       int32  `json:"ordinal"`
	ClaimTemplate string `json:"claimTemplate"`
	// direction and endTime of its handoff.
	Direction Direction        `json:"direction"`
	EndTime   metav1.MicroTime `json:"endTime"`
	// root is the digest of the content of the volume, or of the snapshot's driver and handle.
	Root string `json:"root"`
	// verify is how both sides were compared; absent for a snapshot.
	// +optional
	Verify CopyVerify `json:"verify,omitempty"`
	// provenTime is when the source had been read whole and was found equal, with verify: Later. acceptedTime is when
	// copy.acceptDiffering was applied instead.
	// +optional
	ProvenTime metav1.Time `json:"provenTime,omitempty,omitzero"`
	// +optional
	AcceptedTime metav1.Time `json:"acceptedTime,omitempty,omitzero"`
	// bytes and files are its content. trusted is how many bytes of both sides together were not read for the seal.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	Files int64 `json:"files,omitempty"`
	// +optional
	Trusted int64 `json:"trusted,omitempty"`
}

// PastStop is a time in which a migration did not progress.
type PastStop struct {
	// reason of the condition Progressing.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// message of the condition, truncated if necessary.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// ordinal that was moving, if any.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// startTime is when the stop was observed.
	StartTime metav1.Time `json:"startTime"`
	// endTime is when the migration continued, or stopped for another reason.
	EndTime metav1.Time `json:"endTime"`
}

// Driver is a process that has driven a migration since an epoch.
type Driver struct {
	// epoch of its fence.
	Epoch int64 `json:"epoch"`
	// holder is the identity of the process.
	// +kubebuilder:validation:MaxLength=253
	Holder string `json:"holder"`
	// direction in which it drives the migration.
	Direction Direction `json:"direction"`
	// startTime is when it took over.
	StartTime metav1.Time `json:"startTime"`
}
