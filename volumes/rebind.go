// Package volumes decides how the volume of one ordinal gets from one slice to another: what all methods have in
// common, and method Rebind, which copies no byte.
//
// With Rebind, in one cluster there is one PersistentVolume, and its claimRef is pointed from
// the giver's claim to the taker's. Between clusters there are two
// PersistentVolumes for one disk, of which at most one is usable: the giver's is
// parked first (its claimRef names a claim that cannot exist), then the taker's is
// made, or un-parked when it exists from an earlier handoff.
//
// What keeps the data safe at each step:
//
//   - a claimRef is never cleared, only pointed elsewhere in one update, so that
//     no pending claim can take the volume in between;
//   - it never carries the uid of a claim that does not exist: the volume would
//     be Released, and its reclaim policy would run (kubernetes pv_controller.go,
//     syncVolume);
//   - nothing is pointed elsewhere unless its reclaim policy is Retain;
//   - the giver's claim is kept, so that its name stays taken and a pod brought up
//     by somebody else finds a claim without a volume instead of an empty disk;
//   - nothing is deleted here.
package volumes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Pair is one claim template's claim of one ordinal, seen from both sides.
type Pair struct {
	// Shared is true when both sides are in one cluster and share one volume.
	Shared bool
	// Separate is true when each side has a volume of its own.
	Separate bool
	// Fence is the one of the present epoch. A volume is written under it before
	// anything is built upon where it is: a late write of an older epoch carries the
	// resourceVersion from before and is refused.
	Fence string
	// Owner is the UID of the migration.
	Owner        types.UID
	Giver, Taker Holding
	// Template is the name of the claim template, for messages, and Word what a person has said of it.
	Template string
	Word     Word
	// Copy is for method Copy; nil: nothing was looked at.
	Copy *Copying
}

// Verb says what to do with a claim or a volume.
type Verb string

// The verbs. None of them deletes.
const (
	// Secure sets the giver's volume to Retain and records its original policy.
	Secure Verb = "Secure"
	// Park points the giver's volume at a claim that cannot exist.
	Park Verb = "Park"
	// Point points the taker's volume at the taker's claim.
	Point Verb = "Point"
	// CreateVolume makes the taker's volume for the giver's disk.
	CreateVolume Verb = "CreateVolume"
	// CreateClaim makes the taker's claim, naming the volume.
	CreateClaim Verb = "CreateClaim"
	// MarkClaim writes the fence on the taker's claim, and how often that was done. The
	// binder looks at a claim when the claim changes, not when its volume does: one that
	// it saw before its volume is bound at the next resync otherwise, 15 s later
	// (kubernetes pv_controller_base.go).
	MarkClaim Verb = "MarkClaim"
	// Restore gives a volume its original reclaim policy back.
	Restore Verb = "Restore"
)

// Action is one write. Ref and Volume say what it is about; UID and
// ResourceVersion are those of the volume that was judged: for CreateVolume the giver's, which may be called otherwise.
type Action struct {
	Verb   Verb
	Volume string
	// Ref is what the claimRef becomes, or the claim to create.
	Ref             Ref
	UID             types.UID
	ResourceVersion string
	// Fence is what the volume is marked with.
	Fence string
	// Note is the policy to go back to, for Secure and Point; the policy itself, for Restore.
	Note Note
	// There is for Park: what the other side's volume of the disk will be called; empty: nothing is noted of it.
	There string
	// Alone is for Restore: the other side has neither a claim nor a volume of the disk any more, so what it was called is forgotten.
	Alone bool
	// Calls is for MarkClaim: how often the binder has been called before.
	Calls int
	// Copy is for the verbs of method Copy.
	Copy CopyAction
}

// Verdict is what to do next: at most one of Action, Attempt, Waits and Blocked is set; with
// none of them the volume is where it should be.
type Verdict struct {
	Action *Action
	// Waits says what is waited for.
	Waits string
	// Deletion is the object whose deletion is waited for; nil: it is something else.
	Deletion *Deletion
	// Awaited is the message while it waits for something else than the binder; nil: it waits for the binder.
	Awaited *Problem
	// Call is what may be done when that takes long; nil: nothing.
	Call *Action
	// Look is when to look again although nothing that is watched has changed; 0: nobody knows.
	Look time.Duration
	// Attempt is what must be recorded before anything else is done.
	Attempt *api.CopyAttempt
	// Blocked says what stands in the way.
	Blocked *Problem
}

// Done says whether nothing is left to do.
func (v Verdict) Done() bool {
	return v.Action == nil && v.Attempt == nil && v.Waits == "" && v.Blocked == nil
}

// Rebind is the method that carries a volume without copying a byte: it points the volume at
// the other side's claim.
type Rebind struct{}

// Separate is false: there is one disk.
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

// secured says whether a volume is secured, and no late write can undo it.
func (p Pair) secured(h Holding) bool { return h.SecuredBy(p.Owner) && h.Volume.Fence == p.Fence }

// Confirm returns why the giver's volume may not be on the disk that its ordinal had when it was
// stopped, or nil.
func (Rebind) Confirm(pair Pair, disk string) *Problem {
	return cmp.Or(swapped(pair), Replaced(pair.Giver, disk))
}

// swapped is for a volume that is still bound to its claim and was never secured by this migration,
// which secures what it stops. The other side's volume of the same disk shows that it is that one.
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

// Misplaced says whether the taker's claim is there and the volume has not been carried
// over to it: the claim names another one, or the volume is still parked or the giver's.
func (p Pair) Misplaced() bool {
	claim, volume := p.Taker.Claim, p.Taker.Volume
	if p.Separate { // one that was made for it may have no volume yet
		return claim.Found && (p.Taker.Parked() || !claim.Ours && !volume.Found)
	}
	due := cmp.Or(p.Taker.Name, p.Giver.Claim.Volume)
	another := due != "" && claim.Volume != due
	left := p.Taker.Parked() || p.Shared && volume.Found && volume.ClaimRef.Names(p.Giver.Ref)
	return claim.Found && (another || left)
}

// Transfer brings the volume to the taker.
func (Rebind) Transfer(pair Pair) Verdict {
	if pair.Shared {
		return rebindShared(pair)
	}
	giver, taker := pair.Giver, pair.Taker
	switch {
	case swapped(pair) != nil:
		return blocked(swapped(pair))
	case giver.Volume.Found && !giver.Volume.ClaimRef.Names(giver.Ref) && !giver.Parked():
		// It is asked before anything is written: it may be the volume of somebody else.
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

// Settle gives the taker's volume its reclaim policy back. It stays Retain while the volume is not
// bound: nobody says what it is then.
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

// AtGiver says where an action is done.
func (Rebind) AtGiver(action Action) bool { return action.Verb == Secure || action.Verb == Park }

// Marked says whether a volume has a mark of this migration.
func (p Pair) Marked(volume Volume) bool {
	return volume.Found && (volume.Note.By == p.Owner || api.FenceOwner(volume.Fence) == p.Owner)
}

// Restore is the action that gives a volume its reclaim policy back. One whose policy was never
// changed keeps it, and only loses the fence.
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

// stands says whether a volume is there, and is not being deleted.
func stands(volume Volume) bool { return volume.Found && !volume.Terminating }

// rebindShared points the one volume at the taker's claim. A write over the taker's connection is judged by a read over
// that connection: the giver's side may say anything of a volume.
func rebindShared(pair Pair) Verdict {
	if !pair.Giver.Volume.Found {
		pair.Giver.Volume = pair.Taker.Volume
	}
	giver, taker := pair.Giver, pair.Taker
	switch {
	case !giver.Volume.Found, taker.Volume.Found && !taker.Volume.ClaimRef.Names(giver.Ref):
		return bind(pair)
	case !giver.Volume.ClaimRef.Names(giver.Ref):
		return pair.awaitsMark() // the taker's side still shows what was before
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

// lost is for a volume that was not found where it must be: it is gone, or nothing says
// any more which one it was.
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

// original is the policy to go back to of a volume that is written: what this migration has
// noted on it, or on the other side's; else what the one is set to that is its claim's. What a volume
// is set to that nobody runs on, or what an earlier migration has noted, is not its author's choice.
func (p Pair) original(volume Volume) corev1.PersistentVolumeReclaimPolicy {
	if volume.UID == p.Taker.Volume.UID && p.prepared() {
		return volume.Policy // whoever has prepared it has chosen it
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
