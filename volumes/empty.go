package volumes

import (
	"cmp"
	"fmt"
)

// Word holds the user's confirmations for a claim template, which no program can find out.
type Word struct {
	// FillsFromPeers: a replica that starts empty is filled by its peers and breaks no promise.
	FillsFromPeers bool
	// FilledShown: the cluster shows when a replica has its data. Either a gate checks it before the next
	// ordinal is stopped, or the pod is not Ready before.
	FilledShown bool
	// ReturnsToKept: an ordinal may go back to the volume that it has left.
	ReturnsToKept bool
}

// Empty is the method that carries nothing. The giver's volume is parked and kept, and the ordinal starts at
// the taker on a new volume, which its peers fill. Each side has a volume of its own, also in one cluster. At
// most one of them is usable: the giver's is parked before the taker's claim is created. An ordinal that
// returns to a side that has kept its volume gets that volume back, with outdated data. Without the user's
// confirmation of that, it stays where it runs.
type Empty struct{}

// Facts returns that each side has a volume of its own.
func (Empty) Facts() Facts { return Facts{Separate: true} }

// Check returns why an ordinal cannot leave its data behind, or nil, and the consequences of a move by this method.
func (e Empty) Check(pair Pair, at Moment) (*Reason, []Reason) {
	switch at {
	case BeforeMove:
		return cmp.Or(Usable(pair.Giver), e.occupied(pair), e.unsaid(pair)), []Reason{startsEmpty(pair.Template)}
	case BeforeStop:
		return e.occupied(pair), nil
	case AfterStop:
		return e.unknown(pair), nil
	default:
		return e.astray(pair), nil
	}
}

// Ahead has nothing to do.
func (Empty) Ahead(Pair, Goal) Verdict { return Verdict{} }

// occupied returns why the taker's place is taken, or nil. A claim there that this migration has neither created
// nor emptied holds data.
func (Empty) occupied(pair Pair) *Reason {
	taker := pair.Taker
	ours := taker.Claim.Ours || taker.Volume.Found && taker.Volume.Note.By == pair.Owner && pair.Owner != ""
	if taker.Claim.Found && !ours {
		return cmp.Or(leftBehind(pair), notEmpty(taker))
	}
	return sameDisk(pair)
}

// startsEmpty returns the consequences of a move by this method.
func startsEmpty(template string) Reason {
	return Reason{
		Reason: ReasonStartsEmpty,
		Message: fmt.Sprintf("the volumes of claim template %s stay behind, parked and kept: each ordinal starts on an empty one, and has no copy of its data until its peers have filled it. "+
			"In a consensus group (etcd, ZooKeeper, Raft) a member that comes back empty under its old name has forgotten its votes, and can lose committed data: it must be removed and added again", template),
		Remedy: "use method Empty only for data that peers restore, one ordinal at a time; otherwise name another method for it in spec.volumes",
	}
}

// Prepare requires the user's confirmation, and makes the giver's volume survive the loss of its claim. A claim
// of this migration that has never had a volume needs neither.
func (e Empty) Prepare(pair Pair) Verdict {
	if unused(pair.Giver) {
		return Verdict{}
	}
	if problem := cmp.Or(Usable(pair.Giver), e.unsaid(pair)); problem != nil {
		return Held(problem)
	}
	if pair.secured(pair.Giver) {
		return Verdict{}
	}
	return ofGiver(pair).secure(pair.Giver)
}

// ofGiver and ofTaker drop the note on the other side's volume. That volume is another disk, and its author's
// choice does not apply to this one.
func ofGiver(pair Pair) Pair {
	pair.Taker.Volume.Note = Note{}
	return pair
}

func ofTaker(pair Pair) Pair {
	pair.Giver.Volume.Note = Note{}
	return pair
}

// unsaid returns the problem of a missing confirmation before an ordinal is stopped to start at the taker; nil
// if none is missing.
func (Empty) unsaid(pair Pair) *Reason {
	switch word := pair.Word; {
	case pair.Taker.Parked():
		return returning(pair)
	case pair.Taker.Volume.Found && !pair.Taker.Claim.Ours:
		return nil // it returns to a volume that was never carried away
	case !word.FillsFromPeers:
		return unconfirmed(pair.Template)
	case !word.FilledShown:
		return fillingUnknown(pair.Template)
	}
	return nil
}

// unknown returns why the giver's volume may not be the one that its ordinal had when it was stopped, or nil.
func (e Empty) unknown(pair Pair) *Reason {
	if pair.Disk != "" && pair.Taker.Volume.Found && Disk(pair.Taker.Volume.Handle) == pair.Disk {
		return e.swapped(pair) // it returns to the volume that it was stopped with, and has not run on the new one
	}
	return cmp.Or(e.swapped(pair), pair.Replaced())
}

// swapped returns the problem of a volume that is bound to its claim, but was neither secured nor created for
// this migration.
func (Empty) swapped(pair Pair) *Reason {
	giver := pair.Giver
	if !giver.Volume.Found || giver.Claim.Ours || giver.Parked() || giver.Volume.Note.By == pair.Owner {
		return nil
	}
	return NotSecured(giver)
}

// Transfer parks the giver's volume. Then it provides the taker's claim: a new one, or the kept one with its
// volume bound again.
func (e Empty) Transfer(pair Pair) Verdict {
	giver, taker := pair.Giver, pair.Taker
	switch {
	case e.swapped(pair) != nil:
		return Held(e.swapped(pair))
	case sameDisk(pair) != nil:
		return Held(sameDisk(pair))
	case giver.Volume.Found && !giver.Volume.ClaimRef.Names(giver.Ref) && !giver.Parked():
		return Held(strayed(giver))
	case Departing(giver) != nil && !giver.Parked():
		return Held(Departing(giver))
	case giver.Volume.Found && !pair.secured(giver):
		return ofGiver(pair).secure(giver)
	case giver.Volume.Found && !giver.Parked():
		return ofGiver(pair).park(giver)
	case taker.Volume.Found:
		return e.back(pair)
	case taker.Claim.Volume != "":
		return Held(VolumeLost(taker))
	case !giver.Volume.Found:
		return pair.lost(giver)
	}
	return e.anew(pair)
}

// back binds the taker's claim to the volume that it has kept.
func (Empty) back(pair Pair) Verdict {
	taker := pair.Taker
	switch {
	case !taker.Claim.Found:
		return Held(claimLost(taker))
	case taker.Parked() && returning(pair) != nil:
		return Held(returning(pair))
	}
	return bind(ofTaker(pair))
}

// anew creates the taker's claim, for which the class of that side provisions a new volume. Transfer does not
// wait for it: a class that waits for a pod would never provision it without one.
func (Empty) anew(pair Pair) Verdict {
	taker := pair.Taker
	switch {
	case taker.Claim.Terminating:
		return awaitsDeletion(taker.claimDeletion())
	case !taker.Claim.Found:
		return pair.create(CreateClaim, "", taker.Ref)
	case !taker.Claim.Ours:
		return Held(notEmpty(taker))
	case taker.Claim.Fence != pair.Fence:
		mark := MarkClaimOf(taker, pair.Fence)
		return Verdict{Action: &mark}
	}
	return Verdict{}
}

// returning returns why an ordinal may not go back to the volume that the taker has kept; nil if it may. If the
// giver's claim never had a volume, the ordinal has not run there, so the kept volume is current.
func returning(pair Pair) *Reason {
	if !pair.Taker.Parked() || pair.Word.ReturnsToKept || unused(pair.Giver) {
		return nil
	}
	taker := pair.Taker
	return Stalled(
		ReasonReturnUnconfirmed,
		fmt.Sprintf("claim %s/%s would get volume %s back, which was kept when the ordinal left it: its data are as old as that, and a member of a consensus group would have forgotten its votes since then", taker.Ref.Namespace, taker.Ref.Name, taker.Volume.Name),
		fmt.Sprintf("if the application brings such a replica up to date, confirm it: kubectl migrate rollback --to-kept-volumes, or empty.returnsToKept: true for claim template %s in spec.volumes; otherwise set spec.mode to Run", pair.Template),
	)
}

// unused reports whether a claim was created by this migration and has never had a volume.
func unused(h Holding) bool { return h.Claim.Found && h.Claim.Ours && h.Claim.Volume == "" }

// astray returns why an ordinal is not known to be on the volume that was created for it by this migration, or
// nil. Its claim may have no volume yet if the class waits for the pod.
func (Empty) astray(pair Pair) *Reason {
	at, from := pair.Taker, pair.Giver
	claim := fmt.Sprintf("claim %s/%s of an ordinal that was handed over ", at.Ref.Namespace, at.Ref.Name)
	look := "inspect its data, and keep it: " + at.Describe()
	switch {
	case !at.Claim.Found:
		return Stalled(ReasonAnotherDisk, claim+"does not exist any more: its pod would start without the data from its peers", "create it again, with spec.volumeName: the PersistentVolume whose spec.claimRef names it ("+at.Command("get pv")+")")
	case pair.Carried && !at.Claim.Ours:
		return Stalled(ReasonAnotherDisk, claim+"was deleted and recreated outside this migration: its pod runs, or would start, on another volume", look)
	case pair.Carried && from.Volume.Found && at.Volume.Found && from.Volume.Handle == at.Volume.Handle:
		return Stalled(ReasonAnotherDisk, claim+"is on the disk that it had: it was not moved by method Empty", "name in spec.volumes the method that has moved it")
	case at.Claim.Volume == "":
		return nil
	case at.Volume.Found && at.Claim.Volume != at.Volume.Name:
		return Stalled(ReasonAnotherDisk, claim+fmt.Sprintf("is on volume %q now, and had %s", at.Claim.Volume, at.Volume.Name), look)
	case !at.Volume.Found:
		return Stalled(ReasonVolumeLost, claim+fmt.Sprintf("is on volume %q, which does not exist", at.Claim.Volume), look)
	case !at.Volume.ClaimRef.Names(at.Ref) || at.Volume.ClaimRef.UID != "" && at.Volume.ClaimRef.UID != at.Claim.UID:
		return Stalled(ReasonAnotherDisk, claim+"is not bound to its volume any more", look)
	}
	return nil
}

// Settle restores the reclaim policy of the taker's volume, as far as it was changed.
func (Empty) Settle(pair Pair) Verdict {
	if unused(pair.Taker) {
		return Verdict{}
	}
	return Rebind{}.Settle(pair)
}

// sameDisk returns the problem of two volumes for one disk where there must be two disks. Nothing was left
// behind, and two pods could write to it.
func sameDisk(pair Pair) *Reason {
	giver, taker := pair.Giver.Volume, pair.Taker.Volume
	if !giver.Found || !taker.Found || giver.Handle != taker.Handle {
		return nil
	}
	return Stalled(
		ReasonForeignVolume,
		fmt.Sprintf("volume %s of claim %s/%s is the same disk as volume %s of the other side: it was not moved by method Empty", taker.Name, pair.Taker.Ref.Namespace, pair.Taker.Ref.Name, giver.Name),
		"name in spec.volumes the method that has moved it: Rebind carries a disk over",
	)
}

func notEmpty(h Holding) *Reason {
	return Stalled(
		ReasonForeignClaim,
		fmt.Sprintf("claim %s/%s exists, and this migration did not create it: the pod would start on its data, not empty", h.Ref.Namespace, h.Ref.Name),
		"look at its data; to free the name and keep the disk: "+h.Delete(),
	)
}

func unconfirmed(template string) *Reason {
	return Stalled(
		ReasonEmptyUnconfirmed,
		fmt.Sprintf("method Empty starts each ordinal without the data of claim template %s: it is not confirmed that its peers fill it, and that it may lose its votes, which a member of a consensus group may not", template),
		fmt.Sprintf("if both are true, confirm it: --volume %[1]s=empty,fills-from-peers, or empty.fillsFromPeers: true for claim template %[1]s in spec.volumes; otherwise name another method", template),
	)
}

func fillingUnknown(template string) *Reason {
	return Stalled(
		ReasonFillingUnknown,
		fmt.Sprintf("nothing reports when an ordinal that starts without the data of claim template %s has been filled: the next ordinal would be stopped while this one is empty", template),
		fmt.Sprintf("add a health gate AfterStart that reports it (spec.gates, --gates); or, if its pod is Ready only once filled: --volume %[1]s=empty,fills-from-peers,ready-when-filled, or empty.readyWhenFilled: true for claim template %[1]s in spec.volumes", template),
	)
}
