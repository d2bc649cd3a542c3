// Package copy decides how the bytes of one claim get from the giver to the taker: method Copy.
//
// The copy arrives under another name, is sealed, and is then rebound. It is made in the incoming
// claim, on which no StatefulSet can start. When both sides have shown the same content its volume is
// pointed at the ordinal's claim, as Rebind does inside one cluster:
//
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
//   - a mover makes one pass, and begins when it was told its peer, which is a write to that very pod as
//     it was judged; a pod that is made too late is never told;
//   - each process writes its fence on a mover before it believes what it says, so nothing that an
//     older one tells it arrives after that;
//   - an incoming claim is made under the fence under which its attempt was begun, or not at all: one
//     that comes late has a name that nobody uses any more;
//   - the incoming volume is pointed elsewhere only when no mover is left and nothing is attached; the
//     incoming claim stays until the ordinal's claim is bound.
//
// Everything here is pure: the same pair, the same verdict.
package copy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Copy is the method that copies bytes, but for its writes.
type Copy struct{}

// Separate is true: each side has a volume of its own.
func (Copy) Separate() bool { return true }

// Check returns why a claim cannot be copied, or nil.
func (c Copy) Check(pair volumes.Pair) *volumes.Problem {
	return cmp.Or(volumes.Usable(pair.Giver), c.Free(pair), unasked(pair))
}

// Free returns why the taker's place is taken, or nil: a claim there has something in it that this
// migration has neither made nor left there.
func (Copy) Free(pair volumes.Pair) *volumes.Problem {
	taker := pair.Taker
	if !taker.Claim.Found || taker.Claim.Ours || left(pair) {
		return nil
	}
	return foreignClaim(taker)
}

// left says whether the taker's claim has lost its volume because this migration has parked that.
func left(pair volumes.Pair) bool {
	return pair.Taker.Parked() && pair.Taker.SecuredBy(pair.Owner)
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
	v := forward(pair)
	v.c.Back = false // what was copied the other way before is over
	return v.secure(pair.Giver)
}

// Confirm returns why the giver's volume may not be the one that its ordinal had when it was
// stopped, or nil.
func (Copy) Confirm(pair volumes.Pair, disk string) *volumes.Problem {
	giver := pair.Giver
	switch {
	case !giver.Volume.Found || justTaken(pair):
		return nil
	case giver.Volume.Note.By != pair.Owner && !giver.Parked():
		return volumes.NotSecured(giver)
	}
	return volumes.Replaced(giver, disk)
}

// justTaken says whether the giver's volume is a copy that was taken over in this handoff, before the move
// turned round: what was recorded of the ordinal is the volume that was copied.
func justTaken(pair volumes.Pair) bool {
	if pair.Copy == nil || !pair.Copy.Back {
		return false
	}
	seal, volume := pair.Copy.Attempt.Seal, pair.Giver.Volume
	return seal.Volume == volume.Name && seal.To == volumes.Disk(volume.Handle) && seal.Root == volume.Seal && seal.Root != ""
}

// Carried says why an ordinal is not known to be on the copy that was made for it, or nil.
func (Copy) Carried(t volumes.Taken) *volumes.Problem {
	at := t.At
	claim := fmt.Sprintf("claim %s/%s of an ordinal that was handed over ", at.Ref.Namespace, at.Ref.Name)
	look := fmt.Sprintf("look what it holds, and keep it: kubectl describe pvc -n %s %s", at.Ref.Namespace, at.Ref.Name)
	another := func(what string) *volumes.Problem {
		return &volumes.Problem{Reason: volumes.ReasonAnotherDisk, Message: claim + what, Remedy: look}
	}
	switch {
	case !at.Claim.Found:
		return another("does not exist any more: its pod would start without its data")
	case !at.Volume.Found || at.Claim.Volume != at.Volume.Name:
		return another(fmt.Sprintf("is on volume %q, which is not the one that was copied", at.Claim.Volume))
	case t.Made && at.Volume.Seal == "":
		return another(fmt.Sprintf("is on volume %s, which bears no seal of a copy", at.Volume.Name))
	case t.Made && t.From.Volume.Found && t.From.Volume.Handle == at.Volume.Handle:
		return another("is on the disk that it had: it was not moved by method Copy")
	case !at.Bound():
		return another("is not bound to its volume any more")
	}
	return nil
}

// Settle gives the taker's volume its reclaim policy back.
func (Copy) Settle(pair volumes.Pair) volumes.Verdict { return volumes.Rebind{}.Settle(pair) }

// AtGiver says where an action is done.
func (Copy) AtGiver(action volumes.Action) bool { return action.Copy.AtGiver }

// Numbered is the number of an attempt that begins at a time, after another one. It is the time in
// seconds, so that no two handoffs of an ordinal have the same names: some provisioners give the same
// name the same directory again.
func Numbered(now time.Time, last int32) int32 {
	since := int64(now.Sub(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Second)
	return max(int32(min(since, 1<<30)), last+1) //nolint:gosec // bounded
}

// IncomingRef is the claim that an attempt's copy is made in. No name ends in a dash and a number,
// which would make it an ordinal's, and no attempt has the name of another one.
func IncomingRef(claim volumes.Ref, owner types.UID, attempt int32) volumes.Ref {
	return volumes.Ref{Namespace: claim.Namespace, Name: named("in", claim, owner) + attemptSuffix(attempt)}
}

// OutgoingRef is the claim at the giver's side from which the last pass reads. It names its volume, so
// none is made for it.
func OutgoingRef(claim volumes.Ref, owner types.UID) volumes.Ref {
	return volumes.Ref{Namespace: claim.Namespace, Name: named("out", claim, owner)}
}

// PodName is the mover of an attempt in a role, beside the ordinal's claim on its side. Each pass has a new
// pod of that name.
func PodName(role volumes.Role, claim volumes.Ref, owner types.UID, attempt int32) string {
	return named(string(role), claim, owner) + attemptSuffix(attempt)
}

func attemptSuffix(attempt int32) string { return "-a" + strconv.FormatInt(int64(attempt), 36) }

func named(which string, claim volumes.Ref, owner types.UID) string {
	sum := sha256.Sum256([]byte(string(owner) + "/" + claim.Namespace + "/" + claim.Name))
	return fmt.Sprintf("sliceshift-%s-x%s", which, hex.EncodeToString(sum[:8]))
}

func foreignClaim(h volumes.Holding) *volumes.Problem {
	return &volumes.Problem{
		Reason:  volumes.ReasonForeignClaim,
		Message: fmt.Sprintf("claim %s/%s exists and names the volume %q, and this migration has not made it: the copy cannot take its place", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		Remedy:  fmt.Sprintf("look what it holds, then remove it: kubectl delete pvc -n %s %s", h.Ref.Namespace, h.Ref.Name),
	}
}

// begun is what is recorded when an attempt begins.
func (v view) begun() *api.CopyAttempt {
	return &api.CopyAttempt{Number: Numbered(v.c.Now, v.c.Attempt.Number), Begun: v.Fence}
}
