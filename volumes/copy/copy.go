// Package copy decides how the bytes of one claim get from the giver to the taker: method Copy.
//
// The copy arrives under another name, is sealed, and is then rebound. It is made in the incoming
// claim, on which no StatefulSet can start. When both sides have shown the same content its volume is
// pointed at the ordinal's claim, as Rebind does inside one cluster:
//
//	prepare   incoming claim, receiver, warm sender; warm passes, while the ordinal runs
//	stop      the ordinal is scaled down; its volume is pointed at the outgoing claim
//	last      a sender on the outgoing claim; passes until both roots are equal; they are recorded
//	take over movers gone, the incoming volume parked, then pointed at the ordinal's claim
//
// Until the last of these the way back is open: the giver's volume is intact, and is pointed back.
//
// What keeps the data safe:
//
//   - from the moment when the giver's volume names the outgoing claim nothing can mount it under the
//     ordinal's name, so what is sealed after that cannot change;
//   - a seal counts for one release of the giver's volume alone: when it was pointed back in between,
//     somebody may have written to it;
//   - a mover writes only while it has an order, and an order is a write to that very pod as it was
//     judged; a pod that is made too late never gets one;
//   - each process writes its fence on a mover before it believes what it says, so no order of an
//     older one arrives after that;
//   - an incoming claim is made under the fence under which its attempt was begun, or not at all: one
//     that comes late has a name that nobody uses any more;
//   - the incoming volume is pointed elsewhere only when no mover is left and nothing is attached; the
//     incoming claim stays until the ordinal's claim is bound.
//
// Everything here is pure: the same View, the same Verdict.
package copy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// View is all that is known of one claim on its way.
type View struct {
	// Fence is the one of the present epoch, and Owner the UID of the migration.
	Fence string
	Owner types.UID
	// Attempt counts the incoming volumes that were begun, from 1, and Begun is the fence under which
	// that one was.
	Attempt int32
	Begun   string
	// Giver and Taker are the ordinal's claims; the giver's with the volume to be copied.
	Giver, Taker volumes.Holding
	// Released is the fence under which the giver's volume was pointed at the outgoing claim; empty: it
	// is not there. It is written and removed by the same writes that point the volume.
	Released string
	// Incoming is the claim at the taker's side that the copy is made in, and Outgoing the one at the
	// giver's side from which the last pass reads.
	Incoming, Outgoing volumes.Holding
	// Receiver, Warm and Last are the movers: the one that writes, the one that reads while the
	// ordinal runs, and the one that reads when it has been stopped.
	Receiver, Warm, Last Mover
	// Stays is true while the ordinal's pod runs at the giver, is Ready, and is to be copied: not in a
	// pause, and not when the migration is deleted.
	Stays bool
	// Node is where it runs.
	Node string
	// Sealed are the seals that were recorded; zero: none.
	Sealed Seals
	// Budget bounds the downtime of the ordinal as it is projected; 0: it is not bounded.
	Budget time.Duration
}

// Seals are both roots as they were recorded before a mover was deleted.
type Seals struct {
	// Root is what both sides have shown, and Pass in which.
	Root string
	Pass int32
	// Attempt is whose incoming volume it is, and Released the release of the giver's volume.
	Attempt  int32
	Released string
	// From and To are the disks that were read, as volumes.Disk has them.
	From, To string
}

// Role is what a mover does.
type Role string

// The roles.
const (
	Receiver Role = "receiver"
	Warm     Role = "warm"
	Last     Role = "last"
)

// Mover is a pod that reads or writes a volume, as it was seen.
type Mover struct {
	Found, Terminating bool
	UID                types.UID
	ResourceVersion    string
	// Attempt is whose incoming volume it is about.
	Attempt int32
	// Fence is the fence under which a migration wrote it last.
	Fence string
	// Key is the fingerprint of the key that it has made; empty: it has not said so yet.
	Key string
	// Order is what it was told last.
	Order Order
	// Ended is true when its process is over, in whatever way.
	Ended bool
	// Result is of the last pass that it has ended.
	Result Result
}

// Order is one pass between two movers that know each other by their keys.
type Order struct {
	// Pass counts from 1; 0: none.
	Pass int32
	Peer string
}

// Result is what a mover says at the end of a pass.
type Result struct {
	Order
	// Root is the digest of all that is on the volume; empty: the pass took none.
	Root string
	// Compared is true when every entry that had not changed was found equal, metadata included.
	Compared bool
	// Differs is the first path whose entries differ.
	Differs string
	// Torn is why the volume must not be used any more: an error in reading back what was written.
	Torn string
	// Nth counts the passes that this mover has ended.
	Nth int32
	// Downtime is how long the ordinal would be away if it was stopped now.
	Downtime time.Duration
}

// Verb says what to do.
type Verb string

// The verbs, in the order of a move. None deletes a volume.
const (
	Secure         Verb = "Secure"
	CreateIncoming Verb = "CreateIncoming"
	CreateMover    Verb = "CreateMover"
	MarkMover      Verb = "MarkMover"
	Tell           Verb = "Tell"
	Release        Verb = "Release"
	CreateOutgoing Verb = "CreateOutgoing"
	DeleteMover    Verb = "DeleteMover"
	Record         Verb = "Record"
	Begin          Verb = "Begin"
	SecureIncoming Verb = "SecureIncoming"
	ParkIncoming   Verb = "ParkIncoming"
	TakeOver       Verb = "TakeOver"
	CreateClaim    Verb = "CreateClaim"
	MarkClaim      Verb = "MarkClaim"
	ParkGiver      Verb = "ParkGiver"
	DeleteIncoming Verb = "DeleteIncoming"
	DeleteOutgoing Verb = "DeleteOutgoing"
	PointBack      Verb = "PointBack"
)

// Action is one write. UID and ResourceVersion are those of what is written, as it was judged.
type Action struct {
	Verb            Verb
	Role            Role
	UID             types.UID
	ResourceVersion string
	// Fence is what is written is marked with.
	Fence string
	// Ref is what a claimRef becomes, or the claim to create or delete; Volume is what it names.
	Ref    volumes.Ref
	Volume string
	// Order is for Tell, Seals for Record and TakeOver.
	Order Order
	Seals Seals
	// Node is where a mover must run; empty: where it can.
	Node string
}

// Verdict is what to do next: at most one of its fields is set; with none of them it is done.
type Verdict struct {
	Action  *Action
	Waits   string
	Blocked *volumes.Problem
}

// Done says whether nothing is left to do.
func (v Verdict) Done() bool { return v.Action == nil && v.Waits == "" && v.Blocked == nil }

// IncomingRef is the claim that an attempt's copy is made in, and OutgoingRef the one that the last
// pass reads. No name ends in a dash and a number, which would make it an ordinal's, and no attempt
// has the name of another one: some provisioners give the same name the same directory again, and a
// claim that is made too late would lead into the copy.
func IncomingRef(claim volumes.Ref, owner types.UID, attempt int32) volumes.Ref {
	return named("in", claim, owner, fmt.Sprintf("-a%d", attempt))
}

// OutgoingRef is the claim at the giver's side from which the last pass reads. It names its volume, so
// none is made for it.
func OutgoingRef(claim volumes.Ref, owner types.UID) volumes.Ref {
	return named("out", claim, owner, "")
}

func named(which string, claim volumes.Ref, owner types.UID, suffix string) volumes.Ref {
	sum := sha256.Sum256([]byte(string(owner) + "/" + claim.Namespace + "/" + claim.Name))
	return volumes.Ref{Namespace: claim.Namespace, Name: fmt.Sprintf("sliceshift-%s-x%s%s", which, hex.EncodeToString(sum[:8]), suffix)}
}

func (v View) act(verb Verb) Verdict { return Verdict{Action: &Action{Verb: verb, Fence: v.Fence}} }

// write is an action on a volume as it was judged.
func (v View) write(verb Verb, volume volumes.Volume, ref volumes.Ref) Verdict {
	return Verdict{Action: &Action{Verb: verb, Fence: v.Fence, UID: volume.UID, ResourceVersion: volume.ResourceVersion, Ref: ref, Volume: volume.Name}}
}

func waits(format string, a ...any) Verdict { return Verdict{Waits: fmt.Sprintf(format, a...)} }

func blocked(reason, message, remedy string) Verdict {
	return Verdict{Blocked: &volumes.Problem{Reason: reason, Message: message, Remedy: remedy}}
}

// secured says whether a volume survives the loss of its claim, and no late write can undo it.
func (v View) secured(h volumes.Holding) bool {
	return h.SecuredBy(v.Owner) && h.Volume.Fence == v.Fence
}
