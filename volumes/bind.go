package volumes

import corev1 "k8s.io/api/core/v1"

// bind binds the taker's volume and claim to each other.
func bind(pair Pair) Verdict {
	taker := pair.Taker
	if !taker.Volume.Found {
		return pair.lost(taker)
	}
	if taker.Claim.Found && taker.Claim.Volume != taker.Volume.Name {
		return Held(anotherClaim(pair))
	}
	if going := taker.Going(); going != nil {
		return awaitsDeletion(going)
	}
	want := target(taker)
	have := taker.Volume.ClaimRef
	if !have.Names(want) && !taker.Parked() {
		return Held(strayed(taker))
	}
	reserved := have.Names(want) && (have.UID == "" || have.UID == taker.Claim.UID && taker.Claim.Found)
	if !reserved {
		if problem := repointable(taker); problem != nil {
			return Held(problem)
		}
	}
	known := Verdict{Waits: "volume " + taker.Volume.Name + " is known to the binder"}
	if taker.Parked() && taker.Volume.Phase == corev1.VolumePending {
		return known // the binder is about to set the phase, and an earlier write would be refused
	}
	if !reserved || taker.Volume.Fence != pair.Fence {
		return pair.point(taker.Volume, want)
	}
	if !taker.Claim.Found {
		if taker.Volume.Phase != corev1.VolumeAvailable {
			return known // a claim that the binder sees before its volume waits for the next resync
		}
		return pair.create(CreateClaim, taker.Volume.Name, want)
	}
	return bound(pair)
}

// Return binds the taker's claim to the volume that the taker has kept. Its ordinal may then write to it, so an earlier
// release does not count any more.
func Return(pair Pair) Verdict {
	verdict := Empty{}.back(pair)
	if verdict.Action == nil {
		return verdict
	}
	return returned(verdict)
}

// bound lets the binder bind the taker's claim to its volume.
func bound(pair Pair) Verdict {
	taker, mark := pair.Taker, MarkClaimOf(pair.Taker, pair.Fence)
	if taker.Claim.Fence != pair.Fence {
		return Verdict{Action: &mark}
	}
	if !taker.Bound() {
		mark.Calls = taker.Claim.Calls + 1
		return Verdict{Waits: "claim " + taker.Ref.Name + " is bound to volume " + taker.Volume.Name, Call: &mark}
	}
	return Verdict{}
}

// target returns the claimRef for the taker's claim. If the claim exists, it carries the claim's UID, which
// repairs a claim that had lost its volume. Without a UID it is a reservation.
func target(taker Holding) Ref {
	ref := taker.Ref
	ref.UID = ""
	if taker.Claim.Found {
		ref.UID = taker.Claim.UID
	}
	return ref
}

// MarkClaimOf returns the action that makes the binder sync a claim.
func MarkClaimOf(h Holding, fence string) Action {
	return Action{Verb: MarkClaim, Volume: h.Volume.Name, Ref: h.Ref, UID: h.Claim.UID, ResourceVersion: h.Claim.ResourceVersion, Fence: fence}
}
