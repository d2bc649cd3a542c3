package volumes

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Copying is what is known of a claim whose bytes are copied, besides the claims of both sides.
type Copying struct {
	// Now is when it is judged.
	Now time.Time
	// Asked is what a person wants of the copy.
	Asked CopyAsked
	// Attempt is the one that was begun last, as it was recorded; its number is 0 when there is none.
	Attempt api.CopyAttempt
	// Back is true when that attempt goes the other way than the pair: the move has turned round since.
	Back bool
	// Incoming is the claim that the attempt's copy is made in, and Outgoing the one from which it is
	// read once the ordinal has been stopped; its volume is the giver's.
	Incoming, Outgoing Holding
	// Receiver writes the copy, and Sender reads what is copied.
	Receiver, Sender Mover
	// Entrance is where the sender reaches the receiver.
	Entrance Entrance
}

// CopyAsked is what a person wants of a copy.
type CopyAsked struct {
	// Image has the mover's program.
	Image string
	// Size is that of the new volumes in bytes, and Needed that of the giver's; 0: nobody has said.
	Size, Needed int64
	// Address is where the receiver is reached from the giver's side; empty: as its Service says.
	Address string
}

// Role is what a mover does.
type Role string

// The roles.
const (
	RoleReceiver Role = "receiver"
	RoleSender   Role = "sender"
)

// Mover is a pod that reads or writes a volume, for one pass.
type Mover struct {
	Found, Terminating bool
	UID                types.UID
	ResourceVersion    string
	// Attempt and Pass are what it was made for.
	Attempt, Pass int32
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
	// Message is why it failed.
	Message string
	// Bytes and Files are what was read, and Seconds is how long it took.
	Bytes, Files, Seconds int64
}

// Entrance is the Service of a receiver.
type Entrance struct {
	Found bool
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
	// CreateEntrance makes the Service of a receiver.
	CreateEntrance Verb = "CreateEntrance"
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
	// Role, Attempt and Pass are of the mover that is made or written, and Pod is its name.
	Role          Role
	Attempt, Pass int32
	Pod           string
	// Peer is for TellMover, Address for CreateMover of a sender: where it reaches the receiver.
	Peer, Address string
	// Content has files compared that look alike: a pass before this one has found both sides different.
	Content bool
	// Released is the fence that Release writes, and Seal the root that TakeOver does. Returned takes the mark
	// of a release off.
	Released, Seal string
	Returned       bool
	// Class is the storage class of a claim that is made.
	Class string
}
