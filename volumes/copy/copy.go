// Package copy decides how the bytes of one claim get from the giver to the taker: method Copy.
//
// The copy is made under another name, is sealed, and is then rebound. It is made in the incoming claim, on
// which no StatefulSet can start. When both sides have shown the same content, the claimRef of its volume is
// set to the ordinal's claim, as Rebind does inside one cluster:
//
//	warm      while the ordinal runs: a receiver on the incoming claim, and a warm sender beside its pod, on the
//	          same claim and node, read-only. Passes repeat until little is left to the last one. If no second
//	          pod may mount that claim, each pass reads a claim that is restored from a new snapshot of it
//	standby   while the ordinal runs: the movers of the last pass start, the sender beside the ordinal's pod
//	stop      the ordinal is scaled down; its volume is pointed at the outgoing claim
//	pass      the receiver is introduced to the sender; a sender that could not stand by, or has died, is created
//	          on the outgoing claim. Passes repeat until both roots are equal, and these are recorded
//	take over the movers have ended; the incoming volume is parked, then pointed at the ordinal's claim
//	start     the ordinal starts; then the movers and the claims of the copy are deleted
//
// Until the take-over the ordinal can go back: the giver's volume is intact, and is pointed back.
//
// These rules keep the data safe:
//
//   - Once the giver's volume names the outgoing claim, nothing can mount it under the ordinal's name.
//     Content that is sealed after that cannot change.
//   - A seal counts for one release of the giver's volume only. If the volume was pointed back in between, a
//     pod may have written to it.
//   - With verify Later, a seal is the root of the copy alone. The volume that the ordinal has left is read whole
//     after the start (late.go). Until its root is recorded and equal, it is kept, and the migration is not completed.
//   - A warm pass is never mistaken for the last one. Its movers carry a mark and report no root, and its
//     sender has another name. The last pass compares every byte again, except files
//     that are trusted with copy.verify Changed.
//   - A sender beside the ordinal's pod cannot write and does not pin that pod. It runs on that pod's node, and is
//     deleted as soon as that pod is, unless this migration stops the ordinal. Then the sender of the last pass
//     stays, if it does not keep the volume attached: see exclusive. A sender that starts late is deleted, and also
//     exits on its own.
//   - The last pass begins when the receiver gets the key of the sender, and it gets that only after the giver's
//     volume was taken from the ordinal's claim.
//   - A receiver that finds files on a volume to which no mover could have written yet creates no key, so
//     that nothing is written. A pass removes whatever the ordinal does not have. That volume is not deleted
//     either.
//   - A mover makes one pass. It begins when the key of its peer is written to that very pod, in the version
//     that was judged. A pod that is created too late never gets a key.
//   - Each process writes its fence on a mover before it trusts the mover's report. No later write of an
//     older process then succeeds.
//   - An incoming claim is created under the fence under which its attempt began, or not at all. A late one
//     has a name that is no longer used.
//   - The incoming volume is pointed elsewhere only if no mover runs, and is attached at most to the node of the receiver
//     that has sealed it and has ended well. The ordinal starts only if no mover runs that has one of the two volumes mounted. The incoming claim stays until the ordinal runs.
//   - An abandoned copy is removed while the ordinal has its own volume, after it is recorded that the
//     attempt does not continue. Only a disk that no other volume refers to is removed.
//
// This package is pure: the same pair gives the same verdict.
package copy

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Copy is the method that copies bytes, without its writes.
type Copy struct{ volumes.Second }

// Facts returns that each side has a volume of its own, and that it may be filled while the ordinal runs.
func (Copy) Facts() volumes.Facts { return volumes.Facts{Separate: true, Fills: fills} }

// fills reports whether there are passes while the ordinal runs.
func fills(pair volumes.Pair) bool { return viewOf(pair).warms() }

// Check returns why a claim cannot be copied, or nil.
func (c Copy) Check(pair volumes.Pair, at volumes.Moment) (*volumes.Reason, []volumes.Reason) {
	refused, _ := c.Second.Check(pair, at)
	if at != volumes.BeforeMove {
		return refused, nil
	}
	return cmp.Or(refused, unasked(pair)), viewOf(pair).warnings()
}

// Ahead makes the copy.
func (Copy) Ahead(pair volumes.Pair, goal volumes.Goal) volumes.Verdict {
	v := viewOf(pair)
	switch goal {
	case volumes.Claimed:
		return v.claim()
	case volumes.Warm:
		return v.ahead()
	case volumes.Standby:
		return v.standby()
	case volumes.Placed:
		return v.placed()
	case volumes.Filled:
		return v.fill()
	case volumes.Withdrawn:
		return v.withdraw()
	case volumes.Halted:
		return volumes.First(v.quiet, v.dismissBase)
	case volumes.Dropped:
		return v.drop()
	case volumes.Proven:
		return v.prove()
	case volumes.Unproven:
		return v.unprove()
	}
	return volumes.Verdict{}
}

// unasked returns the problem of a setting that the user must make before a claim can be copied.
func unasked(pair volumes.Pair) *volumes.Reason {
	template, asked := pair.Template, volumes.CopyAsked{}
	if pair.Copy != nil {
		asked = pair.Copy.Asked
	}
	switch {
	case asked.Image == "":
		return volumes.Stalled(
			volumes.ReasonCopyImageMissing,
			"method Copy runs pods with the mover's image, and none is set for claim template "+template,
			fmt.Sprintf("name the image of the manager, of this version: --volume %[1]s=copy,image=IMAGE, or copy.image for claim template %[1]s in spec.volumes", template),
		)
	case asked.Size > 0 && asked.Size < asked.Needed:
		return volumes.Stalled(
			volumes.ReasonCopySizeTooSmall,
			fmt.Sprintf("copy.size of claim template %s is %d bytes, and claim %s/%s has %d: the copy may not fit", template, asked.Size, pair.Giver.Ref.Namespace, pair.Giver.Ref.Name, asked.Needed),
			"ask for at least as much, or leave copy.size out",
		)
	}
	return nil
}

// Prepare makes the giver's volume survive the loss of its claim.
func (Copy) Prepare(pair volumes.Pair) volumes.Verdict {
	if problem := cmp.Or(volumes.Usable(pair.Giver), unasked(pair)); problem != nil {
		return volumes.Held(problem)
	}
	v := volumes.Handing{Pair: pair} // a copy in the other direction is over
	return v.Secure(pair.Giver)
}

// PodName returns the name of an attempt's mover in a role, beside the ordinal's claim on its side. Each pass
// has a new pod of that name.
func PodName(role volumes.Role, claim volumes.Ref, owner types.UID, attempt int32) string {
	return volumes.AttemptName(string(role), claim, owner, attempt)
}
