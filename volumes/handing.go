package volumes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Look is how often what no watch tells of is looked at.
const Look = 500 * time.Millisecond

// Handing is a pair as its attempt sees it: where the move has turned round since, its giver is the pair's taker.
// Its steps are those that methods have in common which fill a second volume: the giver's volume is released, the
// second one is taken over under the ordinal's name, or the giver's is pointed back. Each is asked for again until
// it is done.
type Handing struct {
	Pair
	Copying
}

// HandingOf is a pair as its attempt sees it.
func HandingOf(pair Pair) Handing {
	h := Handing{Pair: pair}
	if pair.Copy != nil {
		h.Copying = *pair.Copy
	}
	if h.Back {
		h.Giver, h.Taker = h.Taker, h.Giver
	}
	return h
}

// First is the first verdict that is not done.
func First(steps ...func() Verdict) Verdict {
	for _, step := range steps {
		if verdict := step(); !verdict.Done() {
			return verdict
		}
	}
	return Verdict{}
}

// Act is an action without more, on the attempt's giver's side or on its taker's.
func (h Handing) Act(verb Verb, atGiver bool) Verdict {
	return Verdict{Action: &Action{Verb: verb, Fence: h.Fence, Copy: CopyAction{AtGiver: atGiver != h.Back}}}
}

// Write is an action on a volume as it was judged.
func (h Handing) Write(verb Verb, volume Volume, ref Ref, atGiver bool) Verdict {
	verdict := h.Act(verb, atGiver)
	a := verdict.Action
	a.Volume, a.UID, a.ResourceVersion, a.Ref = volume.Name, volume.UID, volume.ResourceVersion, ref
	a.Note = Note{Policy: volume.OriginalFor(h.Owner), By: h.Owner}
	return verdict
}

// returned has a volume that is written lose the mark of its release.
func returned(verdict Verdict) Verdict {
	verdict.Action.Copy.Returned = true
	return verdict
}

// Awaits is a verdict that waits for what no watch tells of.
func Awaits(format string, a ...any) Verdict {
	return Verdict{Waits: fmt.Sprintf(format, a...), Look: Look}
}

// Secure makes the giver's volume survive the loss of its claim.
func (h Handing) Secure(giver Holding) Verdict {
	if h.secured(giver) {
		return Verdict{}
	}
	return h.Write(Secure, giver.Volume, giver.Ref, true)
}

// Begun is what is recorded when another attempt begins.
func (h Handing) Begun() *api.CopyAttempt {
	return &api.CopyAttempt{Number: Numbered(h.Now, max(h.Attempt.Number, h.LastAttempt)), Begun: h.Fence}
}

// Sealed says whether the seal that is recorded is about the two volumes as they are now.
func (h Handing) Sealed() bool {
	seal, in := h.Attempt.Seal, h.Incoming.Volume
	return seal.Root != "" && h.Giver.Volume.Released != "" && seal.Released == h.Giver.Volume.Released &&
		in.Found && seal.Volume == in.Name && seal.From == Disk(h.Giver.Volume.Handle) && seal.To == Disk(in.Handle)
}

// Taken says whether the second volume has been pointed at the ordinal's claim: there is no way back from then
// on but by another one.
func (h Handing) Taken() bool {
	in := h.Incoming.Volume
	return h.Attempt.Number > 0 && in.Found && in.ClaimRef.Names(h.Taker.Ref)
}

// Release points the giver's volume at the outgoing claim: from then on nothing mounts it under the
// ordinal's name.
func (h Handing) Release() Verdict {
	out, volume := h.Outgoing.Ref, h.Giver.Volume
	out.UID = h.Outgoing.Claim.UID
	have := volume.ClaimRef
	switch problem := h.unreleasable(); {
	case problem != nil:
		return blocked(problem)
	case !h.secured(h.Giver):
		return h.Write(Secure, volume, h.Giver.Ref, true)
	case h.Outgoing.Claim.Ours && h.Outgoing.Claim.Terminating:
		return Verdict{Waits: h.Outgoing.claimDeletion().waits(), Deletion: h.Outgoing.claimDeletion(), Look: Look}
	case h.Outgoing.Claim.Found && h.Outgoing.Claim.Ours && h.Outgoing.Claim.Volume != volume.Name:
		return h.deleteLost(h.Outgoing, true) // it has come late, for a volume that was copied before
	case !have.Names(out) && h.Sender.Found && !h.Sender.Foreign && h.Sender.Pass > h.Attempt.Passes:
		return h.givenBack()
	case !have.Names(out) || volume.Released == "" || have.UID != "" && have.UID != out.UID:
		verdict := h.Write(Release, volume, out, true)
		verdict.Action.Copy.Released = h.Fence
		if !have.Names(out) {
			verdict.Action.Copy.Released = h.mark()
		}
		return verdict
	case !h.Outgoing.Claim.Found:
		verdict := h.Act(CreateOutgoing, true)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = out, volume.Name, volume.Class
		return verdict
	case !h.Outgoing.Bound():
		return Awaits("claim %s/%s is bound to volume %s", out.Namespace, out.Name, volume.Name)
	}
	return Verdict{}
}

// unreleasable is why the giver's volume cannot be pointed at the outgoing claim; nil: it can, or is.
func (h Handing) unreleasable() *Problem {
	have, released := h.Giver.Volume.ClaimRef, h.Giver.Volume.ClaimRef.Names(h.Outgoing.Ref)
	switch {
	case !h.Giver.Volume.Found:
		return h.volumeGone()
	case !released && !have.Names(h.Giver.Ref):
		return strayed(h.Giver)
	case !released:
		return departing(h.Giver)
	}
	return nil
}

// givenBack is for a volume that somebody has pointed back while it was read: what that pass has found counts for nothing.
func (h Handing) givenBack() Verdict {
	next := h.Attempt
	next.Passes, next.Seal, next.Differs = h.Sender.Pass, api.CopySeal{}, "the volume itself, which was given back to its ordinal meanwhile"
	return Verdict{Attempt: &next}
}

// mark tells a release from every other one that is known: where somebody has pointed the volume back under the same fence, by
// hand, its ordinal may have written, and what was read or taken before counts for nothing.
func (h Handing) mark() string {
	known := []string{h.Giver.Volume.Released, h.Attempt.Seal.Released, h.Attempt.Snapshot.Released, h.Snapshot.Taken.Released}
	mark := h.Fence
	for n := 1; slices.Contains(known, mark); n++ {
		mark = fmt.Sprintf("%s+%d", h.Fence, n)
	}
	return mark
}

// volumeGone is for a giver whose volume is not there, or is not known since somebody has deleted the claim that names it.
func (h Handing) volumeGone() *Problem {
	own, out := h.Giver, h.Outgoing
	claim := fmt.Sprintf("claim %s/%s", own.Ref.Namespace, own.Ref.Name)
	if own.Claim.Found || !out.Claim.Found || out.Claim.Volume == "" {
		return &Problem{ReasonVolumeLost, "the volume of " + claim + " does not exist on this side", "restore the PersistentVolume object"}
	}
	return &Problem{
		ReasonVolumeLost, fmt.Sprintf("%s was deleted while its volume %s was taken from it: claim %s/%s has that now, and it is intact", claim, out.Claim.Volume, out.Ref.Namespace, out.Ref.Name),
		fmt.Sprintf("make the claim again as it was, with spec.volumeName: %s; the form of the other one is %s", out.Claim.Volume, out.Command("get pvc -n %s %s -o yaml", out.Ref.Namespace, out.Ref.Name)),
	}
}

// HandOver points the second volume at the ordinal's claim, with the seal. It is for a volume that nothing writes
// to any more.
func (h Handing) HandOver() Verdict {
	in, taker := h.Incoming, h.Taker
	switch {
	case len(in.Volume.Attachments) > 0:
		return Awaits("volume %s is not attached to node %s any more", in.Volume.Name, in.Volume.Attachments[0].Node)
	case taker.Claim.Found && taker.Claim.Volume != in.Volume.Name:
		return h.makeRoom()
	case !in.Volume.ClaimRef.Names(in.Ref) && !in.Parked():
		return blocked(strayed(in))
	case h.going():
		return Verdict{Attempt: h.anew()}
	case !h.secured(in):
		return h.Write(Secure, in.Volume, in.Ref, false)
	case !in.Parked():
		return h.Write(Park, in.Volume, Parked(in.Ref), false)
	}
	return h.pointTaker()
}

// going says whether the second volume may be on its way out: the claim that it was filled by is gone, or goes, and it was not
// made to survive that. Its storage may be deleted by now, whatever its object still says.
func (h Handing) going() bool {
	in := h.Incoming
	return !in.Parked() && !in.Bound() && in.Volume.Policy != corev1.PersistentVolumeReclaimRetain
}

// anew is another attempt, under other names, after one whose second volume has been lost. A snapshot that counts is restored
// again.
func (h Handing) anew() *api.CopyAttempt {
	next := h.Begun()
	next.Giver, next.Snapshot, next.Torn = h.Attempt.Giver, h.Attempt.Snapshot, h.Attempt.Torn
	return next
}

// makeRoom deletes the claim that the taker has kept from an earlier time, which has lost its volume: a claim
// names one volume for ever. The volume stays parked.
func (h Handing) makeRoom() Verdict {
	taker := h.Taker
	switch {
	case !left(h.Pair):
		return blocked(inTheWay(taker))
	case taker.Claim.Terminating:
		return Verdict{Waits: taker.claimDeletion().waits(), Deletion: taker.claimDeletion(), Look: Look}
	case !h.secured(taker):
		return h.Write(Secure, taker.Volume, taker.Ref, false)
	case taker.Claim.Phase == corev1.ClaimBound:
		return Awaits("claim %s/%s is known to have lost its volume", taker.Ref.Namespace, taker.Ref.Name)
	}
	return h.deleteLost(taker, false)
}

// pointTaker points the second volume at the ordinal's claim; with the uid of one that has lost it before.
func (h Handing) pointTaker() Verdict {
	ref := h.Taker.Ref
	ref.UID = h.Taker.Claim.UID
	verdict := h.Write(TakeOver, h.Incoming.Volume, ref, false)
	verdict.Action.Copy.Seal = h.Attempt.Seal.Root
	return verdict
}

// TakeOver has the ordinal's claim bound to the second volume, and parks what the giver keeps.
func (h Handing) TakeOver() Verdict {
	in, taker := h.Incoming.Volume, h.Taker.Claim
	switch {
	case h.Attempt.Seal.Root == "" || in.Seal != h.Attempt.Seal.Root || h.Attempt.Seal.Volume != in.Name:
		return blocked(&Problem{
			ReasonCopyNotSealed, fmt.Sprintf("volume %s is pointed at claim %s/%s, and nothing shows that it is what the ordinal had", in.Name, h.Taker.Ref.Namespace, h.Taker.Ref.Name),
			"look who did that: " + h.Incoming.DescribeVolume(),
		})
	case in.Fence != h.Fence:
		return h.pointTaker()
	case !taker.Found && in.Phase != corev1.VolumeAvailable:
		return Awaits("volume %s is known to the binder", in.Name)
	case !taker.Found:
		verdict := h.Act(CreateClaim, false)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = h.Taker.Ref, in.Name, in.Class
		return verdict
	case taker.Volume != in.Name:
		return blocked(inTheWay(h.Taker))
	}
	return First(h.bind, h.parkGiver)
}

// bind waits until the ordinal's claim is bound to the second volume, and calls the binder when that takes long.
func (h Handing) bind() Verdict {
	taker, mark := h.Taker, MarkClaimOf(h.Taker, h.Fence)
	mark.Copy.AtGiver = h.Back
	if taker.Claim.Fence != h.Fence {
		return Verdict{Action: &mark}
	}
	if !taker.Bound() {
		mark.Calls = taker.Claim.Calls + 1
		return Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", taker.Ref.Namespace, taker.Ref.Name, taker.Claim.Volume), Call: &mark}
	}
	return Verdict{}
}

// parkGiver parks what the giver keeps.
func (h Handing) parkGiver() Verdict {
	giver := h.Giver
	switch {
	case !giver.Volume.Found || giver.Parked():
		return Verdict{}
	case giver.Volume.Released == "":
		return blocked(strayed(giver))
	case !h.secured(giver):
		return h.Write(Secure, giver.Volume, giver.Ref, true)
	}
	return returned(h.Write(Park, giver.Volume, Parked(giver.Ref), true))
}

// LetGo deletes the claims by which the volumes went, once the ordinal's claim is bound: until then nothing else
// names the second one. It deletes no volume.
func (h Handing) LetGo() Verdict {
	return First(
		func() Verdict { return h.deleteLost(h.Incoming, false) },
		func() Verdict { return h.deleteLost(h.Outgoing, true) },
	)
}

// deleteLost deletes a claim that has lost its volume to another one; done: it is gone or on its way.
func (h Handing) deleteLost(lost Holding, atGiver bool) Verdict {
	if !lost.Claim.Found || lost.Claim.Terminating {
		return Verdict{}
	}
	verdict := h.Act(DeleteLost, atGiver)
	a := verdict.Action
	a.Ref, a.UID, a.ResourceVersion = lost.Ref, lost.Claim.UID, lost.Claim.ResourceVersion
	return verdict
}

// GoBack returns the volume to the giver as long as the second one has not been taken over. When it is done the
// ordinal may be started there. The incoming claim stays until it was: see Drop.
func (h Handing) GoBack() Verdict {
	volume, giver, in := h.Giver.Volume, h.Giver, h.Incoming
	released := volume.ClaimRef.Names(h.Outgoing.Ref)
	switch {
	case !volume.Found:
		return blocked(h.volumeGone())
	case !h.secured(giver):
		return h.Write(Secure, volume, giver.Ref, true)
	case released && in.Volume.Found && !h.secured(in):
		// A take-over that is still on its way carries the resourceVersion from before, and is refused.
		return h.Write(Secure, in.Volume, in.Ref, false)
	case released:
		ref := giver.Ref
		ref.UID = giver.Claim.UID
		return returned(h.Write(PointBack, volume, ref, true))
	case !volume.ClaimRef.Names(giver.Ref):
		return blocked(strayed(giver))
	case !giver.Bound():
		mark := MarkClaimOf(giver, h.Fence)
		mark.Copy.AtGiver, mark.Calls = !h.Back, giver.Claim.Calls+1
		return Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", giver.Ref.Namespace, giver.Ref.Name, volume.Name), Call: &mark}
	}
	return h.deleteLost(h.Outgoing, true)
}
