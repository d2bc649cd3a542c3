package volumes

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// occupied returns why the taker's place is not free for the giver's disk, or nil. The place is taken if another
// user has a claim or a volume there under its name.
func (p Pair) occupied() *Reason {
	taker := p.Taker
	if !p.Giver.Volume.Found {
		return nil // there is nothing to compare it with
	}
	if taker.Claim.Found && taker.Claim.Volume != p.there() {
		return anotherClaim(p)
	}
	if p.Shared {
		return nil
	}
	switch {
	case taker.Volume.Found && taker.Volume.Handle != p.Giver.Volume.Handle && taker.Claim.Found && !taker.Claim.Ours:
		return anotherClaim(p)
	case taker.Volume.Found && taker.Volume.Handle != p.Giver.Volume.Handle:
		return otherDisk(p)
	case taker.Volume.Found && !taker.Volume.Ours && !taker.Parked() && !p.prepared():
		return unprepared(p)
	}
	if taker.Claim.Found && !taker.Claim.Ours && !taker.Volume.Found {
		return foreignClaim(taker)
	}
	return nil
}

// Usable returns why the giver cannot hand a holding over, or nil.
func Usable(h Holding) *Reason {
	switch {
	case !h.Claim.Found:
		return Stalled(
			ReasonClaimMissing,
			fmt.Sprintf("claim %s/%s does not exist", h.Ref.Namespace, h.Ref.Name),
			"wait until the StatefulSet controller has created it",
		)
	case h.Claim.OwnedByPod:
		return Stalled(
			ReasonClaimOwned,
			fmt.Sprintf("claim %s/%s is owned by its Pod and would be deleted with it, and its data after it", h.Ref.Namespace, h.Ref.Name),
			"set persistentVolumeClaimRetentionPolicy.whenScaled to Retain and wait until the ownerReference is removed",
		)
	case !h.Volume.Found && h.Claim.Volume != "":
		return VolumeLost(h)
	case h.Parked() && h.Claim.Volume == h.Volume.Name:
		return parkedHere(h)
	case !h.Bound():
		return Stalled(
			ReasonClaimNotBound,
			fmt.Sprintf("claim %s/%s is %s and not bound to a volume that names it", h.Ref.Namespace, h.Ref.Name, phase(h.Claim.Phase)),
			h.Describe(),
		)
	}
	return nil
}

// parkedHere returns the problem of a claim whose volume a migration has parked: that migration was abandoned
// while it moved the volume.
func parkedHere(h Holding) *Reason {
	return Stalled(
		ReasonClaimNotBound,
		fmt.Sprintf("claim %s/%s is %s: a migration has parked its volume %s, whose disk (%s) may be that of another volume on the other side", h.Ref.Namespace, h.Ref.Name, phase(h.Claim.Phase), h.Volume.Name, h.Volume.Handle),
		"make sure that nothing uses this disk: no pod of the ordinal, and no other bound volume of the disk, on either side; then: "+Unpark(h),
	)
}

// Unpark returns the command that sets the claimRef of a parked volume back to its claim, in the cluster of
// that holding.
func Unpark(h Holding) string {
	return h.Command(`patch pv %s --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"%s","name":"%s","uid":"%s","resourceVersion":null}}}'`,
		h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Claim.UID)
}

// barred returns why the giver's volume may not be created at the taker. It is nil if the volume may be
// created, or need not be.
func (p Pair) barred() *Reason {
	giver := p.Giver.Volume
	switch {
	case p.Shared || p.Taker.Volume.Found && !p.prepared():
		return nil
	case !p.Taker.Volume.Found && giver.Barred != Reason{}:
		return &giver.Barred
	case giver.Twin != "":
		return TwinOf(giver.Name, giver.Twin, p.Taker)
	}
	return nil
}

// Replaced returns why the giver's volume is not the disk that was recorded when its ordinal's handoff began,
// or nil. It is nil if no disk was recorded.
func (p Pair) Replaced() *Reason {
	h := p.Giver
	if p.Disk == "" || !h.Volume.Found || Disk(h.Volume.Handle) == p.Disk {
		return nil
	}
	return Stalled(
		ReasonAnotherDisk,
		fmt.Sprintf("volume %s of claim %s/%s is another disk than when its ordinal was stopped: %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.Handle),
		fmt.Sprintf("find what recreated it (%s), and recreate it with the disk that the ordinal had; or go back: set spec.mode to Rollback", h.DescribeVolume()),
	)
}

func phase(p corev1.PersistentVolumeClaimPhase) string {
	if p == "" {
		return "without a phase"
	}
	return string(p)
}

// repointable returns why the claimRef of a volume must not be changed, or nil.
func repointable(h Holding) *Reason {
	ref, volume := h.Ref, h.Volume
	if volume.Policy == corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	return Stalled(
		ReasonVolumeNotRetain,
		fmt.Sprintf("volume %s of claim %s/%s has reclaim policy %s: the storage would be deleted when it loses its claim", volume.Name, ref.Namespace, ref.Name, volume.Policy),
		h.retain(volume.Name),
	)
}

// claimLost returns the problem of an ordinal for which no claim records its volume any more.
func claimLost(h Holding) *Reason {
	return Stalled(
		ReasonClaimMissing,
		fmt.Sprintf("claim %s/%s has been deleted, and nothing else names its volume", h.Ref.Namespace, h.Ref.Name),
		fmt.Sprintf("create it again, with spec.volumeName: the PersistentVolume whose spec.claimRef names it (%s)", h.Command("get pv | grep %s/%s", h.Ref.Namespace, h.Ref.Name)),
	)
}

// NotSecured returns the problem of a stopped ordinal whose present volume was not secured before the stop. Its
// claim was deleted since and created again on another disk, or another user stopped the ordinal before its
// turn.
func NotSecured(h Holding) *Reason {
	return Stalled(
		ReasonAnotherDisk,
		fmt.Sprintf("claim %s/%s is on volume %s, which was not secured before the ordinal was stopped: it may not be the disk that the ordinal had", h.Ref.Namespace, h.Ref.Name, h.Volume.Name),
		fmt.Sprintf("see which volume the ordinal had (%s), and bind the claim to that one; or go back: set spec.mode to Rollback", h.Command("get pv | grep %s/%s", h.Ref.Namespace, h.Ref.Name)),
	)
}

// VolumeLost returns the problem of a volume that a claim names and that does not exist.
func VolumeLost(h Holding) *Reason {
	return Stalled(
		ReasonVolumeLost,
		fmt.Sprintf("the volume of claim %s/%s (%q) does not exist on this side", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		"restore the PersistentVolume object; the storage itself has not been deleted by this migration",
	)
}

// Departing returns the problem of a volume whose object was deleted; nil if it was not. The object exists only while it is
// bound to its claim (kubernetes pv_protection_controller.go, isBeingUsed). A change of the claimRef would
// remove it, and with it the only record of the disk.
func Departing(h Holding) *Reason {
	if !h.Volume.Found || !h.Volume.Terminating {
		return nil
	}
	return Stalled(
		ReasonVolumeLost,
		fmt.Sprintf("volume %s of claim %s/%s is being deleted: its object disappears as soon as it loses that claim, and nothing else names its disk, %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.Handle),
		fmt.Sprintf("recreate its object while no pod uses it, with the same name, source, policy Retain, annotations and claimRef with its uid: %s > pv.json; remove metadata.uid, resourceVersion, deletionTimestamp, deletionGracePeriodSeconds and status from that file; release the object: %s; then: %s; the migration then continues",
			h.Command("get pv %s -o json", h.Volume.Name), h.Command(`patch pv %s --type=merge -p '{"metadata":{"finalizers":null}}'`, h.Volume.Name), h.Command("create -f pv.json")),
	)
}

func unboundAtEnd(h Holding) *Reason {
	return Stalled(
		api.ReasonVolumeUnbound,
		"volume "+h.Volume.Name+" is not bound to claim "+h.Ref.Namespace+"/"+h.Ref.Name+" any more",
		"its reclaim policy stays Retain until it is; "+h.DescribeVolume(),
	)
}

// anotherClaim returns the problem of a claim at the taker that names another volume than the one that arrives.
// An earlier move left that claim, or it belongs to another user.
func anotherClaim(pair Pair) *Reason { return cmp.Or(leftBehind(pair), foreignClaim(pair.Taker)) }

func foreignClaim(h Holding) *Reason {
	return Stalled(
		ReasonForeignClaim,
		fmt.Sprintf("claim %s/%s exists and names the volume %q: the pod would start on another disk than the one it had", h.Ref.Namespace, h.Ref.Name, h.Claim.Volume),
		"look at its data; to free the name and keep the disk: "+h.Delete(),
	)
}
