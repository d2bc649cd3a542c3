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

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
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
	// Copy is for the methods that fill a second volume; nil if nothing was observed.
	Copy *Copying
}

// Verb names the action to take on a claim or a volume.
type Verb string

// The verbs. None of them deletes.
const (
	// Secure sets the giver's volume to Retain and records its original policy.
	Secure Verb = "Secure"
	// Park sets the claimRef of the giver's volume to a claim that cannot exist.
	Park Verb = "Park"
	// Point sets the claimRef of the taker's volume to the taker's claim.
	Point Verb = "Point"
	// CreateVolume creates the taker's volume for the giver's disk.
	CreateVolume Verb = "CreateVolume"
	// CreateClaim creates the taker's claim, which names the volume.
	CreateClaim Verb = "CreateClaim"
	// MarkClaim writes the fence on the taker's claim, and a count of these writes. The binder syncs a claim
	// when the claim changes, not when its volume does. Without this write, a claim that the binder saw before
	// its volume is bound at the next resync, 15 s later (kubernetes pv_controller_base.go).
	MarkClaim Verb = "MarkClaim"
	// Restore sets a volume back to its original reclaim policy.
	Restore Verb = "Restore"
)

// Action is one write. Ref and Volume name its objects. UID and ResourceVersion are those of the volume that
// was judged. For CreateVolume they are those of the giver's volume, whose name may differ.
type Action struct {
	Verb   Verb
	Volume string
	// Ref is the new claimRef, or the claim to create.
	Ref             Ref
	UID             types.UID
	ResourceVersion string
	// Fence is the fence that is written on the volume.
	Fence string
	// Note is the policy to restore later, for Secure and Point, or the policy itself, for Restore.
	Note Note
	// There is for Park: the future name of the other side's volume for the disk. If it is empty, no name is
	// noted.
	There string
	// Alone is for Restore. It is true if the other side has neither a claim nor a volume for the disk any
	// more. The note of that volume's name is then removed.
	Alone bool
	// Calls is for MarkClaim: the count of earlier calls to the binder.
	Calls int
	// Copy is for the verbs of method Copy.
	Copy CopyAction
}

// Verdict is the next step. At most one of Action, Attempt, Waits and Blocked is set. If none is set, the
// volume is where it should be.
type Verdict struct {
	Action *Action
	// Waits names the condition that the pair waits for.
	Waits string
	// Deletion is the object whose deletion is awaited; nil if it waits for something else.
	Deletion *Deletion
	// Awaited is the message while it waits for something other than the binder; nil if it waits for the
	// binder.
	Awaited *Problem
	// Call is the action to take if the wait lasts long; nil if there is none.
	Call *Action
	// Look is the time until the next check if no watched object changes; 0 if it is not known.
	Look time.Duration
	// Attempt must be recorded before anything else is done.
	Attempt *api.CopyAttempt
	// Blocked is the problem that prevents the move.
	Blocked *Problem
}

// Done reports whether nothing is left to do.
func (v Verdict) Done() bool {
	return v.Action == nil && v.Attempt == nil && v.Waits == "" && v.Blocked == nil
}

// Rebind is the method that carries a volume without copying a byte. It sets the volume's claimRef to the other
// side's claim.
type Rebind struct{}

// Separate returns false: there is one disk.
func (Rebind) Separate() bool { return false }

// Prepare makes the giver's volume survive the loss of its claim.
func (Rebind) Prepare(pair Pair) Verdict {
	if problem := Usable(pair.Giver); problem != nil {
		return Verdict{Blocked: problem}
	}
	if problem := pair.barred(); problem != nil {
		return blocked(problem)
	}
	if !pair.secured(pair.Giver) {
		return pair.act(Secure, pair.Giver.Volume, pair.Giver.Ref)
	}
	if pair.Shared {
		return pair.proven()
	}
	return Verdict{}
}

// secured reports whether a volume is secured and no late write can undo that.
func (p Pair) secured(h Holding) bool { return h.SecuredBy(p.Owner) && h.Volume.Fence == p.Fence }

// Confirm returns why the giver's volume may not be the disk that its ordinal had when it was stopped, or nil.
func (Rebind) Confirm(pair Pair, disk string) *Problem {
	return cmp.Or(swapped(pair), Replaced(pair.Giver, disk))
}

// swapped returns a problem if the giver's volume is still bound to its claim but was never secured by this
// migration. The migration secures every volume before it stops the ordinal. If the other side's volume has the
// same disk, it is the right volume.
func swapped(pair Pair) *Problem {
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
		return blocked(swapped(pair))
	case giver.Volume.Found && !giver.Volume.ClaimRef.Names(giver.Ref) && !giver.Parked():
		// This is checked before anything is written, because the volume may belong to another user.
		return blocked(strayed(giver))
	case departing(giver) != nil && !giver.Parked():
		return blocked(departing(giver))
	case giver.Volume.Found && !pair.secured(giver):
		return pair.act(Secure, giver.Volume, giver.Ref)
	case giver.Volume.Found && !giver.Parked():
		return pair.park()
	case taker.Volume.Found && giver.Volume.Found && taker.Volume.Handle != giver.Volume.Handle:
		return blocked(otherDisk(pair))
	case taker.Volume.Found:
		return bind(pair)
	case !giver.Volume.Found:
		return pair.lost(giver)
	case taker.Claim.Found && taker.Claim.Volume != pair.there():
		return blocked(anotherClaim(pair))
	case pair.barred() != nil:
		return blocked(pair.barred())
	}
	return pair.create()
}

// Settle restores the reclaim policy of the taker's volume. A volume that is not bound stays Retain, because
// its content is then unknown.
func (Rebind) Settle(pair Pair) Verdict {
	h := pair.Taker
	switch {
	case !pair.Marked(h.Volume):
		return Verdict{}
	case !h.Bound():
		return blocked(unboundAtEnd(h))
	}
	restore := pair.Restore(h.Volume)
	return Verdict{Action: &restore}
}

// AtGiver reports whether an action is done in the giver's cluster.
func (Rebind) AtGiver(action Action) bool { return action.Verb == Secure || action.Verb == Park }

// Marked reports whether a volume has a mark of this migration.
func (p Pair) Marked(volume Volume) bool {
	return volume.Found && (volume.Note.By == p.Owner || api.FenceOwner(volume.Fence) == p.Owner)
}

// Restore returns the action that restores a volume's reclaim policy. If the policy was never changed, it
// stays, and only the fence is removed.
func (p Pair) Restore(volume Volume) Action {
	other := p.Giver
	if other.Volume.UID == volume.UID {
		other = p.Taker
	}
	return Action{
		Verb: Restore, Volume: volume.Name, UID: volume.UID, ResourceVersion: volume.ResourceVersion, Note: Note{Policy: volume.OriginalFor(p.Owner)},
		Alone: volume.There != "" && !other.Claim.Found && !stands(other.Volume),
	}
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
		return blocked(swapped(pair))
	case departing(giver) != nil:
		return blocked(departing(giver))
	case !pair.secured(giver):
		return pair.act(Secure, giver.Volume, giver.Ref)
	case taker.Claim.Found && taker.Claim.Volume != giver.Volume.Name:
		return blocked(anotherClaim(pair))
	}
	if verdict := pair.proven(); !verdict.Done() {
		return verdict
	}
	return pair.act(Point, taker.Volume, target(taker))
}

// lost returns the problem of a volume that was not found where it must be. Either it was deleted, or no claim
// records any more which volume it was.
func (p Pair) lost(where Holding) Verdict {
	if !p.Giver.Claim.Found && !p.Taker.Claim.Found {
		return blocked(claimLost(p.Giver))
	}
	return blocked(VolumeLost(where))
}

func (p Pair) act(verb Verb, volume Volume, ref Ref) Verdict {
	return Verdict{Action: &Action{
		Verb: verb, Volume: volume.Name, Ref: ref, UID: volume.UID, ResourceVersion: volume.ResourceVersion, Fence: p.Fence,
		Note: Note{Policy: p.original(volume), By: p.Owner},
	}}
}

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

func blocked(problem *Problem) Verdict { return Verdict{Blocked: problem} }
