// Package copy decides how the bytes of one claim get from the giver to the taker: method Copy.
//
// The copy arrives under another name, is sealed, and is then rebound. It is made in the incoming
// claim, on which no StatefulSet can start. When both sides have shown the same content its volume is
// pointed at the ordinal's claim, as Rebind does inside one cluster:
//
//	warm      while the ordinal runs: a receiver on the incoming claim, a warm sender beside its pod, on the
//	          same claim and node, read-only; pass after pass, until little is left to the last one. Where no
//	          second pod may mount that claim, it reads one that is restored from a snapshot of it, anew for
//	          each pass
//	stop      the ordinal is scaled down; its volume is pointed at the outgoing claim
//	pass      a receiver on the incoming claim, a sender on the outgoing one; another pass until both
//	          roots are equal; they are recorded
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
//   - a warm pass is never taken for the last one: its movers bear a mark, show no root, and its sender has
//     another name; the last pass compares every byte again, whatever the warm ones have brought;
//   - a warm sender cannot write, and traps nobody: it runs where the ordinal's pod runs, goes as soon as that
//     does, and before the ordinal is stopped. One that comes late is deleted, and ends by itself;
//   - a receiver that finds something on a volume to which nobody was let write yet makes no key, so that nothing is written: a pass
//     removes what the ordinal does not have. That volume is not removed either;
//   - a mover makes one pass, and begins when it was told its peer, which is a write to that very pod as
//     it was judged; a pod that is made too late is never told;
//   - each process writes its fence on a mover before it believes what it says, so nothing that an
//     older one tells it arrives after that;
//   - an incoming claim is made under the fence under which its attempt was begun, or not at all: one
//     that comes late has a name that nobody uses any more;
//   - the incoming volume is pointed elsewhere only when no mover is left and nothing is attached; the
//     incoming claim stays until the ordinal's claim is bound;
//   - what was copied for nothing is removed while the ordinal has its own volume, once it is recorded that nobody
//     goes on with that attempt, and only a disk that no other volume is.
//
// Everything here is pure: the same pair, the same verdict.
package copy

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Copy is the method that copies bytes, but for its writes.
type Copy struct{ volumes.Second }

// Check returns why a claim cannot be copied, or nil.
func (c Copy) Check(pair volumes.Pair) *volumes.Problem {
	return cmp.Or(volumes.Usable(pair.Giver), c.Free(pair), unasked(pair))
}

// unasked is what a person must say before a claim can be copied.
func unasked(pair volumes.Pair) *volumes.Problem {
	template, asked := pair.Template, volumes.CopyAsked{}
	if pair.Copy != nil {
		asked = pair.Copy.Asked
	}
	switch {
	case asked.Image == "":
		return &volumes.Problem{
			Reason:  volumes.ReasonCopyImageMissing,
			Message: "method Copy runs pods of an image with the mover, and none is named for claim template " + template,
			Remedy:  fmt.Sprintf("name the image of the manager, of this version: --volume %[1]s=copy,image=IMAGE, or copy.image for claim template %[1]s in spec.volumes", template),
		}
	case asked.Size > 0 && asked.Size < asked.Needed:
		return &volumes.Problem{
			Reason:  volumes.ReasonCopySizeTooSmall,
			Message: fmt.Sprintf("copy.size of claim template %s is %d bytes, and claim %s/%s has %d: the copy may not fit", template, asked.Size, pair.Giver.Ref.Namespace, pair.Giver.Ref.Name, asked.Needed),
			Remedy:  "ask for at least as much, or leave copy.size out",
		}
	}
	return nil
}

// Prepare makes the giver's volume survive the loss of its claim.
func (Copy) Prepare(pair volumes.Pair) volumes.Verdict {
	if problem := cmp.Or(volumes.Usable(pair.Giver), unasked(pair)); problem != nil {
		return volumes.Verdict{Blocked: problem}
	}
	v := volumes.Handing{Pair: pair} // what was copied the other way before is over
	return v.Secure(pair.Giver)
}

// PodName is the mover of an attempt in a role, beside the ordinal's claim on its side. Each pass has a new
// pod of that name.
func PodName(role volumes.Role, claim volumes.Ref, owner types.UID, attempt int32) string {
	return volumes.AttemptName(string(role), claim, owner, attempt)
}
