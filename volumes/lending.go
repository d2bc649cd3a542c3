package volumes

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Lend points the parked volume that the giver keeps at the outgoing claim, so that a mover can read it. Nothing mounts
// it under the ordinal's name. When it is done, the claim is bound. The release mark of the volume stays: it shows that
// the volume was not given back since the seal.
func (h Handing) Lend() Verdict {
	out, volume := h.Outgoing.Ref, h.Giver.Volume
	out.UID = h.Outgoing.Claim.UID
	have, claim := volume.ClaimRef, h.Outgoing.Claim
	switch {
	case !volume.Found:
		return Held(h.volumeGone())
	case Departing(h.Giver) != nil:
		return Held(Departing(h.Giver))
	case !h.Lent() && !h.Giver.Parked():
		return Held(strayed(h.Giver))
	case claim.Found && !claim.Ours:
		return Held(inTheWay(h.Outgoing))
	case claim.Found && claim.Terminating:
		return Verdict{Waits: h.Outgoing.claimDeletion().waits(), Deletion: h.Outgoing.claimDeletion(), Look: Look}
	case claim.Found && claim.Volume != volume.Name:
		return h.deleteLost(h.Outgoing, true)
	case !h.secured(h.Giver):
		return h.keep(h.Giver, true)
	case !h.Lent() || have.UID != "" && have.UID != out.UID:
		return h.repoint(true, Release, volume, out)
	case !claim.Found:
		verdict := h.Act(CreateOutgoing, true)
		verdict.Action.Ref, verdict.Action.Volume, verdict.Action.Copy.Class = out, volume.Name, volume.Class
		return verdict
	case !h.Outgoing.Bound():
		return Awaits("claim %s/%s is bound to volume %s", out.Namespace, out.Name, volume.Name)
	}
	return Verdict{}
}

// Lent reports whether the giver's volume is reserved for the outgoing claim.
func (h Handing) Lent() bool { return h.Giver.Volume.ClaimRef.Names(h.Outgoing.Ref) }

// TakeBack parks a volume that was lent, and deletes the outgoing claim. It is done once that deletion was requested. The
// release mark stays as long as the copy is not proven, so that the volume can still be lent again. A volume that is in
// use again is left alone. A late write that would lend it is refused, because the volume gets the present fence first.
func (h Handing) TakeBack() Verdict {
	giver, owes := h.Giver, h.Attempt.OwesProof()
	switch volume := giver.Volume; {
	case !volume.Found, !h.Lent() && (!giver.Parked() || volume.Released == ""):
		return h.deleteLost(h.Outgoing, true)
	case !h.secured(giver):
		return h.keep(giver, true)
	case owes && !h.Lent():
		return h.deleteLost(h.Outgoing, true)
	}
	verdict := h.repoint(true, Park, giver.Volume, Parked(giver.Ref))
	if owes {
		return verdict
	}
	return returned(verdict)
}

// Unchanged returns why the volume that the giver keeps cannot be shown to be as it was when its copy was sealed, or
// nil.
func (h Handing) Unchanged() *Reason {
	seal, volume := h.Attempt.Seal, h.Giver.Volume
	claim := fmt.Sprintf("claim %s/%s", h.Giver.Ref.Namespace, h.Giver.Ref.Name)
	why := ""
	switch {
	case !volume.Found:
		why = "the volume that the ordinal has left does not exist any more, or nothing names it"
	case Disk(volume.Handle) != seal.From:
		why = fmt.Sprintf("volume %s is another disk than the one that was copied", volume.Name)
	case seal.From == seal.To:
		why = fmt.Sprintf("the copy is on the disk of volume %s itself", volume.Name)
	case !h.Lent() && !h.Giver.Parked():
		why = fmt.Sprintf("volume %s is reserved for claim %s/%s, so a pod may have written to it", volume.Name, volume.ClaimRef.Namespace, volume.ClaimRef.Name)
	case volume.Released != seal.Released:
		why = fmt.Sprintf("volume %s was given back to its ordinal since it was copied, so a pod may have written to it", volume.Name)
	default:
		return nil
	}
	return Stalled(ReasonCopyUnprovable, "the copy of "+claim+" cannot be proven: "+why, "see the volume: "+h.Giver.DescribeVolume()+"; "+Accepting(h.Template, seal.Proof))
}

// Accepting returns the user's step to go on with a copy that is not proven.
func Accepting(template string, proof api.CopyProof) string {
	first := ""
	if proof.AcceptedBefore {
		first = "first remove the ordinal from that list, because it was there before this was found, and wait until this message does not ask for that any more; "
	}
	return fmt.Sprintf("to accept the copy, add the ordinal to copy.acceptDiffering for claim template %[1]s in spec.volumes: %[2]s--volume %[1]s=copy,...,accept=ORDINAL", template, first)
}
