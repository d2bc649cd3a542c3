package volumes

import corev1 "k8s.io/api/core/v1"

// Dropper is a method whose attempts leave something behind when the ordinal goes on where it was.
type Dropper interface {
	// Drop removes what the attempt has filled for nothing. It is asked while the ordinal runs where the attempt has
	// found it, before the record forgets the attempt. Done: nothing is left that is this migration's to remove.
	Drop(pair Pair) Verdict
}

// The verbs by which an attempt is dropped, besides those that delete movers.
const (
	// Loosen points the incoming volume at its claim again, and gives it its own reclaim policy back.
	Loosen Verb = "Loosen"
	// DeleteDropped deletes the incoming claim. Its volume goes as its policy says, and the Service of the
	// receiver, which the claim owns, with it.
	DeleteDropped Verb = "DeleteDropped"
)

// Drop removes the incoming claim of an attempt with which nobody goes on, and lets its volume go as the class of that
// has it. First it is recorded that nobody does: what is removed is never made again under the same name. It waits for
// nothing to be gone.
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
		return h.Write(Loosen, in.Volume, ref, false)
	}
	verdict := h.Act(DeleteDropped, false)
	a := verdict.Action
	a.Ref, a.UID, a.ResourceVersion = in.Ref, in.Claim.UID, in.Claim.ResourceVersion
	return verdict
}

// Droppable says whether there is an incoming claim that this migration has made, and nothing is lost with its volume:
// the ordinal's own one is where it was, and is another disk. A disk that any other volume is as well is somebody
// else's; what was taken over once is nobody's to remove.
func (h Handing) Droppable() bool {
	in, own := h.Incoming, h.Giver.Volume
	if !in.Claim.Found || !in.Claim.Ours || in.Claim.Terminating || h.Taken() || h.Attempt.Holds != "" {
		return false
	}
	if !in.Volume.Found {
		return true
	}
	if in.Volume.Chosen && !h.Attempt.Filling && in.Volume.Policy != corev1.PersistentVolumeReclaimRetain {
		return false // nobody has looked what is there
	}
	current := own.Found && !own.Terminating && (own.ClaimRef.Names(h.Giver.Ref) || own.ClaimRef.Names(h.Outgoing.Ref))
	filled := in.Parked() || in.Volume.ClaimRef.Names(in.Ref) && in.Volume.ClaimRef.UID == in.Claim.UID
	return current && filled && in.Volume.Seal == "" && in.Volume.Twin == "" && h.another(in.Volume.Handle)
}

// another says whether a disk is neither the giver's nor the taker's, and is known at all.
func (h Handing) another(handle string) bool {
	return handle != "" && handle != h.Giver.Volume.Handle && handle != h.Taker.Volume.Handle
}
