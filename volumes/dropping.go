package volumes

import corev1 "k8s.io/api/core/v1"

// Tidy removes what an attempt has left. After a take-over these are the claims in which the volume was filled and
// from which it was read. Otherwise it is the abandoned copy. It does not wait for the deletions.
func (h Handing) Tidy() Verdict {
	switch {
	case !h.Taken():
		return h.Drop()
	case !h.Taker.Bound():
		return Verdict{}
	}
	return h.LetGo()
}

// LeaveOutgoing deletes the claim from which an abandoned attempt was read, once its volume is the ordinal's again.
func (h Handing) LeaveOutgoing() Verdict {
	if !h.Outgoing.Claim.Ours || h.Giver.Volume.ClaimRef.Names(h.Outgoing.Ref) {
		return Verdict{}
	}
	return h.deleteLost(h.Outgoing, true)
}

// Drop removes the incoming claim of an abandoned attempt. Its volume is then deleted or retained as its class
// defines. The abandonment is recorded first, so that a removed object is never created again under the same
// name. Drop does not wait for the deletions.
func (h Handing) Drop() Verdict {
	in := h.Incoming
	switch {
	case !h.Droppable():
		return Verdict{}
	case !h.Attempt.Dropped:
		next := h.Attempt
		next.Dropped = true
		return Verdict{Attempt: &next}
	case in.Volume.Found && (in.Parked() || h.Marked(in.Volume)):
		ref := in.Ref
		ref.UID = in.Claim.UID
		// Both must be in one update: the reclaimer treats a volume that is reserved for a claim without a UID as
		// waiting for that claim.
		action := change(Loosen, in.Volume, func(s *State) {
			s.restore(in.Volume.OriginalFor(h.Owner))
			s.ClaimRef = ref
		})
		action.AtGiver, action.Ref, action.Fence = h.Back, ref, h.Fence
		return Verdict{Action: &action}
	}
	verdict := h.Act(DeleteDropped, false)
	a := verdict.Action
	a.Ref, a.UID, a.ResourceVersion = in.Ref, in.Claim.UID, in.Claim.ResourceVersion
	return verdict
}

// Droppable reports whether there is an incoming claim that this migration has created, and whose volume holds
// no data that would be lost. The ordinal's own volume must be where it was, and must be another disk. A disk
// that another volume refers to belongs to another user. A volume that was taken over once is never removed.
func (h Handing) Droppable() bool {
	in, own := h.Incoming, h.Giver.Volume
	if !in.Claim.Found || !in.Claim.Ours || in.Claim.Terminating || h.Taken() || h.Attempt.Holds != "" {
		return false
	}
	if !in.Volume.Found {
		return true
	}
	if in.Volume.Chosen && !h.Attempt.Filling && in.Volume.Policy != corev1.PersistentVolumeReclaimRetain {
		return false // its content was never inspected
	}
	current := own.Found && !own.Terminating && (own.ClaimRef.Names(h.Giver.Ref) || own.ClaimRef.Names(h.Outgoing.Ref))
	filled := in.Parked() || in.Volume.ClaimRef.Names(in.Ref) && in.Volume.ClaimRef.UID == in.Claim.UID
	return current && filled && in.Volume.Seal == "" && in.Volume.Twin == "" && h.another(in.Volume.Handle)
}

// another reports whether a disk is known, and is neither the giver's nor the taker's.
func (h Handing) another(handle string) bool {
	return handle != "" && handle != h.Giver.Volume.Handle && handle != h.Taker.Volume.Handle
}
