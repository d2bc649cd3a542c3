// Package volumes decides how the volume of one ordinal moves from one slice to another. It holds what all
// methods share, and method Rebind, which copies no byte.
//
// With Rebind in one cluster there is one PersistentVolume, and its claimRef is changed from the giver's claim
// to the taker's. Between clusters there are two PersistentVolumes for one disk, of which at most one is
// usable. The giver's is parked first: its claimRef then names a claim that cannot exist. The taker's is
// created after that, or unparked if it exists from an earlier handoff.
//
// These rules keep the data safe at each step:
//
//   - A claimRef is never cleared. It is changed in one update, so that no pending claim can bind to the
//     volume in between.
//   - A claimRef never carries the UID of a claim that does not exist. Such a volume would become Released,
//     and its reclaim policy would run (kubernetes pv_controller.go, syncVolume).
//   - A claimRef is changed only if the reclaim policy is Retain.
//   - The giver's claim is kept, so that its name stays in use. A pod that another user starts finds a claim
//     without a volume instead of an empty disk.
//   - Nothing is deleted here.
package volumes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Pair holds both sides' claims for one claim template of one ordinal.
type Pair struct {
	// Shared is true if both sides are in one cluster and share one volume.
	Shared bool
	// Separate is true if each side has a volume of its own.
	Separate bool
	// Fence is the fence of the present epoch. A volume is written under this fence before any decision relies
	// on its location. A late write of an older epoch carries the earlier resourceVersion and is refused.
	Fence string
	// Owner is the UID of the migration.
	Owner        types.UID
	Giver, Taker Holding
	// Template is the name of the claim template, for messages. Word holds the user's confirmations for it.
	Template string
	Word     Word
	// Disk is a digest of the disk that was recorded when the ordinal's handoff began; empty if none was. It is for
	// the moment AfterStop.
	Disk string
	// Carried is true if this migration has carried the volume to the taker. It is for the moment AfterArrival.
	Carried bool
	// Copy is for the methods that fill a second volume; nil if nothing was observed.
	Copy *Copying
}

// Action is one write: an object as it shall be. Volume and Ref name its objects. UID and ResourceVersion are those of
// the object that was judged. For CreateVolume they are those of the giver's volume, whose name may differ.
type Action struct {
	Verb Verb
	// AtGiver is true if the action is done in the cluster of the pair's giver.
	AtGiver bool
	Volume  string
	// Ref is the new claimRef, or the object to write.
	Ref             Ref
	UID             types.UID
	ResourceVersion string
	// Fence is the fence that is written on the object.
	Fence string
	// Before and After are the states of a volume or a VolumeSnapshotContent, before the action and after it.
	Before, After State
	// Calls is for MarkClaim: the count of earlier calls to the binder.
	Calls int
	// Copy is for the methods that fill a second volume.
	Copy CopyAction
}

// Written returns an action on a volume of the giver's side in the version that was judged, under the fence of the pair,
// with the state that edit leaves.
func (p Pair) Written(verb Verb, volume Volume, edit func(*State)) Action {
	action := change(verb, volume, func(s *State) {
		s.Fence = p.Fence
		edit(s)
	})
	action.AtGiver, action.Ref, action.Fence = true, action.After.ClaimRef, p.Fence
	return action
}

// Verdict is the next step. At most one of Action, Attempt, Waits and Hold is set. If none is set, the volume is
// where it should be.
type Verdict struct {
	Action *Action
	// Waits names the condition that the pair waits for.
	Waits string
	// Deletion is the object whose deletion is awaited; nil if it waits for something else.
	Deletion *Deletion
	// Call is the action to take if the wait lasts long; nil if there is none.
	Call *Action
	// Look is the time until the next check if no watched object changes; 0 if it is not known.
	Look time.Duration
	// Attempt must be recorded before anything else is done.
	Attempt *api.CopyAttempt
	// Hold is the reason that it does not go on, if that is another one than Waits. Most are Stalled.
	Hold *Reason
}

// Done reports whether nothing is left to do.
func (v Verdict) Done() bool {
	return v.Action == nil && v.Attempt == nil && v.Waits == "" && v.Hold == nil
}

// Rebind is the method that carries a volume without copying a byte. It sets the volume's claimRef to the other
// side's claim.
type Rebind struct{}

// Facts returns that there is one disk, and nothing to fill.
func (Rebind) Facts() Facts { return Facts{} }

// Check returns why the pair may not go on, or nil.
func (Rebind) Check(pair Pair, at Moment) (*Reason, []Reason) {
	switch at {
	case BeforeMove:
		return cmp.Or(Usable(pair.Giver), pair.occupied()), nil
	case BeforeStop:
		return pair.occupied(), nil
	case AfterStop:
		return cmp.Or(swapped(pair), pair.Replaced()), nil
	default:
		return pair.offItsDisk(), nil
	}
}

// Ahead has nothing to do.
func (Rebind) Ahead(Pair, Goal) Verdict { return Verdict{} }

// Prepare makes the giver's volume survive the loss of its claim.
func (Rebind) Prepare(pair Pair) Verdict {
	if problem := cmp.Or(Usable(pair.Giver), pair.barred()); problem != nil {
		return Held(problem)
	}
	if !pair.secured(pair.Giver) {
		return pair.secure(pair.Giver)
	}
	if pair.Shared {
		return pair.proven()
	}
	return Verdict{}
}

// secured reports whether a volume is secured and no late write can undo that.
func (p Pair) secured(h Holding) bool { return h.SecuredBy(p.Owner) && h.Volume.Fence == p.Fence }

// swapped returns a problem if the giver's volume is still bound to its claim but was never secured by this
// migration. The migration secures every volume before it stops the ordinal. If the other side's volume has the
// same disk, it is the right volume.
func swapped(pair Pair) *Reason {
	giver, taker := pair.Giver, pair.Taker.Volume
	if pair.Shared && (!giver.Volume.Found || !giver.Volume.ClaimRef.Names(giver.Ref)) {
		return nil // it is the taker's
	}
	known := !pair.Shared && taker.Found && taker.Handle == giver.Volume.Handle
	if !giver.Volume.Found || giver.Volume.Note.By == pair.Owner || giver.Parked() || known {
		return nil
	}
	return NotSecured(giver)
}

// Misplaced reports whether the taker's claim exists but the volume has not been carried over to it. The claim
// then names another volume, or the volume is still parked or the giver's.
func (p Pair) Misplaced() bool {
	claim, volume := p.Taker.Claim, p.Taker.Volume
	if p.Separate { // a claim created for the ordinal may have no volume yet
		return claim.Found && (p.Taker.Parked() || !claim.Ours && !volume.Found)
	}
	due := cmp.Or(p.Taker.Name, p.Giver.Claim.Volume)
	another := due != "" && claim.Volume != due
	left := p.Taker.Parked() || p.Shared && volume.Found && volume.ClaimRef.Names(p.Giver.Ref)
	return claim.Found && (another || left)
}

// Transfer carries the volume to the taker.
func (Rebind) Transfer(pair Pair) Verdict {
	if pair.Shared {
		return rebindShared(pair)
	}
	giver, taker := pair.Giver, pair.Taker
	switch {
	case swapped(pair) != nil:
		return Held(swapped(pair))
	case giver.Volume.Found && !giver.Volume.ClaimRef.Names(giver.Ref) && !giver.Parked():
		// This is checked before anything is written, because the volume may belong to another user.
		return Held(strayed(giver))
	case Departing(giver) != nil && !giver.Parked():
		return Held(Departing(giver))
	case giver.Volume.Found && !pair.secured(giver):
		return pair.secure(giver)
	case giver.Volume.Found && !giver.Parked():
		return pair.leave()
	case taker.Volume.Found && giver.Volume.Found && taker.Volume.Handle != giver.Volume.Handle:
		return Held(otherDisk(pair))
	case taker.Volume.Found:
		return bind(pair)
	case !giver.Volume.Found:
		return pair.lost(giver)
	case taker.Claim.Found && taker.Claim.Volume != pair.there():
		return Held(anotherClaim(pair))
	case pair.barred() != nil:
		return Held(pair.barred())
	}
	return pair.provide()
}

// Settle restores the reclaim policy of the taker's volume. A volume that is not bound stays Retain, because
// its content is then unknown.
func (Rebind) Settle(pair Pair) Verdict {
	h := pair.Taker
	switch {
	case !pair.Marked(h.Volume):
		return Verdict{}
	case !h.Bound():
		return Held(unboundAtEnd(h))
	}
	restore := pair.Restore(h.Volume)
	return Verdict{Action: &restore}
}

// Marked reports whether a volume has a mark of this migration.
func (p Pair) Marked(volume Volume) bool {
	return volume.Found && (volume.Note.By == p.Owner || api.FenceOwner(volume.Fence) == p.Owner)
}

// Restore returns the action that restores a volume's reclaim policy. If the policy was never changed, it
// stays, and only the fence is removed. The note of the other side's volume is removed if that side has neither a claim
// nor a volume for the disk any more.
func (p Pair) Restore(volume Volume) Action {
	other := p.Giver
	if other.Volume.UID == volume.UID {
		other = p.Taker
	}
	action := change(Restore, volume, func(s *State) { s.restore(volume.OriginalFor(p.Owner)) })
	if !other.Claim.Found && !stands(other.Volume) {
		action.After.There = ""
	}
	return action
}

// stands reports whether a volume exists and is not being deleted.
func stands(volume Volume) bool { return volume.Found && !volume.Terminating }

// rebindShared sets the claimRef of the one volume to the taker's claim. A write over the taker's connection is
// judged by a read over that connection, because the giver's side may report any state of a volume.
func rebindShared(pair Pair) Verdict {
	if !pair.Giver.Volume.Found {
		pair.Giver.Volume = pair.Taker.Volume
	}
	giver, taker := pair.Giver, pair.Taker
	switch {
	case !giver.Volume.Found, taker.Volume.Found && !taker.Volume.ClaimRef.Names(giver.Ref):
		return bind(pair)
	case !giver.Volume.ClaimRef.Names(giver.Ref):
		return pair.awaitsMark() // the taker's side still shows the earlier state
	case swapped(pair) != nil:
		return Held(swapped(pair))
	case Departing(giver) != nil:
		return Held(Departing(giver))
	case !pair.secured(giver):
		return pair.secure(giver)
	case taker.Claim.Found && taker.Claim.Volume != giver.Volume.Name:
		return Held(anotherClaim(pair))
	}
	if verdict := pair.proven(); !verdict.Done() {
		return verdict
	}
	return pair.point(taker.Volume, target(taker))
}

// lost returns the problem of a volume that was not found where it must be. Either it was deleted, or no claim
// records any more which volume it was.
func (p Pair) lost(where Holding) Verdict {
	if !p.Giver.Claim.Found && !p.Taker.Claim.Found {
		return Held(claimLost(p.Giver))
	}
	return Held(VolumeLost(where))
}

// secure returns the action that sets the giver's volume to Retain and notes the policy to restore.
func (p Pair) secure(giver Holding) Verdict {
	return p.write(true, Secure, giver.Volume, giver.Ref, func(s *State) {
		s.Policy, s.Note = corev1.PersistentVolumeReclaimRetain, p.noteOf(giver.Volume)
	})
}

// park returns the action that takes the giver's volume from its claim.
func (p Pair) park(giver Holding) Verdict {
	ref := Parked(giver.Ref)
	return p.write(true, Park, giver.Volume, ref, func(s *State) { s.ClaimRef = ref })
}

// point returns the action that sets the claimRef of the taker's volume.
func (p Pair) point(volume Volume, ref Ref) Verdict {
	return p.write(false, Point, volume, ref, func(s *State) { s.ClaimRef, s.Note = ref, p.noteOf(volume) })
}

// write returns an action on a volume, under the present fence.
func (p Pair) write(atGiver bool, verb Verb, volume Volume, ref Ref, edit func(*State)) Verdict {
	action := change(verb, volume, edit)
	action.AtGiver, action.Ref, action.Fence, action.After.Fence = atGiver, ref, p.Fence, p.Fence
	return Verdict{Action: &action}
}

// noteOf returns the note of the policy to restore later on a volume.
func (p Pair) noteOf(volume Volume) Note { return Note{Policy: p.original(volume), By: p.Owner} }

// original returns the policy to restore later for a volume that is written. It is the policy that this
// migration noted on this volume or on the other side's. Otherwise it is the policy of the volume that is bound
// to its claim. The policy of a volume that no pod uses, and the note of an earlier migration, are not the
// author's choice.
func (p Pair) original(volume Volume) corev1.PersistentVolumeReclaimPolicy {
	if volume.UID == p.Taker.Volume.UID && p.prepared() {
		return volume.Policy // the policy was chosen by the user who prepared the volume
	}
	for _, noted := range []Volume{volume, p.Giver.Volume, p.Taker.Volume} {
		if noted.Found && noted.Note.By == p.Owner && noted.Note.Policy != "" {
			return noted.Note.Policy
		}
	}
	for _, used := range []Holding{p.Giver, p.Taker} {
		if used.Volume.Found && used.Volume.ClaimRef.Names(used.Ref) {
			return used.Volume.Policy
		}
	}
	return volume.Policy
}

// Held returns a verdict that does not go on.
func Held(why *Reason) Verdict { return Verdict{Hold: why} }
