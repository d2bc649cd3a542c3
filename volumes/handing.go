package volumes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Look is the interval at which objects that no watch reports are read.
const Look = 500 * time.Millisecond

// Handing is a pair in the direction of its attempt. If the move has been reversed since, its giver is the
// pair's taker. Its steps are shared by all methods that fill a second volume: release the giver's volume, take
// the second one over under the ordinal's name, or point the giver's back. Each step is requested again until
// it is done.
type Handing struct {
	Pair
	Copying
	// Kept is true if the ordinal returns to the volume that the pair's taker still has: nothing is filled.
	Kept bool
}

// HandingOf returns a pair in the direction of its attempt.
func HandingOf(pair Pair) Handing {
	h := Handing{Pair: pair}
	if pair.Copy != nil {
		h.Copying = *pair.Copy
	}
	if h.Back {
		h.Giver, h.Taker = h.Taker, h.Giver
	}
	// With the user's confirmation, an attempt counts only if its second volume was taken over.
	h.Kept = Returns(pair) && (h.Attempt.Number == 0 || pair.Word.ReturnsToKept && !h.Taken())
	return h
}

// First returns the first verdict that is not done.
func First(steps ...func() Verdict) Verdict {
	for _, step := range steps {
		if verdict := step(); !verdict.Done() {
			return verdict
		}
	}
	return Verdict{}
}

// Act returns an action with no further fields, for the giver's side of the attempt or its taker's.
func (h Handing) Act(verb Verb, atGiver bool) Verdict {
	return Verdict{Action: &Action{Verb: verb, AtGiver: atGiver != h.Back, Fence: h.Fence}}
}

// write returns an action on a volume, with the UID and resourceVersion that were judged.
func (h Handing) write(atGiver bool, verb Verb, volume Volume, ref Ref, edit func(*State)) Verdict {
	return h.Pair.write(atGiver != h.Back, verb, volume, ref, edit)
}

// repoint returns an action that sets the claimRef of a volume.
func (h Handing) repoint(atGiver bool, verb Verb, volume Volume, ref Ref) Verdict {
	return h.write(atGiver, verb, volume, ref, func(s *State) { s.ClaimRef = ref })
}

// keep returns the action that sets a volume to Retain and notes the policy to restore.
func (h Handing) keep(at Holding, atGiver bool) Verdict {
	return h.write(atGiver, Secure, at.Volume, at.Ref, func(s *State) {
		s.Policy, s.Note = corev1.PersistentVolumeReclaimRetain, h.own(at.Volume)
	})
}

// own returns the note of the policy to restore on a volume, whatever is noted on the other one.
func (h Handing) own(volume Volume) Note {
	return Note{Policy: volume.OriginalFor(h.Owner), By: h.Owner}
}

// returned adds to a write the removal of the volume's release mark.
func returned(verdict Verdict) Verdict {
	verdict.Action.After.Released = ""
	return verdict
}

// Awaits returns a verdict that waits for something that no watch reports.
func Awaits(format string, a ...any) Verdict {
	return Verdict{Waits: fmt.Sprintf(format, a...), Look: Look}
}

// Secure makes the giver's volume survive the loss of its claim.
func (h Handing) Secure(giver Holding) Verdict {
	if h.secured(giver) {
		return Verdict{}
	}
	return h.keep(giver, true)
}

// Begun returns the record of a new attempt.
func (h Handing) Begun() *api.CopyAttempt {
	return &api.CopyAttempt{Number: Numbered(h.Now, max(h.Attempt.Number, h.LastAttempt)), Begun: h.Fence}
}

// Sealed reports whether the recorded seal is for the two volumes in their present state.
func (h Handing) Sealed() bool {
	seal, in := h.Attempt.Seal, h.Incoming.Volume
	return seal.Root != "" && h.Giver.Volume.Released != "" && seal.Released == h.Giver.Volume.Released &&
		in.Found && seal.Volume == in.Name && seal.From == Disk(h.Giver.Volume.Handle) && seal.To == Disk(in.Handle)
}

// Taken reports whether the claimRef of the second volume has been set to the ordinal's claim. From then on
// only another attempt leads back.
func (h Handing) Taken() bool {
	in := h.Incoming.Volume
	return h.Attempt.Number > 0 && in.Found && in.ClaimRef.Names(h.Taker.Ref)
}

// Overdue reports whether an ordinal, which has been down for the given time, is copied for longer than its limit,
// and can still go back to its former volume.
func (h Handing) Overdue(down time.Duration) bool {
	return h.Asked.Limit > 0 && down > h.Asked.Limit && !h.Back && !h.Taken()
}

// Release takes the giver's volume from the ordinal's claim, and binds the outgoing claim to it.
func (h Handing) Release() Verdict { return First(h.TakeAway, h.BindOutgoing) }

// TakeAway sets the claimRef of the giver's volume to the outgoing claim, which need not exist. From then on
// nothing mounts the volume under the ordinal's name.
func (h Handing) TakeAway() Verdict {
	out, volume := h.Outgoing.Ref, h.Giver.Volume
	out.UID = h.Outgoing.Claim.UID
	have := volume.ClaimRef
	switch problem := h.unreleasable(); {
	case problem != nil:
		return Held(problem)
	case !h.secured(h.Giver):
		return h.keep(h.Giver, true)
	case h.Outgoing.Claim.Ours && h.Outgoing.Claim.Terminating:
		return Verdict{Waits: h.Outgoing.claimDeletion().waits(), Deletion: h.Outgoing.claimDeletion(), Look: Look}
	case h.Outgoing.Claim.Found && h.Outgoing.Claim.Ours && h.Outgoing.Claim.Volume != volume.Name:
		return h.deleteLost(h.Outgoing, true) // a late write created it, for a volume that was copied before
	case !have.Names(out) && h.passBegun():
		return h.givenBack()
	case !have.Names(out) || volume.Released == "" || have.UID != "" && have.UID != out.UID:
		verdict := h.repoint(true, Release, volume, out)
		verdict.Action.After.Released = h.Fence
		if !have.Names(out) {
			verdict.Action.After.Released = h.mark()
		}
		return verdict
	}
	return Verdict{}
}

// BindOutgoing creates the outgoing claim, and waits until it is bound to the volume that was taken away. The
// claim does not exist before: the binder syncs a claim when the claim changes, not when its volume does, so an
// older claim would need a write of its own (see MarkClaim).
func (h Handing) BindOutgoing() Verdict {
	out, volume := h.Outgoing.Ref, h.Giver.Volume
	switch {
	case !h.Outgoing.Claim.Found:
		verdict := h.Act(CreateOutgoing, true)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = out, volume.Name, volume.Class
		return verdict
	case !h.Outgoing.Bound():
		return Awaits("claim %s/%s is bound to volume %s", out.Namespace, out.Name, volume.Name)
	}
	return Verdict{}
}

// passBegun reports whether the last pass may have begun. A sender that was created beside the ordinal's pod waits
// until its receiver is introduced to it. A receiver that replaces that one has another key, and the sender never
// meets it.
func (h Handing) passBegun() bool {
	s := h.Sender
	waits := s.Claim == h.Giver.Ref.Name && h.Receiver.Peer == "" && !s.Ended
	return s.Found && !s.Foreign && s.Pass > h.Attempt.Passes && !waits
}

// SecureIncoming makes the second volume survive the loss of the claim in which it is filled.
func (h Handing) SecureIncoming() Verdict {
	if h.secured(h.Incoming) {
		return Verdict{}
	}
	return h.keep(h.Incoming, false)
}

// unreleasable returns why the giver's volume cannot be pointed at the outgoing claim; nil if it can, or
// already is.
func (h Handing) unreleasable() *Reason {
	have, released := h.Giver.Volume.ClaimRef, h.Giver.Volume.ClaimRef.Names(h.Outgoing.Ref)
	switch {
	case !h.Giver.Volume.Found:
		return h.volumeGone()
	case !released && !have.Names(h.Giver.Ref):
		return strayed(h.Giver)
	case !released:
		return Departing(h.Giver)
	}
	return nil
}

// givenBack records that a volume was pointed back while it was read. The result of that pass does not count.
func (h Handing) givenBack() Verdict {
	next := h.Attempt
	next.Passes, next.Seal, next.Differs = h.Sender.Pass, api.CopySeal{}, "the volume itself, which was given back to its ordinal meanwhile"
	return Verdict{Attempt: &next}
}

// mark returns a mark that differs from every known release. A user may have pointed the volume back by hand
// under the same fence. Its ordinal may then have written, and earlier passes and snapshots do not count.
func (h Handing) mark() string {
	known := []string{h.Giver.Volume.Released, h.Attempt.Seal.Released, h.Attempt.Snapshot.Released, h.Snapshot.Taken.Released}
	mark := h.Fence
	for n := 1; slices.Contains(known, mark); n++ {
		mark = fmt.Sprintf("%s+%d", h.Fence, n)
	}
	return mark
}

// volumeGone returns the problem of a giver whose volume does not exist, or is not known because the claim that
// names it was deleted. If the other side is lost, what matters is the claim here.
func (h Handing) volumeGone() *Reason {
	own, out := h.Giver, h.Outgoing
	if here := h.requested().Taker; h.Word.ReturnsToKept && !here.Claim.Found {
		return claimLost(here)
	}
	claim := fmt.Sprintf("claim %s/%s", own.Ref.Namespace, own.Ref.Name)
	if own.Claim.Found || !out.Claim.Found || out.Claim.Volume == "" {
		return Stalled(ReasonVolumeLost, "the volume of "+claim+" does not exist on this side", "restore the PersistentVolume object")
	}
	return Stalled(
		ReasonVolumeLost,
		fmt.Sprintf("%s was deleted while its volume %s was taken from it: claim %s/%s has that now, and it is intact", claim, out.Claim.Volume, out.Ref.Namespace, out.Ref.Name),
		fmt.Sprintf("recreate the claim with its former spec and spec.volumeName: %s; for its form see the other claim: %s", out.Claim.Volume, out.Command("get pvc -n %s %s -o yaml", out.Ref.Namespace, out.Ref.Name)),
	)
}

// HandOver sets the claimRef of the second volume to the ordinal's claim, with the seal. Nothing may write to
// the volume any more.
func (h Handing) HandOver() Verdict {
	in, taker := h.Incoming, h.Taker
	switch holds := h.attachedToOthers(); {
	case len(holds) > 0:
		return Awaits("volume %s is not attached to node %s any more", in.Volume.Name, holds[0].Node)
	case taker.Claim.Found && taker.Claim.Volume != in.Volume.Name:
		return h.makeRoom()
	case !in.Volume.ClaimRef.Names(in.Ref) && !in.Parked():
		return Held(strayed(in))
	case h.going():
		return Verdict{Attempt: h.anew()}
	case !h.secured(in):
		return h.SecureIncoming()
	case !in.Parked():
		return h.repoint(false, Park, in.Volume, Parked(in.Ref))
	}
	return h.pointTaker()
}

// going reports whether the second volume may be on the way to deletion. The claim in which it was filled does
// not exist or is being deleted, and the volume is not set to Retain. Its storage may have been deleted,
// whatever its object still shows.
func (h Handing) going() bool {
	in := h.Incoming
	return !in.Parked() && !in.Bound() && in.Volume.Policy != corev1.PersistentVolumeReclaimRetain
}

// anew returns the record of another attempt under other names, after one whose second volume has been lost. A
// snapshot that counts is restored again.
func (h Handing) anew() *api.CopyAttempt {
	next := h.Begun()
	next.Giver, next.Snapshot, next.Torn = h.Attempt.Giver, h.Attempt.Snapshot, h.Attempt.Torn
	return next
}

// makeRoom deletes the claim that the taker has kept from an earlier move and that has lost its volume. A claim
// can never name another volume. The volume stays parked.
func (h Handing) makeRoom() Verdict {
	taker := h.Taker
	switch {
	case !left(h.Pair):
		return Held(inTheWay(taker))
	case taker.Claim.Terminating:
		return Verdict{Waits: taker.claimDeletion().waits(), Deletion: taker.claimDeletion(), Look: Look}
	case !h.secured(taker):
		return h.keep(taker, false)
	case taker.Claim.Phase == corev1.ClaimBound:
		return Awaits("claim %s/%s is known to have lost its volume", taker.Ref.Namespace, taker.Ref.Name)
	}
	return h.deleteLost(taker, false)
}

// pointTaker sets the claimRef of the second volume to the ordinal's claim, with the UID of that claim if it
// exists.
func (h Handing) pointTaker() Verdict {
	ref := h.Taker.Ref
	ref.UID = h.Taker.Claim.UID
	in := h.Incoming.Volume
	return h.write(false, TakeOver, in, ref, func(s *State) {
		s.ClaimRef, s.Seal, s.Note = ref, h.Attempt.Seal.Root, h.own(in)
	})
}

// TakeOver binds the ordinal's claim to the second volume, and parks the volume that the giver keeps.
func (h Handing) TakeOver() Verdict {
	in, taker := h.Incoming.Volume, h.Taker.Claim
	switch {
	case h.Attempt.Seal.Root == "" || in.Seal != h.Attempt.Seal.Root || h.Attempt.Seal.Volume != in.Name:
		return Held(Stalled(
			ReasonCopyNotSealed,
			fmt.Sprintf("volume %s is reserved for claim %s/%s, and nothing proves that it has the data of the ordinal", in.Name, h.Taker.Ref.Namespace, h.Taker.Ref.Name),
			"find what reserved it: "+h.Incoming.DescribeVolume(),
		))
	case in.Fence != h.Fence:
		return h.pointTaker()
	case !taker.Found && in.Phase != corev1.VolumeAvailable:
		return Awaits("volume %s is known to the binder", in.Name)
	case !taker.Found:
		verdict := h.Act(CreateClaim, false)
		verdict.Action.Ref, verdict.Action.Volume = h.Taker.Ref, in.Name
		verdict.Action.Copy.Class, verdict.Action.Copy.Attempt = in.Class, h.Attempt.Number
		return verdict
	case taker.Volume != in.Name:
		return Held(inTheWay(h.Taker))
	}
	return First(h.bind, h.parkGiver)
}

// bind waits until the ordinal's claim is bound to the second volume, and calls the binder if that takes long.
func (h Handing) bind() Verdict {
	taker, mark := h.Taker, MarkClaimOf(h.Taker, h.Fence)
	mark.AtGiver = h.Back
	if taker.Claim.Fence != h.Fence {
		return Verdict{Action: &mark}
	}
	if !taker.Bound() {
		mark.Calls = taker.Claim.Calls + 1
		return Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", taker.Ref.Namespace, taker.Ref.Name, taker.Claim.Volume), Call: &mark}
	}
	return Verdict{}
}

// parkGiver parks the volume that the giver keeps.
func (h Handing) parkGiver() Verdict {
	giver := h.Giver
	switch {
	case !giver.Volume.Found || giver.Parked():
		return Verdict{}
	case giver.Volume.Released == "":
		return Held(strayed(giver))
	case !h.secured(giver):
		return h.keep(giver, true)
	}
	verdict := h.repoint(true, Park, giver.Volume, Parked(giver.Ref))
	if h.Attempt.Seal.Verify == api.CopyVerifyLater {
		return verdict // the mark shows that nobody has used the volume until it is read whole
	}
	return returned(verdict)
}

// LetGo deletes the incoming and the outgoing claim once the ordinal's claim is bound. Until then nothing else
// names the second volume. It deletes no volume.
func (h Handing) LetGo() Verdict {
	return First(
		func() Verdict { return h.deleteLost(h.Incoming, false) },
		func() Verdict { return h.deleteLost(h.Outgoing, true) },
	)
}

// deleteLost deletes a claim that has lost its volume to another one. It is done once the deletion was
// requested.
func (h Handing) deleteLost(lost Holding, atGiver bool) Verdict {
	if !lost.Claim.Found || lost.Claim.Terminating {
		return Verdict{}
	}
	verdict := h.Act(DeleteLost, atGiver)
	a := verdict.Action
	a.Ref, a.UID, a.ResourceVersion = lost.Ref, lost.Claim.UID, lost.Claim.ResourceVersion
	return verdict
}

// GoBack returns the volume to the giver, as long as the second one has not been taken over, or the ordinal to the volume
// that the pair's taker has kept. When it is done, the ordinal may be started there. The incoming claim stays until the
// ordinal runs again: see Drop.
func (h Handing) GoBack() Verdict {
	if h.Kept {
		return First(h.toKept, h.LeaveOutgoing)
	}
	volume, giver, in := h.Giver.Volume, h.Giver, h.Incoming
	released := volume.ClaimRef.Names(h.Outgoing.Ref)
	switch {
	case !volume.Found:
		return Held(h.volumeGone())
	case !h.secured(giver):
		return h.keep(giver, true)
	case released && in.Volume.Found && !h.secured(in):
		// A take-over that arrives late carries the earlier resourceVersion and is refused.
		return h.keep(in, false)
	case released:
		ref := giver.Ref
		ref.UID = giver.Claim.UID
		return returned(h.repoint(true, PointBack, volume, ref))
	case !volume.ClaimRef.Names(giver.Ref):
		return Held(strayed(giver))
	case !giver.Bound():
		mark := MarkClaimOf(giver, h.Fence)
		mark.AtGiver, mark.Calls = !h.Back, giver.Claim.Calls+1
		return Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", giver.Ref.Namespace, giver.Ref.Name, volume.Name), Call: &mark}
	}
	return h.deleteLost(h.Outgoing, true)
}

// toKept returns the ordinal to the volume that the pair's taker has kept.
func (h Handing) toKept() Verdict { return Return(h.requested()) }

// requested returns the pair in the direction of the move.
func (h Handing) requested() Pair {
	pair := h.Pair
	if h.Back {
		pair.Giver, pair.Taker = pair.Taker, pair.Giver
	}
	return pair
}
