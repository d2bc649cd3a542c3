package volumes

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Problem is why a volume cannot be carried over: a stable reason, what was found
// and why it is unsafe, and what mends it.
type Problem struct {
	Reason  string
	Message string
	Remedy  string
}

// Reasons of problems.
const (
	ReasonClaimMissing      = "ClaimMissing"
	ReasonClaimNotBound     = "ClaimNotBound"
	ReasonClaimOwned        = "ClaimOwnedByPod"
	ReasonVolumeLost        = "VolumeLost"
	ReasonVolumeNotRetain   = "VolumeNotRetained"
	ReasonForeignClaim      = "ForeignClaim"
	ReasonForeignPod        = "ForeignPod"
	ReasonForeignVolume     = "ForeignVolume"
	ReasonAnotherDisk       = "AnotherDisk"
	ReasonDriverMissing     = "DriverMissing"
	ReasonVolumeOutOfReach  = "VolumeOutOfReach"
	ReasonVolumeIsLocal     = "VolumeIsLocal"
	ReasonVolumeNotAllowed  = "VolumeNotAllowed"
	ReasonDiskUnknown       = "DiskUnknown"
	ReasonClaimDiverges     = "ClaimDiverges"
	ReasonClaimNotShareable = "ClaimNotShareable"
	ReasonReleaseUnseen     = "ReleaseNotSeen"
	ReasonUnknownMethod     = "UnknownMethod"
	ReasonClassMissing      = "StorageClassMissing"
	ReasonResizePending     = "ResizePending"
	ReasonVolumesTooFew     = "VolumesTooFew"
	// Of an object that must be deleted during the move, and that another controller may keep.
	ReasonForeignFinalizer = "ForeignFinalizer"
	// Of method Copy.
	ReasonCopyImageMissing = "CopyImageMissing"
	ReasonCopySizeTooSmall = "CopySizeTooSmall"
	ReasonCopyDiffers      = "CopyDiffers"
	ReasonCopyNotWarm      = "CopyNotWarm"
	ReasonCopyCold         = "CopyCold"
	ReasonCopyStuck        = "CopyStuck"
	ReasonCopyNotEmpty     = "CopyNotEmpty"
	ReasonCopyOverBudget   = "CopyOverBudget"
	ReasonCopyMayNotFit    = "CopyMayNotFitBudget"
	ReasonCopyReadsAll     = "CopyReadsAll"
	ReasonCopyTrusts       = "CopyTrustsUnchanged"
	ReasonCopyAwaitsWord   = "CopyAwaitsWord"
	ReasonCopyNotSealed    = "CopyNotSealed"
	ReasonCopyRelayed      = "CopyRelayed"
	// Of method Snapshot.
	ReasonSnapshotUnsupported  = "SnapshotUnsupported"
	ReasonSnapshotsNotServed   = "SnapshotsNotServed"
	ReasonSnapshotClassMissing = "SnapshotClassMissing"
	ReasonForeignSnapshot      = "ForeignSnapshot"
	ReasonNotRestored          = "NotRestored"
	// Of method Empty: a person's word is missing, or it is a warning.
	ReasonEmptyUnconfirmed  = "EmptyNotConfirmed"
	ReasonFillingUnknown    = "FillingUnknown"
	ReasonReturnUnconfirmed = "ReturnNotConfirmed"
	ReasonStartsEmpty       = "StartsEmpty"
)

// Check returns why the pair cannot be moved from the giver to the taker, or nil.
func (r Rebind) Check(pair Pair) *Problem {
	if problem := Usable(pair.Giver); problem != nil {
		return problem
	}
	return r.Free(pair)
}

// Free returns why the taker's place is not free for the giver's disk, or nil: somebody else has
// a claim or a volume there under its name.
func (Rebind) Free(pair Pair) *Problem {
	taker := pair.Taker
	if !pair.Giver.Volume.Found {
		return nil // there is nothing to compare it with
	}
	if taker.Claim.Found && taker.Claim.Volume != pair.there() {
		return anotherClaim(pair)
	}
	if pair.Shared {
		return nil
	}
	switch {
	case taker.Volume.Found && taker.Volume.Handle != pair.Giver.Volume.Handle && taker.Claim.Found && !taker.Claim.Ours:
		return anotherClaim(pair)
	case taker.Volume.Found && taker.Volume.Handle != pair.Giver.Volume.Handle:
		return otherDisk(pair)
	case taker.Volume.Found && !taker.Volume.Ours && !taker.Parked() && !pair.prepared():
		return unprepared(pair)
	}
	if taker.Claim.Found && !taker.Claim.Ours && !taker.Volume.Found {
		return foreignClaim(taker)
	}
	return nil
}

// Usable says why a holding cannot be given away.
func Usable(h Holding) *Problem {
	switch {
	case !h.Claim.Found:
		return &Problem{
			ReasonClaimMissing,
			fmt.Sprintf("claim %s/%s does not exist", h.Ref.Namespace, h.Ref.Name),
			"wait until the StatefulSet controller has created it",
		}
	case h.Claim.OwnedByPod:
		return &Problem{
			ReasonClaimOwned,
			fmt.Sprintf("claim %s/%s is owned by its Pod and would be deleted with it, and its data after it", h.Ref.Namespace, h.Ref.Name),
			"set persistentVolumeClaimRetentionPolicy.whenScaled to Retain and wait until the ownerReference is gone",
		}
	case !h.Volume.Found && h.Claim.Volume != "":
		return VolumeLost(h)
	case h.Parked() && h.Claim.Volume == h.Volume.Name:
		return parkedHere(h)
	case !h.Bound():
		return &Problem{
			ReasonClaimNotBound,
			fmt.Sprintf("claim %s/%s is %s and not bound to a volume that names it", h.Ref.Namespace, h.Ref.Name, phase(h.Claim.Phase)),
			h.Describe(),
		}
	}
	return nil
}

// parkedHere is for a claim whose volume a migration has parked: it was on its way when that migration was given up.
func parkedHere(h Holding) *Problem {
	return &Problem{
		ReasonClaimNotBound,
		fmt.Sprintf("claim %s/%s is %s: a migration has parked its volume %s, whose disk (%s) another volume may be for on the other side", h.Ref.Namespace, h.Ref.Name, phase(h.Claim.Phase), h.Volume.Name, h.Volume.Handle),
		"make sure that nothing uses this disk: no pod of the ordinal, and no other volume of the disk that is bound, on either side; then: " + Unpark(h),
	}
}

// Unpark is the command that points a parked volume at its claim again, in the cluster of both.
func Unpark(h Holding) string {
	return h.Command(`patch pv %s --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"%s","name":"%s","uid":"%s","resourceVersion":null}}}'`,
		h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Claim.UID)
}

// barred says why the giver's volume may not be made at the taker, or nil: it need not be made,
// or may be.
func (p Pair) barred() *Problem {
	giver := p.Giver.Volume
	switch {
	case p.Shared || p.Taker.Volume.Found && !p.prepared():
		return nil
	case !p.Taker.Volume.Found && giver.Barred != Problem{}:
		return &giver.Barred
	case giver.Twin != "":
		return TwinOf(giver.Name, giver.Twin, p.Taker)
	}
	return nil
}

// Replaced says why the giver's volume is not on the disk that was recorded when its ordinal's
// handoff began, or nil. Nothing is known where nothing was recorded.
func Replaced(h Holding, disk string) *Problem {
	if disk == "" || !h.Volume.Found || Disk(h.Volume.Handle) == disk {
		return nil
	}
	return &Problem{
		ReasonAnotherDisk,
		fmt.Sprintf("volume %s of claim %s/%s is another disk than when its ordinal was stopped: %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.Handle),
		fmt.Sprintf("see who made it again (%s), and have it for the disk that the ordinal had; or go back: set spec.mode to Rollback", h.DescribeVolume()),
	}
}

func phase(p corev1.PersistentVolumeClaimPhase) string {
	if p == "" {
		return "without a phase"
	}
	return string(p)
}

// repointable says why the claimRef of a volume must not be changed.
func repointable(h Holding) *Problem {
	ref, volume := h.Ref, h.Volume
	if volume.Policy == corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	return &Problem{
		ReasonVolumeNotRetain,
		fmt.Sprintf("volume %s of claim %s/%s has reclaim policy %s: the storage would be deleted when it loses its claim", volume.Name, ref.Namespace, ref.Name, volume.Policy),
		h.retain(volume.Name),
	}
}

// claimLost is for an ordinal of which no claim says any more which volume it has.
func claimLost(h Holding) *Problem {
	return &Problem{
		ReasonClaimMissing,
		fmt.Sprintf("claim %s/%s has been deleted, and nothing else says which volume it had", h.Ref.Namespace, h.Ref.Name),
		fmt.Sprintf("create it again, with spec.volumeName: the PersistentVolume whose spec.claimRef names it (%s)", h.Command("get pv | grep %s/%s", h.Ref.Namespace, h.Ref.Name)),
	}
}

// NotSecured is for a volume that an ordinal which is down has now, and that was not secured when
// it was stopped: its claim was deleted since, and made again on another disk; or somebody else
// has stopped it before its turn.
func NotSecured(h Holding) *Problem {
	return &Problem{
		ReasonAnotherDisk,
		fmt.Sprintf("claim %s/%s is on volume %s, which was not secured before the ordinal was stopped: it may not be the disk that the ordinal had", h.Ref.Namespace, h.Ref.Name, h.Volume.Name),
		fmt.Sprintf("see which volume the ordinal had (%s), and have the claim on that one; or go back: set spec.mode to Rollback", h.Command("get pv | grep %s/%s", h.Ref.Namespace, h.Ref.Name)),
	}
}

// VolumeLost is for a volume that a claim names and that does not exist.
func VolumeLost(h Holding) *Problem {
	return &Problem{
		ReasonVolumeLost,
		fmt.Sprintf("the volume of claim %s/%s (%q) does not exist on this side", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		"restore the PersistentVolume object; the storage itself has not been deleted by this migration",
	}
}

// departing is for a volume whose object somebody has deleted: it is there only as long as it is bound to its claim (kubernetes
// pv_protection_controller.go, isBeingUsed). Pointed elsewhere it would be gone, and with it all that says which disk it is.
func departing(h Holding) *Problem {
	if !h.Volume.Found || !h.Volume.Terminating {
		return nil
	}
	return &Problem{
		ReasonVolumeLost,
		fmt.Sprintf("volume %s of claim %s/%s is being deleted: its object goes as soon as it loses that claim, and nothing else says which disk it is: %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.Handle),
		fmt.Sprintf("make its object again while no pod uses it, with the same name, source, policy Retain, annotations and claimRef, uid included: %s > pv.json; take uid, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds and status out of that; let the object go: %s; then: %s; the migration then goes on by itself",
			h.Command("get pv %s -o json", h.Volume.Name), h.Command(`patch pv %s --type=merge -p '{"metadata":{"finalizers":null}}'`, h.Volume.Name), h.Command("create -f pv.json")),
	}
}

func unboundAtEnd(h Holding) *Problem {
	return &Problem{
		api.ReasonVolumeUnbound,
		"volume " + h.Volume.Name + " is not bound to claim " + h.Ref.Namespace + "/" + h.Ref.Name + " any more",
		"its reclaim policy stays Retain until it is; " + h.DescribeVolume(),
	}
}

// anotherClaim is for a claim at the taker that names another volume than the one that comes: one that an earlier move has left, or
// somebody else's.
func anotherClaim(pair Pair) *Problem { return cmp.Or(leftBehind(pair), foreignClaim(pair.Taker)) }

func foreignClaim(h Holding) *Problem {
	return &Problem{
		ReasonForeignClaim,
		fmt.Sprintf("claim %s/%s exists and names the volume %q: the pod would start on another disk than the one it had", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		"look at its data; to free the name and keep the disk: " + h.Delete(),
	}
}
