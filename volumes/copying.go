package volumes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Copying describes the copy of a claim whose second volume is filled by Copy or Snapshot. The claims of both
// sides are in Pair.
type Copying struct {
	// Now is the time of the judgement.
	Now time.Time
	// Asked holds the user's settings for the copy.
	Asked CopyAsked
	// Attempt is the recorded latest attempt; its number is 0 if there is none.
	Attempt api.CopyAttempt
	// LastAttempt is the highest number of any attempt of the move.
	LastAttempt int32
	// Back is true if that attempt goes in the other direction than the pair: the move has been reversed since.
	Back bool
	// Incoming is the claim in which the attempt's copy is made. Outgoing is the claim from which the copy is
	// read once the ordinal has been stopped; its volume is the giver's.
	Incoming, Outgoing Holding
	// Unused is true if a list has shown that no pod which may still run names the incoming claim.
	Unused bool
	// Receiver writes the copy. Sender reads the source once the ordinal has been stopped. Warm reads it before
	// the stop, beside the ordinal's own pod.
	Receiver, Sender, Warm Mover
	// Prover reads the volume that the ordinal has left, after the ordinal has started on its copy.
	Prover Mover
	// Base is read by warm passes instead of the ordinal's claim, if that was chosen.
	Base Base
	// Beside describes the volumes of the ordinal's other claims.
	Beside Beside
	// WaitsForPod is true if the incoming claim gets its volume only where a pod is scheduled.
	WaitsForPod bool
	// Pod is the ordinal's own pod, at the pair's giver. Stays is true if it starts again among the other pods of its set, as
	// in a change in place.
	Pod   CopyPod
	Stays bool
	// Stopped is true once the slice at the attempt's giver does not have the ordinal any more. Its pod may still be
	// stopping. ClaimEnds is true if the ordinal's claim is then deleted, which any pod that names it delays.
	Stopped, ClaimEnds bool
	// Outage is how long the ordinal is expected to be down, apart from the last pass.
	Outage Outage
	// Early is true if it is not the ordinal's turn yet.
	Early bool
	// Returns is true if the move goes back. It then waits for no user's confirmation.
	Returns bool
	// Down is true if the ordinal must go back and is already down, so that stopping it costs nothing more.
	Down bool
	// Entrance is the Service by which the sender reaches the receiver.
	Entrance Entrance
	// RelayTrouble is why a relay does not connect to one of the movers; empty if it does, or if there is no
	// relay.
	RelayTrouble string
	// Placeholder and Snapshot are for method Snapshot.
	Placeholder Mover
	Snapshot    Snapshotting
}

// Base holds a snapshot of the ordinal's claim, and a claim that was restored from it, while the ordinal runs.
type Base struct {
	Snapshot Snapshot
	Claim    Claim
}

// CopyAsked holds the user's settings for a copy.
type CopyAsked struct {
	// Image contains the mover's program.
	Image string
	// Size is the capacity of the new volumes in bytes, and Needed that of the giver's; 0 if it is not known.
	Size, Needed int64
	// Address is where the giver's side reaches the receiver; empty for the address of its Service.
	Address string
	// Export requests that this Service is exported to the clusterset. ExportVersion is the version of
	// ServiceExport that the taker's cluster serves; empty if it serves none.
	Export        bool
	ExportVersion string
	// Transport is the path of the bytes between the movers; empty is Auto.
	Transport api.CopyTransport
	// Warm decides whether passes run while the ordinal runs; empty is Auto.
	Warm api.CopyWarmMode
	// Verify decides how much of both sides is read once the ordinal is down; empty leaves that to the method.
	Verify api.CopyVerify
	// Accepted is true if the user has accepted that the ordinal runs on a copy that is not proven.
	Accepted bool
	// Budget is the longest projected downtime for which the ordinal is stopped; 0 is DefaultDowntimeBudget.
	Budget time.Duration
	// Limit is the longest time for which the ordinal may be copied while it is down; 0 for no limit.
	Limit time.Duration
	// Prefetch is how many turns before its own an ordinal is copied.
	Prefetch int32
	// Cutover decides whether the ordinal is stopped when the downtime fits; empty is Automatic. CutoverAt is
	// the time for At.
	Cutover   api.CopyCutover
	CutoverAt time.Time
}

// DefaultDowntimeBudget is the downtime budget of an ordinal if none is set.
const DefaultDowntimeBudget = 30 * time.Second

// CopyPod describes the ordinal's own pod, to decide whether a mover may read beside it.
type CopyPod struct {
	// Name is the pod's name.
	Name                      string
	Found, Ready, Terminating bool
	// Node is the node that it runs on; empty if it has none yet.
	Node string
	// Trouble is why it does not become Ready, if its status reports that.
	Trouble string
}

// Runs reports whether the pod has its volumes mounted and keeps them.
func (p CopyPod) Runs() bool { return p.Found && !p.Terminating && p.Node != "" }

// Amiss returns why no mover may read beside the pod, as text for users; empty if a mover may.
func (p CopyPod) Amiss() string {
	why := ""
	switch {
	case !p.Found:
		return "it does not exist"
	case p.Terminating:
		return "it is Terminating"
	case p.Node == "":
		why = "it is on no node yet"
	case !p.Ready:
		why = "it is not"
	default:
		return ""
	}
	if p.Trouble != "" {
		why += ", " + p.Trouble
	}
	return why
}

// Role is the task of a mover.
type Role string

// The roles.
const (
	RoleReceiver Role = "receiver"
	RoleSender   Role = "sender"
	// RoleWarm reads while the ordinal runs.
	RoleWarm Role = "warm"
	// RoleProver reads the volume that the ordinal has left, alone.
	RoleProver Role = "prover"
)

// Mover is a pod that reads or writes a volume, for one pass.
type Mover struct {
	Found, Terminating bool
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps []string
	// Foreign is true for a pod of that name which this migration has not created.
	Foreign         bool
	UID             types.UID
	ResourceVersion string
	// Attempt and Pass are those that it was created for. Warm is true if that is a pass while the ordinal
	// runs.
	Attempt, Pass int32
	Warm          bool
	// Relayed is true if it listens for a relay and accepts no other connection.
	Relayed bool
	// Claim is the claim that it mounts.
	Claim string
	// Node is the node that it runs on; empty if it has none yet. Made is its creation time.
	Node string
	Made time.Time
	// Fence is the fence of the last write of a migration.
	Fence string
	// Key is the fingerprint of its key; empty if it has not reported one yet.
	Key string
	// Peer is the fingerprint of its peer that was written to it. Without it, the mover waits and writes
	// nothing.
	Peer string
	// Ended is true if its processes have ended, in whatever way; EndedAt is the time of that.
	Ended   bool
	EndedAt time.Time
	// Result is its final report; zero if there is none that can be trusted.
	Result MoverResult
	// Trouble is why it does not start, or how it ended without a result.
	Trouble string
	// Broken is true if the cause is not its volume but, for example, its image.
	Broken bool
	// Refuses is the cluster's report of why it does not get its volume; empty if it gets it, or if there is no
	// report.
	Refuses string
}

// MoverResult is the result of a mover's pass.
type MoverResult struct {
	// Done is true if the pass was completed and both sides were equal.
	Done bool
	// Root is the digest of all content on this mover's volume; empty if none was computed. Alone is true if it is that
	// of a mover that has read its volume whole, with no other mover.
	Root  string
	Alone bool
	// Locked is true if no other mover could write to its volume from its beginning to its end.
	Locked bool
	// Tally is a summary of all parts of that content, by which a part that differs is found.
	Tally string
	// Differs is the first path in which both sides differ; empty if no difference was found.
	Differs string
	// Torn is true if the disk has failed: nothing that was written there can be trusted.
	Torn bool
	// Holds is the content of the volume at its first mount, as text for users. The volume is not new, and
	// nothing was written to it. Empty if it held nothing.
	Holds string
	// Message is why the pass failed.
	Message string
	// Bytes and Files were read, Written is the number of bytes of them that were written, and Seconds is the
	// duration.
	Bytes, Files, Written, Seconds int64
	// ReadRate is the rate at which this side reads for a proof, in bytes a second; 0 if it was not measured.
	ReadRate int64
	// Verify is how both sides were compared; empty if they were not. Read is the number of bytes of this side
	// that were read for it. Trusted is the number that were not, because nothing has changed since a warm pass
	// read them.
	Verify        api.CopyVerify
	Read, Trusted int64
	// Known is the number of bytes that the next pass need not read, because of what a warm pass has kept.
	// Young is the number of bytes that it must read although they may not change any more. Proving is the
	// number of the pass's seconds that were spent reading for that.
	Known, Young, Proving int64
}

// Entrance is the Service of a receiver.
type Entrance struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Leaving is the time of its deletion; zero if it is not being deleted. Keeps are the finalizers that then
	// keep it.
	Leaving time.Time
	Keeps   []string
	// Other is true if it was created for another serviceType than the one requested now.
	Other bool
	// Exported is true once it has a ServiceExport. Refused is why that has no effect; empty if no such reason
	// is known.
	Exported bool
	Refused  string
	// Address is host and port; empty if not known yet.
	Address string
}

// CopyAction holds the fields of an action of method Copy.
type CopyAction struct {
	// Role, Attempt and Pass are those of the mover that is created or written, and Pod is its name. Warm is
	// true for a pass while the ordinal runs. A warm mover that reads runs on Node.
	Role          Role
	Attempt, Pass int32
	Pod           string
	Warm          bool
	Node          string
	// Relayed creates a mover that listens for a relay.
	Relayed bool
	// Fresh creates a receiver that reports no key unless its volume is empty.
	Fresh bool
	// Peer is for TellMover. Address is for CreateMover of a sender: the address of the receiver.
	Peer, Address string
	// ExportVersion is the version of the ServiceExport that ExportEntrance creates.
	ExportVersion string
	// Content is true if files that look alike are compared too, because an earlier pass has found the sides
	// different.
	Content bool
	// Verify is what a pass reads at its end; empty for nothing. Copy is the key under which results are kept
	// between passes, for Changed and Later.
	Verify api.CopyVerify
	Copy   string
	// Tally is that of the copy, for a prover that finds another root.
	Tally string
	// Class is the storage class of a claim that is created, and Size the capacity of its volume in bytes. If
	// Size is 0, the requested size applies, or that of the other side.
	Class string
	Size  int64
	// Like is the claim template whose form a new claim gets; nil for the form of the other side's claim.
	Like *corev1.PersistentVolumeClaim
	// Snapshot is for the verbs of method Snapshot.
	Snapshot SnapshotAction
}
