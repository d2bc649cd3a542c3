package volumes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Second is the shared part of the methods that fill a second volume with the content of the first: Copy and
// Snapshot.
type Second struct{}

// Facts returns that each side has a volume of its own.
func (Second) Facts() Facts { return Facts{Separate: true} }

// Check returns why the pair may not go on, or nil. Each method adds its own reasons before the move.
func (s Second) Check(pair Pair, at Moment) (*Reason, []Reason) {
	switch at {
	case BeforeMove:
		return cmp.Or(Usable(pair.Giver), s.occupied(pair)), nil
	case BeforeStop:
		return s.occupied(pair), nil
	case AfterStop:
		return s.unknown(pair), nil
	default:
		return s.astray(pair), nil
	}
}

// occupied returns why the taker's place is taken, or nil. A claim there that this migration has neither created
// nor left there holds data.
func (Second) occupied(pair Pair) *Reason {
	taker := pair.Taker
	if left(pair) && !pair.Taker.Bound() {
		return MayStay(taker)
	}
	if !taker.Claim.Found || taker.Claim.Ours || left(pair) {
		return nil
	}
	return cmp.Or(leftBehind(pair), inTheWay(taker))
}

// left reports whether the taker's claim has lost its volume because this migration has parked that volume.
func left(pair Pair) bool { return pair.Taker.Parked() && pair.Taker.SecuredBy(pair.Owner) }

// unknown returns why the giver's volume may not be the one that its ordinal had when it was stopped, or nil.
func (Second) unknown(pair Pair) *Reason {
	giver := pair.Giver
	switch {
	case !giver.Volume.Found || justTaken(pair) || stays(pair.Taker, pair.Disk):
		return nil
	case giver.Volume.Note.By != pair.Owner && !giver.Parked():
		return NotSecured(giver)
	}
	return pair.Replaced()
}

// stays reports whether the taker has the recorded volume, and it was not carried away from there. The move has
// been reversed twice before a second volume was filled.
func stays(taker Holding, disk string) bool {
	return taker.Volume.Found && !taker.Parked() && Disk(taker.Volume.Handle) == disk
}

// justTaken reports whether the giver's volume is a second one that was taken over in this handoff before the
// move was reversed. The volume that was recorded for the ordinal is the first.
func justTaken(pair Pair) bool {
	if pair.Copy == nil || !pair.Copy.Back {
		return false
	}
	seal, volume := pair.Copy.Attempt.Seal, pair.Giver.Volume
	return seal.Volume == volume.Name && seal.To == Disk(volume.Handle) && seal.Root == volume.Seal && seal.Root != ""
}

// astray returns why an ordinal is not known to be on the volume that was filled for it, or nil.
func (Second) astray(pair Pair) *Reason {
	at, from := pair.Taker, pair.Giver
	claim := fmt.Sprintf("claim %s/%s of an ordinal that was handed over ", at.Ref.Namespace, at.Ref.Name)
	look := "inspect its data, and keep it: " + at.Describe()
	another := func(what string) *Reason {
		return Stalled(ReasonAnotherDisk, claim+what, look)
	}
	switch {
	case !at.Claim.Found:
		return another("does not exist any more: its pod would start without its data")
	case !at.Volume.Found || at.Claim.Volume != at.Volume.Name:
		return another(fmt.Sprintf("is on volume %q, which is not the one that was filled for it", at.Claim.Volume))
	case pair.Carried && at.Volume.Seal == "":
		return another(fmt.Sprintf("is on volume %s, which has no seal", at.Volume.Name))
	case pair.Carried && from.Volume.Found && from.Volume.Handle == at.Volume.Handle:
		return another("is on the disk that it had: no second one was filled")
	case !at.Bound():
		return another("is not bound to its volume any more")
	}
	return nil
}

// Settle restores the reclaim policy of the taker's volume.
func (Second) Settle(pair Pair) Verdict { return Rebind{}.Settle(pair) }

// Returns reports whether the taker still has the current volume. Nothing was carried away from it, and the
// giver's volume does not exist or is parked. It is also true for a parked volume if the user has confirmed
// that it is current (Word.ReturnsToKept), as when the giver's side is lost for good.
func Returns(pair Pair) bool {
	giver, taker := pair.Giver, pair.Taker
	if giver.Volume.Found && !giver.Parked() || !taker.Volume.Found || !taker.Claim.Found {
		return false
	}
	return taker.Volume.ClaimRef.Names(taker.Ref) || pair.Word.ReturnsToKept && taker.Parked()
}

// Numbered returns the number of an attempt that begins at now, after all attempts of the move before it; last
// is the highest of their numbers. It is the time in seconds, so that two moves of an ordinal do not use the
// same names either: some provisioners reuse the directory of an earlier volume of the same name.
func Numbered(now time.Time, last int32) int32 {
	since := int64(now.Sub(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Second)
	return max(int32(min(since, 1<<30)), last+1) //nolint:gosec // bounded
}

// IncomingRef names the claim in which an attempt's second volume is filled. No such name ends in a dash and a
// number, which would make it an ordinal's. No two attempts have the same name.
func IncomingRef(claim Ref, owner types.UID, attempt int32) Ref {
	return Ref{Namespace: claim.Namespace, Name: AttemptName("in", claim, owner, attempt)}
}

// OutgoingRef names the claim at the giver's side that holds the first volume during the attempt. It names its
// volume, so no volume is provisioned for it.
func OutgoingRef(claim Ref, owner types.UID) Ref {
	return Ref{Namespace: claim.Namespace, Name: named("out", claim, owner)}
}

// AttemptName returns the name of an object that an attempt needs beside the ordinal's claim on a side.
func AttemptName(which string, claim Ref, owner types.UID, attempt int32) string {
	return named(which, claim, owner) + "-a" + strconv.FormatInt(int64(attempt), 36)
}

// KeptBeside reports whether a name is that of an object that a migration keeps beside a claim while it fills a
// second volume: a claim, a pod, a Service or a snapshot.
func KeptBeside(name string, claim Ref, owner types.UID) bool {
	return strings.HasPrefix(name, "sliceshift-") && strings.Contains(name, "-x"+digest(claim, owner))
}

func named(which string, claim Ref, owner types.UID) string {
	return fmt.Sprintf("sliceshift-%s-x%s", which, digest(claim, owner))
}

func digest(claim Ref, owner types.UID) string {
	sum := sha256.Sum256([]byte(string(owner) + "/" + claim.Namespace + "/" + claim.Name))
	return hex.EncodeToString(sum[:8])
}

// inTheWay returns the problem of a claim at the taker that holds data.
func inTheWay(h Holding) *Reason {
	return Stalled(
		ReasonForeignClaim,
		fmt.Sprintf("claim %s/%s exists and names the volume %q, and this migration did not create it: the new volume cannot take its place", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		"look at its data; to free the name and keep the disk: "+h.Delete(),
	)
}
