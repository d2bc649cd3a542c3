package copy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

// mostPasses is how many last passes may end with different roots.
const mostPasses = 3

// view is a pair, its giver the one of the attempt.
type view struct {
	volumes.Pair
	c volumes.Copying
}

// forward is a pair as it is.
func forward(pair volumes.Pair) view {
	v := view{Pair: pair}
	if pair.Copy != nil {
		v.c = *pair.Copy
	}
	return v
}

// viewOf is a pair as the attempt sees it: where the move has turned round since, its giver is the pair's taker.
func viewOf(pair volumes.Pair) view {
	v := forward(pair)
	if v.c.Back {
		v.Giver, v.Taker = v.Taker, v.Giver
	}
	return v
}

// first is the first verdict that is not done.
func first(steps ...func() volumes.Verdict) volumes.Verdict {
	for _, step := range steps {
		if verdict := step(); !verdict.Done() {
			return verdict
		}
	}
	return volumes.Verdict{}
}

// act is an action without more, on the attempt's giver's side or on its taker's.
func (v view) act(verb volumes.Verb, atGiver bool) volumes.Verdict {
	return volumes.Verdict{Action: &volumes.Action{Verb: verb, Fence: v.Fence, Copy: volumes.CopyAction{AtGiver: atGiver != v.c.Back}}}
}

// write is an action on a volume as it was judged.
func (v view) write(verb volumes.Verb, volume volumes.Volume, ref volumes.Ref, atGiver bool) volumes.Verdict {
	verdict := v.act(verb, atGiver)
	a := verdict.Action
	a.Volume, a.UID, a.ResourceVersion, a.Ref = volume.Name, volume.UID, volume.ResourceVersion, ref
	a.Note = volumes.Note{Policy: volume.OriginalFor(v.Owner), By: v.Owner}
	return verdict
}

// returned has a volume that is written lose the mark of its release.
func returned(verdict volumes.Verdict) volumes.Verdict {
	verdict.Action.Copy.Returned = true
	return verdict
}

func (view) waits(format string, a ...any) volumes.Verdict {
	return volumes.Verdict{Waits: fmt.Sprintf(format, a...), Look: look}
}

func blocked(reason, message, remedy string) volumes.Verdict {
	return volumes.Verdict{Blocked: &volumes.Problem{Reason: reason, Message: message, Remedy: remedy}}
}

// secured says whether a volume survives the loss of its claim, and no late write can undo it.
func (v view) secured(h volumes.Holding) bool {
	return h.SecuredBy(v.Owner) && h.Volume.Fence == v.Fence
}

// secure makes the giver's volume survive the loss of its claim.
func (v view) secure(giver volumes.Holding) volumes.Verdict {
	if v.secured(giver) {
		return volumes.Verdict{}
	}
	return v.write(volumes.Secure, giver.Volume, giver.Ref, true)
}

// Transfer brings the copy to the taker. Of an attempt that was begun before the move turned round it
// returns the volume to where it was, as long as the copy has not been taken over. When it is done the
// ordinal may be started at the pair's taker.
func (Copy) Transfer(pair volumes.Pair) volumes.Verdict {
	v := viewOf(pair)
	switch {
	case v.c.Back && v.taken():
		return first(v.takeOver, v.begin) // the ordinal goes back by a copy of its own
	case v.c.Back:
		return v.back()
	case v.c.Attempt.Number == 0 && returns(pair):
		return volumes.Return(pair)
	case v.c.Attempt.Number == 0:
		return v.begin()
	case v.taken():
		return v.takeOver()
	}
	return first(v.release, v.arrive)
}

// returns says whether the taker still has the volume that is current: nothing was copied away from it, and
// what the giver has is nothing, or was left behind there; or the giver's side is lost for good, and a person
// has said that what was left behind is current now.
func returns(pair volumes.Pair) bool {
	giver, taker := pair.Giver, pair.Taker
	if giver.Volume.Found && !giver.Parked() || !taker.Volume.Found || !taker.Claim.Found {
		return false
	}
	return taker.Volume.ClaimRef.Names(taker.Ref) || pair.Word.ReturnsToKept && taker.Parked()
}

// arrive has the copy made, or what was sealed taken over.
func (v view) arrive() volumes.Verdict {
	if v.sealed() {
		return v.handOver()
	}
	return v.lastPass()
}

// begin begins another attempt. The volume of the one before is kept.
func (v view) begin() volumes.Verdict {
	if verdict := v.removeBoth(); !verdict.Done() {
		return verdict
	}
	return volumes.Verdict{Attempt: v.begun()}
}

// sealed says whether the seal that is recorded is about the two volumes as they are now.
func (v view) sealed() bool {
	seal, in := v.c.Attempt.Seal, v.c.Incoming.Volume
	return seal.Root != "" && v.Giver.Volume.Released != "" && seal.Released == v.Giver.Volume.Released &&
		in.Found && seal.Volume == in.Name && seal.From == volumes.Disk(v.Giver.Volume.Handle) && seal.To == volumes.Disk(in.Handle)
}

// taken says whether the copy has been pointed at the ordinal's claim: there is no way back from then
// on but another copy.
func (v view) taken() bool {
	in := v.c.Incoming.Volume
	return v.c.Attempt.Number > 0 && in.Found && in.ClaimRef.Names(v.Taker.Ref)
}

// release points the giver's volume at the outgoing claim: from then on nothing mounts it under the
// ordinal's name.
func (v view) release() volumes.Verdict {
	out, volume := v.c.Outgoing.Ref, v.Giver.Volume
	out.UID = v.c.Outgoing.Claim.UID
	have := volume.ClaimRef
	switch {
	case !volume.Found:
		return blocked(volumes.ReasonVolumeLost, fmt.Sprintf("the volume of claim %s/%s does not exist on this side", v.Giver.Ref.Namespace, v.Giver.Ref.Name), "restore the PersistentVolume object")
	case !have.Names(out) && !have.Names(v.Giver.Ref):
		return foreignVolume(volume)
	case !v.secured(v.Giver):
		return v.write(volumes.Secure, volume, v.Giver.Ref, true)
	case !have.Names(out) || volume.Released == "" || have.UID != "" && have.UID != out.UID:
		verdict := v.write(volumes.Release, volume, out, true)
		verdict.Action.Copy.Released = v.Fence
		return verdict
	case !v.c.Outgoing.Claim.Found:
		verdict := v.act(volumes.CreateOutgoing, true)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = out, volume.Name, volume.Class
		return verdict
	case !v.c.Outgoing.Bound():
		return v.waits("claim %s/%s is bound to volume %s", out.Namespace, out.Name, volume.Name)
	}
	return volumes.Verdict{}
}

func foreignVolume(volume volumes.Volume) volumes.Verdict {
	return blocked(volumes.ReasonForeignVolume, fmt.Sprintf("volume %s names claim %s/%s", volume.Name, volume.ClaimRef.Namespace, volume.ClaimRef.Name), "look what it is: kubectl describe pv "+volume.Name)
}

// incoming makes the claim that the copy is made in.
func (v view) incoming() volumes.Verdict {
	in := v.c.Incoming
	switch {
	case in.Parked():
		return v.begin() // it was about to be taken over when the move turned round
	case !in.Claim.Found && v.c.Attempt.Begun != v.Fence:
		return v.begin() // a claim for the one before may still come
	case !in.Claim.Found:
		verdict := v.act(volumes.CreateIncoming, false)
		verdict.Action.Ref, verdict.Action.Copy.Attempt, verdict.Action.Copy.Class = in.Ref, v.c.Attempt.Number, v.Taker.Volume.Class
		return verdict
	case !in.Claim.Ours || in.Claim.Terminating:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s, for a copy, was not made by this migration, or is being deleted", in.Ref.Namespace, in.Ref.Name),
			fmt.Sprintf("kubectl describe pvc -n %s %s", in.Ref.Namespace, in.Ref.Name))
	}
	return volumes.Verdict{}
}

// filled waits until the incoming claim has its volume: where its class waits for a pod, the receiver is that.
func (v view) filled() volumes.Verdict {
	if in := v.c.Incoming; !in.Bound() {
		return v.waits("claim %s/%s is bound to a new volume", in.Ref.Namespace, in.Ref.Name)
	}
	return volumes.Verdict{}
}

// entrance makes the Service by which the sender reaches the receiver, and waits for its address.
func (v view) entrance() volumes.Verdict {
	in := v.c.Incoming
	switch {
	case !v.c.Entrance.Found:
		verdict := v.act(volumes.CreateEntrance, false)
		verdict.Action.Ref, verdict.Action.UID, verdict.Action.Copy.Attempt = in.Ref, in.Claim.UID, v.c.Attempt.Number
		return verdict
	case v.c.Asked.Address == "" && v.c.Entrance.Address == "":
		return v.waits("Service %s/%s has an address", in.Ref.Namespace, in.Ref.Name)
	}
	return volumes.Verdict{}
}

// lastPass has all bytes carried over, both sides read, and their roots recorded.
func (v view) lastPass() volumes.Verdict {
	if verdict, over := v.ended(); over {
		return verdict
	}
	if v.c.Attempt.Passes >= mostPasses {
		return first(v.removeBoth, func() volumes.Verdict {
			return blocked(volumes.ReasonCopyDiffers, fmt.Sprintf("after %d passes the copy of claim %s/%s differs from it, first in %q", v.c.Attempt.Passes, v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.c.Attempt.Differs),
				"look what writes there, or what the file system of the other side cannot keep; the ordinal goes back with spec.mode: Rollback")
		})
	}
	return first(
		v.incoming, v.entrance,
		func() volumes.Verdict { return v.need(volumes.RoleReceiver) },
		v.filled,
		func() volumes.Verdict { return v.need(volumes.RoleSender) },
		v.introduce,
		func() volumes.Verdict {
			return v.waits("pass %d of pod %s to pod %s has ended", v.pass(), v.pod(volumes.RoleSender), v.pod(volumes.RoleReceiver))
		},
	)
}

// handOver takes the incoming volume from the movers and points it at the ordinal's claim, with the seal.
func (v view) handOver() volumes.Verdict {
	if verdict := v.removeBoth(); !verdict.Done() {
		return verdict
	}
	in, taker := v.c.Incoming, v.Taker
	switch {
	case len(in.Volume.Attachments) > 0:
		return v.waits("volume %s is not attached to node %s any more", in.Volume.Name, in.Volume.Attachments[0].Node)
	case taker.Claim.Found && taker.Claim.Volume != in.Volume.Name:
		return v.makeRoom()
	case !in.Volume.ClaimRef.Names(in.Ref) && !in.Parked():
		return foreignVolume(in.Volume)
	case !v.secured(in):
		return v.write(volumes.Secure, in.Volume, in.Ref, false)
	case !in.Parked():
		return v.write(volumes.Park, in.Volume, volumes.Parked(in.Ref), false)
	}
	return v.pointTaker()
}

// makeRoom deletes the claim that the taker has kept from an earlier time, which has lost its volume: a claim
// names one volume for ever. The volume stays parked.
func (v view) makeRoom() volumes.Verdict {
	taker := v.Taker
	switch {
	case !left(v.Pair):
		return volumes.Verdict{Blocked: foreignClaim(taker)}
	case taker.Claim.Terminating:
		return v.waits("claim %s/%s, which has lost its volume, is deleted", taker.Ref.Namespace, taker.Ref.Name)
	case !v.secured(taker):
		return v.write(volumes.Secure, taker.Volume, taker.Ref, false)
	case taker.Claim.Phase == corev1.ClaimBound:
		return v.waits("claim %s/%s is known to have lost its volume", taker.Ref.Namespace, taker.Ref.Name)
	}
	return v.deleteLost(taker, false)
}

// pointTaker points the copy at the ordinal's claim; with the uid of one that has lost it before.
func (v view) pointTaker() volumes.Verdict {
	ref := v.Taker.Ref
	ref.UID = v.Taker.Claim.UID
	verdict := v.write(volumes.TakeOver, v.c.Incoming.Volume, ref, false)
	verdict.Action.Copy.Seal = v.c.Attempt.Seal.Root
	return verdict
}

// takeOver has the ordinal's claim bound to the copy, and only then lets go of the names that it came under.
func (v view) takeOver() volumes.Verdict {
	in, taker := v.c.Incoming.Volume, v.Taker.Claim
	switch {
	case v.c.Attempt.Seal.Root == "" || in.Seal != v.c.Attempt.Seal.Root || v.c.Attempt.Seal.Volume != in.Name:
		return blocked(volumes.ReasonCopyNotSealed, fmt.Sprintf("volume %s is pointed at claim %s/%s, and nothing shows that it is what the ordinal had", in.Name, v.Taker.Ref.Namespace, v.Taker.Ref.Name),
			"look who did that: kubectl describe pv "+in.Name)
	case in.Fence != v.Fence:
		return v.pointTaker()
	case !taker.Found && in.Phase != corev1.VolumeAvailable:
		return v.waits("volume %s is known to the binder", in.Name)
	case !taker.Found:
		verdict := v.act(volumes.CreateClaim, false)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = v.Taker.Ref, in.Name, in.Class
		return verdict
	case taker.Volume != in.Name:
		return volumes.Verdict{Blocked: foreignClaim(v.Taker)}
	}
	return first(v.bind, v.letGo)
}

// bind waits until the ordinal's claim is bound to the copy, and calls the binder when that takes long.
func (v view) bind() volumes.Verdict {
	taker, mark := v.Taker, volumes.MarkClaimOf(v.Taker, v.Fence)
	mark.Copy.AtGiver = v.c.Back
	if taker.Claim.Fence != v.Fence {
		return volumes.Verdict{Action: &mark}
	}
	if !taker.Bound() {
		mark.Calls = taker.Claim.Calls + 1
		return volumes.Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", taker.Ref.Namespace, taker.Ref.Name, taker.Claim.Volume), Call: &mark}
	}
	return volumes.Verdict{}
}

// letGo parks what the giver keeps and deletes the claims that the copy has come by. Neither deletes a volume.
func (v view) letGo() volumes.Verdict {
	giver := v.Giver
	switch {
	case giver.Volume.Found && !giver.Parked() && giver.Volume.Released == "":
		return foreignVolume(giver.Volume)
	case giver.Volume.Found && !giver.Parked() && !v.secured(giver):
		return v.write(volumes.Secure, giver.Volume, giver.Ref, true)
	case giver.Volume.Found && !giver.Parked():
		return returned(v.write(volumes.Park, giver.Volume, volumes.Parked(giver.Ref), true))
	}
	return first(
		func() volumes.Verdict { return v.deleteLost(v.c.Incoming, false) },
		func() volumes.Verdict { return v.deleteLost(v.c.Outgoing, true) },
	)
}

// deleteLost deletes a claim that has lost its volume to another one; done: it is gone or on its way.
func (v view) deleteLost(h volumes.Holding, atGiver bool) volumes.Verdict {
	if !h.Claim.Found || h.Claim.Terminating {
		return volumes.Verdict{}
	}
	verdict := v.act(volumes.DeleteLost, atGiver)
	a := verdict.Action
	a.Ref, a.UID, a.ResourceVersion = h.Ref, h.Claim.UID, h.Claim.ResourceVersion
	return verdict
}

// back returns the volume to the giver as long as the copy has not been taken over. When it is done the
// ordinal may be started there. What was copied stays, in its incoming claim.
func (v view) back() volumes.Verdict {
	if verdict := first(func() volumes.Verdict { return v.remove(volumes.RoleSender) }, v.dismiss); !verdict.Done() {
		return verdict
	}
	volume, giver, in := v.Giver.Volume, v.Giver, v.c.Incoming
	switch {
	case !volume.Found:
		return blocked(volumes.ReasonVolumeLost, fmt.Sprintf("the volume of claim %s/%s does not exist on this side", giver.Ref.Namespace, giver.Ref.Name), "restore the PersistentVolume object")
	case !v.secured(giver):
		return v.write(volumes.Secure, volume, giver.Ref, true)
	case in.Volume.Found && !v.secured(in):
		// A take-over that is still on its way carries the resourceVersion from before, and is refused.
		return v.write(volumes.Secure, in.Volume, in.Ref, false)
	case volume.ClaimRef.Names(v.c.Outgoing.Ref):
		ref := giver.Ref
		ref.UID = giver.Claim.UID
		return returned(v.write(volumes.PointBack, volume, ref, true))
	case !volume.ClaimRef.Names(giver.Ref):
		return foreignVolume(volume)
	case !giver.Bound():
		mark := volumes.MarkClaimOf(giver, v.Fence)
		mark.Copy.AtGiver, mark.Calls = !v.c.Back, giver.Claim.Calls+1
		return volumes.Verdict{Waits: fmt.Sprintf("claim %s/%s is bound to volume %s", giver.Ref.Namespace, giver.Ref.Name, volume.Name), Call: &mark}
	}
	return v.deleteLost(v.c.Outgoing, true)
}
