package volumes

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Copying is what is known of a claim of which a second volume is filled, by Copy or Snapshot, besides the claims
// of both sides.
type Copying struct {
	// Now is when it is judged.
	Now time.Time
	// Asked is what a person wants of the copy.
	Asked CopyAsked
	// Attempt is the one that was begun last, as it was recorded; its number is 0 when there is none.
	Attempt api.CopyAttempt
	// LastAttempt is the highest number that an attempt of the move has had.
	LastAttempt int32
	// Back is true when that attempt goes the other way than the pair: the move has turned round since.
	Back bool
	// Incoming is the claim that the attempt's copy is made in, and Outgoing the one from which it is
	// read once the ordinal has been stopped; its volume is the giver's.
	Incoming, Outgoing Holding
	// Receiver writes the copy, and Sender reads what is copied, once the ordinal has been stopped. Warm reads it
	// before, beside the ordinal's own pod.
	Receiver, Sender, Warm Mover
	// Base is what warm passes read instead of the ordinal's claim, where that was chosen.
	Base Base
	// Beside is where the ordinal's other claims have their volumes.
	Beside Beside
	// WaitsForPod is true when the incoming claim gets its volume only where a pod is to run.
	WaitsForPod bool
	// Pod is the ordinal's own, at the pair's giver.
	Pod CopyPod
	// Early is true where it is not the ordinal's turn yet.
	Early bool
	// Returns is true where the move goes back: that waits for nobody's word.
	Returns bool
	// Down is true where the ordinal is to go back and is down where it is: its stop takes nothing any more.
	Down bool
	// Entrance is where the sender reaches the receiver.
	Entrance Entrance
	// RelayTrouble is why a relay does not get through to one of both movers; empty: it does, or there is none.
	RelayTrouble string
	// Placeholder is for method Snapshot, and so is Snapshot.
	Placeholder Mover
	Snapshot    Snapshotting
}

// Base is a claim that was restored from a snapshot of the ordinal's, and that snapshot, while the ordinal runs.
type Base struct {
	Snapshot Snapshot
	Claim    Claim
}

// CopyAsked is what a person wants of a copy.
type CopyAsked struct {
	// Image has the mover's program.
	Image string
	// Size is that of the new volumes in bytes, and Needed that of the giver's; 0: nobody has said.
	Size, Needed int64
	// Address is where the receiver is reached from the giver's side; empty: as its Service says.
	Address string
	// Export has that Service exported to the clusterset; ExportVersion is the version of ServiceExport that the taker's cluster
	// serves, empty: it serves none.
	Export        bool
	ExportVersion string
	// Transport is how the bytes get from one mover to the other; empty is Auto.
	Transport api.CopyTransport
	// Warm says whether passes are made while the ordinal runs; empty is Auto.
	Warm api.CopyWarmMode
	// Verify says what is read of both sides once the ordinal is down; empty is Full.
	Verify api.CopyVerify
	// Budget is for how long the ordinal may be down by what is projected; 0 is DefaultDowntimeBudget.
	Budget time.Duration
	// Limit is for how long the ordinal may be copied while it is down; 0: for as long as it takes.
	Limit time.Duration
	// Prefetch is how many turns before its own an ordinal is copied.
	Prefetch int32
	// Cutover says whether it is stopped when that fits; empty is Automatic. CutoverAt is the time for At.
	Cutover   api.CopyCutover
	CutoverAt time.Time
}

// DefaultDowntimeBudget is for how long an ordinal may be down where nobody has said.
const DefaultDowntimeBudget = 30 * time.Second

// CopyPod is what of the ordinal's own pod decides whether somebody may read beside it.
type CopyPod struct {
	// Name is the pod's.
	Name                      string
	Found, Ready, Terminating bool
	// Node is where it runs; empty: nowhere yet.
	Node string
	// Trouble is what keeps it from becoming Ready, when it says so.
	Trouble string
}

// Runs says whether it has its volumes mounted, and keeps them.
func (p CopyPod) Runs() bool { return p.Found && !p.Terminating && p.Node != "" }

// Amiss is why nobody may read beside it, for people; empty: somebody may.
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

// Role is what a mover does.
type Role string

// The roles.
const (
	RoleReceiver Role = "receiver"
	RoleSender   Role = "sender"
	// RoleWarm reads while the ordinal runs.
	RoleWarm Role = "warm"
)

// Mover is a pod that reads or writes a volume, for one pass.
type Mover struct {
	Found, Terminating bool
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps []string
	// Foreign: a pod of that name which this migration has not made.
	Foreign         bool
	UID             types.UID
	ResourceVersion string
	// Attempt and Pass are what it was made for, and Warm says whether that is a pass while the ordinal runs.
	Attempt, Pass int32
	Warm          bool
	// Relayed: it listens for a relay, and is reached by nobody else.
	Relayed bool
	// Node is where it runs; empty: nowhere yet. Made is when it was made.
	Node string
	Made time.Time
	// Fence is the fence under which a migration wrote it last.
	Fence string
	// Key is the fingerprint of the key that it has made; empty: it has not said so yet.
	Key string
	// Peer is the fingerprint that it was told; until then it waits, and writes nothing.
	Peer string
	// Ended is true when its processes are over, in whatever way, and EndedAt when that was.
	Ended   bool
	EndedAt time.Time
	// Result is what it has said at its end; zero: nothing that can be believed.
	Result MoverResult
	// Trouble is why it does not start, or how it ended without a result.
	Trouble string
	// Broken: what keeps it from starting is not its volume, but its image, say.
	Broken bool
	// Refuses is what its cluster says of the volume that it does not get; empty: it gets it, or nobody has said so.
	Refuses string
}

// MoverResult is what a mover has found in its pass.
type MoverResult struct {
	// Done says that the pass has come to its end, and that both sides were equal.
	Done bool
	// Root is the digest of all that is on this mover's volume; empty: it took none.
	Root string
	// Differs is the first path in which both sides differ; empty: they were not found to differ.
	Differs string
	// Torn is true when the disk has failed: nothing that was written there can be trusted.
	Torn bool
	// Holds is what its volume had when it was mounted for the first time, for people: it is not new, and nothing was
	// written to it. Empty: nothing.
	Holds string
	// Message is why it failed.
	Message string
	// Bytes and Files are what was read, Written is how many bytes of it were written anew, and Seconds is how
	// long it took.
	Bytes, Files, Written, Seconds int64
	// ReadRate is how many bytes a second this side reads for a proof; 0: it was not measured.
	ReadRate int64
	// Verify is how both sides were compared; empty: they were not. Read is how many bytes of this side were read for it,
	// and Trusted how many were not, since nothing has changed since a warm pass read them.
	Verify        api.CopyVerify
	Read, Trusted int64
	// Known is how many bytes the next pass need not read by what a warm one has kept, and Young how many it has to although
	// they may not change any more. Proving is how many of its seconds it has read for that.
	Known, Young, Proving int64
}

// Entrance is the Service of a receiver.
type Entrance struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Leaving is since when it is being deleted; zero: it is not. Keeps are the finalizers that keep it then.
	Leaving time.Time
	Keeps   []string
	// Other is true when it was made for another serviceType than is asked for now.
	Other bool
	// Exported is true once it has a ServiceExport, and Refused says why that is of no use; empty: it is not known to be of none.
	Exported bool
	Refused  string
	// Address is host and port; empty: not known yet.
	Address string
}

// The verbs of method Copy, besides Secure, Park, CreateClaim and MarkClaim. None deletes a volume.
const (
	// Release points the giver's volume at the outgoing claim, and marks it with the fence under which
	// that was done; PointBack points it at the ordinal's claim again, and takes the mark off.
	Release   Verb = "Release"
	PointBack Verb = "PointBack"
	// TakeOver points the incoming volume at the taker's claim, with the seal.
	TakeOver Verb = "TakeOver"
	// CreateIncoming and CreateOutgoing make the claims that movers mount.
	CreateIncoming Verb = "CreateIncoming"
	CreateOutgoing Verb = "CreateOutgoing"
	// DeleteLost deletes a claim that has lost its volume to another one.
	DeleteLost Verb = "DeleteLost"
	// TakeBase takes a snapshot of the claim of an ordinal that runs, RestoreBase makes a claim of it, and DropBase and
	// DropBaseSnapshot delete them.
	TakeBase         Verb = "TakeBase"
	RestoreBase      Verb = "RestoreBase"
	DropBase         Verb = "DropBase"
	DropBaseSnapshot Verb = "DropBaseSnapshot"
	// CreateEntrance makes the Service of a receiver.
	CreateEntrance Verb = "CreateEntrance"
	// ExportEntrance makes its ServiceExport.
	ExportEntrance Verb = "ExportEntrance"
	// DeleteEntrance deletes that Service: another one is to take its place.
	DeleteEntrance Verb = "DeleteEntrance"
	// CreateMover makes the pod of a mover, MarkMover writes the fence on it, TellMover what its
	// peer's key is, and DeleteMover deletes it.
	CreateMover Verb = "CreateMover"
	MarkMover   Verb = "MarkMover"
	TellMover   Verb = "TellMover"
	DeleteMover Verb = "DeleteMover"
)

// CopyAction is what an action of method Copy needs besides.
type CopyAction struct {
	// AtGiver is true when it is done in the giver's cluster.
	AtGiver bool
	// Role, Attempt and Pass are of the mover that is made or written, and Pod is its name. Warm: it is made for a
	// pass while the ordinal runs, and, where it reads, for Node.
	Role          Role
	Attempt, Pass int32
	Pod           string
	Warm          bool
	Node          string
	// Relayed has a mover made that listens for a relay.
	Relayed bool
	// Fresh has a receiver made that says no key unless its volume is empty.
	Fresh bool
	// Peer is for TellMover, Address for CreateMover of a sender: where it reaches the receiver.
	Peer, Address string
	// ExportVersion is the version of the ServiceExport that ExportEntrance makes.
	ExportVersion string
	// Content has files compared that look alike: a pass before this one has found both sides different.
	Content bool
	// Verify is what a pass reads at its end; empty: nothing. Copy is what is kept between passes by for Changed.
	Verify api.CopyVerify
	Copy   string
	// Released is the fence that Release writes, and Seal the root that TakeOver does. Returned takes the mark
	// of a release off.
	Released, Seal string
	Returned       bool
	// Class is the storage class of a claim that is made, and Size that of its volume in bytes; 0: as the other
	// side has it, or as was asked for.
	Class string
	Size  int64
	// Snapshot is for the verbs of method Snapshot.
	Snapshot SnapshotAction
}
