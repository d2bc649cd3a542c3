package copy

import (
	"fmt"

	"github.com/sliceshift/sliceshift/volumes"
)

// Reasons for which a copy stops.
const (
	ReasonCopyDiffers  = "CopyDiffers"
	ReasonCopyUnsealed = "CopyUnsealed"
	ReasonNoWayBack    = "CopyTakenOver"
)

// mostPasses is how many last passes may end with different roots.
const mostPasses = 3

// Prepare makes the copy as near to the volume as it comes while the ordinal runs. When it is done the
// ordinal may be stopped.
func Prepare(v View) Verdict {
	if !v.Stays {
		return v.removeAll(Warm) // a sender never keeps the application from a node, or its volume
	}
	if v.Receiver.Result.Torn != "" && v.Receiver.Attempt == v.Attempt {
		return v.begin()
	}
	for _, step := range []func() Verdict{
		v.secureGiver, v.incoming,
		func() Verdict { return v.need(Receiver, "") },
		v.filled,
		func() Verdict { return v.need(Warm, v.Node) },
		func() Verdict { return v.pass(Warm) },
	} {
		if verdict := step(); !verdict.Done() {
			return verdict
		}
	}
	switch found := v.Warm.Result; {
	case !found.Compared:
		return v.again(Warm) // what cannot become equal must show before the stop
	case v.Budget > 0 && found.Downtime > v.Budget:
		return v.again(Warm)
	}
	return Verdict{}
}

// secureGiver makes the giver's volume survive the loss of its claim.
func (v View) secureGiver() Verdict {
	switch {
	case !v.Giver.Volume.Found || !v.Giver.Bound():
		return blocked(volumes.ReasonClaimNotBound, fmt.Sprintf("claim %s/%s is not bound to its volume", v.Giver.Ref.Namespace, v.Giver.Ref.Name),
			fmt.Sprintf("kubectl describe pvc -n %s %s", v.Giver.Ref.Namespace, v.Giver.Ref.Name))
	case !v.secured(v.Giver):
		return v.write(Secure, v.Giver.Volume, v.Giver.Ref)
	}
	return Verdict{}
}

// incoming makes the claim that the copy is made in.
func (v View) incoming() Verdict {
	switch claim := v.Incoming.Claim; {
	case v.Incoming.Parked():
		return v.begin() // it was about to be taken over when the move turned round
	case !claim.Found && v.Begun != v.Fence:
		return v.begin() // a claim for the one before may still come
	case !claim.Found:
		verdict := v.act(CreateIncoming)
		verdict.Action.Ref = IncomingRef(v.Taker.Ref, v.Owner, v.Attempt)
		return verdict
	case !claim.Ours || claim.Terminating:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s, for a copy, was not made by this migration, or is being deleted", v.Incoming.Ref.Namespace, v.Incoming.Ref.Name),
			fmt.Sprintf("kubectl describe pvc -n %s %s", v.Incoming.Ref.Namespace, v.Incoming.Ref.Name))
	}
	return Verdict{}
}

// filled waits until the incoming claim has its volume.
func (v View) filled() Verdict {
	if !v.Incoming.Bound() {
		return waits("claim %s is bound", v.Incoming.Ref.Name)
	}
	return Verdict{}
}

// begin begins another attempt. The volume of the one before is kept.
func (v View) begin() Verdict {
	if verdict := v.removeAll(Warm, Last, Receiver); !verdict.Done() {
		return verdict
	}
	return v.act(Begin)
}

// sealed says whether the seals that are recorded are about the two volumes as they are now.
func (v View) sealed() bool {
	s := v.Sealed
	return s.Root != "" && s.Attempt == v.Attempt && s.Released == v.Released && v.Released != "" &&
		s.From == volumes.Disk(v.Giver.Volume.Handle) && s.To == volumes.Disk(v.Incoming.Volume.Handle)
}

// Taken says whether the copy has been pointed at the ordinal's claim: there is no way back from then
// on but another move.
func (v View) Taken() bool {
	return v.Incoming.Volume.Found && v.Incoming.Volume.ClaimRef.Names(v.Taker.Ref)
}

// Transfer ends the copy once the ordinal has been stopped at the giver and its pod is gone. When it is
// done the ordinal may be started at the taker.
func Transfer(v View) Verdict {
	switch {
	case v.Taken() && !v.sealed() && v.Released != "":
		return blocked(ReasonCopyUnsealed, fmt.Sprintf("volume %s is pointed at claim %s/%s, and nothing shows that it is what the ordinal had", v.Incoming.Volume.Name, v.Taker.Ref.Namespace, v.Taker.Ref.Name),
			"look who did that: kubectl describe pv "+v.Incoming.Volume.Name)
	case v.Taken():
		return v.takeOver()
	}
	if verdict := v.release(); !verdict.Done() {
		return verdict
	}
	if v.sealed() {
		return v.handOver()
	}
	return v.lastPass()
}

// release points the giver's volume at the outgoing claim: from then on nothing mounts it under the
// ordinal's name.
func (v View) release() Verdict {
	out := OutgoingRef(v.Giver.Ref, v.Owner)
	volume := v.Giver.Volume
	switch {
	case !volume.Found:
		return blocked(volumes.ReasonVolumeLost, fmt.Sprintf("the volume of claim %s/%s does not exist on this side", v.Giver.Ref.Namespace, v.Giver.Ref.Name), "restore the PersistentVolume object")
	case !v.secured(v.Giver):
		return v.write(Secure, volume, v.Giver.Ref)
	case !volume.ClaimRef.Names(out) && !volume.ClaimRef.Names(v.Giver.Ref):
		return blocked(volumes.ReasonForeignVolume, fmt.Sprintf("volume %s names claim %s/%s", volume.Name, volume.ClaimRef.Namespace, volume.ClaimRef.Name), "look what it is: kubectl describe pv "+volume.Name)
	case !volume.ClaimRef.Names(out):
		out.UID = v.Outgoing.Claim.UID
		return v.write(Release, volume, out)
	case !v.Outgoing.Claim.Found:
		verdict := v.act(CreateOutgoing)
		verdict.Action.Ref, verdict.Action.Volume = out, volume.Name
		return verdict
	case !v.Outgoing.Bound():
		return waits("claim %s is bound", out.Name)
	}
	return Verdict{}
}

// lastPass has the rest of the bytes carried over, both sides read, and their roots recorded. The warm
// sender goes once the last one is there: until then it keeps the volume attached.
func (v View) lastPass() Verdict {
	if v.Receiver.Result.Torn != "" && v.Receiver.Attempt == v.Attempt {
		return v.begin()
	}
	for _, step := range []func() Verdict{
		v.incoming,
		func() Verdict { return v.need(Receiver, "") },
		v.filled,
		func() Verdict { return v.need(Last, v.Node) },
		func() Verdict { return v.remove(Warm) },
		func() Verdict { return v.pass(Last) },
	} {
		if verdict := step(); !verdict.Done() {
			return verdict
		}
	}
	from, to := v.Last.Result, v.Receiver.Result
	switch {
	case from.Root != "" && from.Root == to.Root:
		verdict := v.act(Record)
		verdict.Action.Seals = Seals{
			Root: to.Root, Pass: to.Pass, Attempt: v.Attempt, Released: v.Released,
			From: volumes.Disk(v.Giver.Volume.Handle), To: volumes.Disk(v.Incoming.Volume.Handle),
		}
		return verdict
	case from.Nth >= mostPasses:
		return blocked(ReasonCopyDiffers, fmt.Sprintf("after %d passes the copy of claim %s/%s differs from it, first in %q", from.Nth, v.Giver.Ref.Namespace, v.Giver.Ref.Name, from.Differs),
			"look what writes there, or what the file system of the other side cannot keep; the ordinal goes back with spec.mode: Rollback")
	}
	return v.again(Last)
}

// handOver takes the incoming volume from the movers and points it at the ordinal's claim, with the seal.
func (v View) handOver() Verdict {
	if verdict := v.removeAll(Warm, Last, Receiver); !verdict.Done() {
		return verdict
	}
	in := v.Incoming
	switch {
	case len(in.Volume.Attachments) > 0:
		return waits("volume %s is attached nowhere", in.Volume.Name)
	case v.Taker.Claim.Found && v.Taker.Claim.Volume != in.Volume.Name:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s exists and names the volume %q", v.Taker.Ref.Namespace, v.Taker.Ref.Name, v.Taker.Claim.Volume),
			fmt.Sprintf("look what it holds, then remove it: kubectl delete pvc -n %s %s", v.Taker.Ref.Namespace, v.Taker.Ref.Name))
	case !v.secured(in):
		return v.write(SecureIncoming, in.Volume, in.Ref)
	case !in.Parked():
		return v.write(ParkIncoming, in.Volume, volumes.Parked(in.Ref))
	}
	return v.pointTaker()
}

// pointTaker points the copy at the ordinal's claim; with the uid of one that has lost it before.
func (v View) pointTaker() Verdict {
	verdict := v.write(TakeOver, v.Incoming.Volume, v.Taker.Ref)
	verdict.Action.Ref.UID, verdict.Action.Seals = v.Taker.Claim.UID, v.Sealed
	return verdict
}

// takeOver has the ordinal's claim bound to the copy, and only then lets go of the names that it came under.
func (v View) takeOver() Verdict {
	in, taker := v.Incoming.Volume, v.Taker.Claim
	switch {
	case in.Fence != v.Fence:
		return v.pointTaker()
	case !taker.Found:
		verdict := v.act(CreateClaim)
		verdict.Action.Ref, verdict.Action.Volume = v.Taker.Ref, in.Name
		return verdict
	case taker.Volume != in.Name:
		return blocked(volumes.ReasonForeignClaim, fmt.Sprintf("claim %s/%s names the volume %q, and its data are on %s", v.Taker.Ref.Namespace, v.Taker.Ref.Name, taker.Volume, in.Name), "look what it holds, then remove it")
	case taker.Fence != v.Fence:
		verdict := v.act(MarkClaim)
		verdict.Action.Ref, verdict.Action.UID, verdict.Action.ResourceVersion = v.Taker.Ref, taker.UID, taker.ResourceVersion
		return verdict
	case !v.Taker.Bound():
		return waits("claim %s is bound to volume %s", v.Taker.Ref.Name, in.Name)
	}
	return v.letGo()
}

// letGo parks what the giver keeps and deletes the claims that the copy has come by. Neither deletes a volume.
func (v View) letGo() Verdict {
	giver := v.Giver.Volume
	if giver.Found && !v.Giver.Parked() && v.Released != "" {
		if !v.secured(v.Giver) {
			return v.write(Secure, giver, v.Giver.Ref)
		}
		return v.write(ParkGiver, giver, volumes.Parked(v.Giver.Ref))
	}
	if verdict := v.deleteClaim(DeleteIncoming, v.Incoming); !verdict.Done() {
		return verdict
	}
	return v.deleteClaim(DeleteOutgoing, v.Outgoing)
}

// deleteClaim deletes a claim that has lost its volume to another one; done: it is gone or on its way.
func (v View) deleteClaim(verb Verb, h volumes.Holding) Verdict {
	if !h.Claim.Found || h.Claim.Terminating {
		return Verdict{}
	}
	verdict := v.act(verb)
	verdict.Action.Ref, verdict.Action.UID, verdict.Action.ResourceVersion = h.Ref, h.Claim.UID, h.Claim.ResourceVersion
	return verdict
}

// Back returns the volume to the giver as long as the copy has not been taken over. When it is done the
// ordinal may be started at the giver. What was copied stays: the next attempt goes on from there.
func Back(v View) Verdict {
	if v.Taken() {
		return blocked(ReasonNoWayBack, fmt.Sprintf("volume %s has been taken over by claim %s/%s", v.Incoming.Volume.Name, v.Taker.Ref.Namespace, v.Taker.Ref.Name),
			"the ordinal goes back by another move, with the sides exchanged")
	}
	if verdict := v.removeAll(Last, Warm, Receiver); !verdict.Done() {
		return verdict
	}
	volume := v.Giver.Volume
	out := OutgoingRef(v.Giver.Ref, v.Owner)
	switch {
	case !volume.Found:
		return blocked(volumes.ReasonVolumeLost, fmt.Sprintf("the volume of claim %s/%s does not exist on this side", v.Giver.Ref.Namespace, v.Giver.Ref.Name), "restore the PersistentVolume object")
	case !v.secured(v.Giver):
		return v.write(Secure, volume, v.Giver.Ref)
	case v.Incoming.Volume.Found && !v.secured(v.Incoming):
		// A take-over that is still on its way carries the resourceVersion from before, and is refused.
		return v.write(SecureIncoming, v.Incoming.Volume, v.Incoming.Ref)
	case volume.ClaimRef.Names(v.Giver.Ref):
		if !v.Giver.Bound() {
			return waits("claim %s is bound", v.Giver.Ref.Name)
		}
		return Verdict{}
	case !volume.ClaimRef.Names(out):
		return blocked(volumes.ReasonForeignVolume, fmt.Sprintf("volume %s names claim %s/%s", volume.Name, volume.ClaimRef.Namespace, volume.ClaimRef.Name), "look what it is: kubectl describe pv "+volume.Name)
	}
	ref := v.Giver.Ref
	ref.UID = v.Giver.Claim.UID
	return v.write(PointBack, volume, ref)
}
