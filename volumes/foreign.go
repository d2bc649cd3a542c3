package volumes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// This file handles objects that occupy a volume's place at the taker. No remedy here deletes a disk, or causes
// its deletion: a volume is set to Retain before its object may be deleted.

// prepared reports whether the user has created the taker's volume for the giver's disk, so that it can be
// taken over. It must be the same disk, have policy Retain, and be reserved for the taker's claim.
func (p Pair) prepared() bool {
	taker, volume := p.Taker, p.Taker.Volume
	return !p.Shared && !p.Separate && volume.Found && !volume.Ours && !volume.Terminating && p.Giver.Volume.Found && volume.Handle == p.Giver.Volume.Handle &&
		volume.Policy == corev1.PersistentVolumeReclaimRetain && volume.Note.Policy == "" && volume.ClaimRef.Names(taker.Ref) && volume.ClaimRef.UID == "" && !taker.Claim.Found
}

// unprepared returns the problem of a volume at the taker that is the giver's disk, has its name, and is not
// reserved for the taker's claim.
func unprepared(p Pair) *Reason {
	taker := p.Taker
	volume, ref := taker.Volume, taker.Volume.ClaimRef
	message := fmt.Sprintf("volume %s of this disk already exists at the destination (%s), with reclaim policy %s and for %s: it is not reserved for claim %s/%s",
		volume.Name, volume.Handle, volume.Policy, ref.forPeople(), taker.Ref.Namespace, taker.Ref.Name)
	if ref.Names(taker.Ref) {
		message = fmt.Sprintf("volume %s of this disk already exists at the destination (%s), with reclaim policy %s: it is bound, or was not created by this migration",
			volume.Name, volume.Handle, volume.Policy)
	}
	reserve := taker.Command(`patch pv %s --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"%s","name":"%s"}}}'`, volume.Name, taker.Ref.Namespace, taker.Ref.Name)
	remedy := fmt.Sprintf("while no pod there uses it, set it to Retain first, so that the disk stays; then reserve it for the claim, and it is taken over: %s && %s; or delete its object: %s",
		taker.retain(volume.Name), reserve, taker.deleteVolume(volume.Name))
	if ref.UID != "" {
		remedy = fmt.Sprintf("see which pods use %s there, and stop them: %s; then set the volume to Retain first, so that the disk stays, and delete its object: %s",
			ref.forPeople(), taker.DescribeVolume(), taker.deleteVolume(volume.Name))
	}
	return Stalled(ReasonForeignVolume, message, remedy)
}

// otherDisk returns the problem of a volume at the taker that has the name of the giver's and is another disk.
func otherDisk(p Pair) *Reason {
	taker := p.Taker
	return Stalled(
		ReasonForeignVolume,
		fmt.Sprintf("volume %s exists for another disk: %s instead of %s", taker.Volume.Name, taker.Volume.Handle, p.Giver.Volume.Handle),
		fmt.Sprintf("do not change it, because it may be in use (%s); name a method for claim template %[2]s that creates a volume of another name: --volume %[2]s=copy, or method: Copy in spec.volumes",
			taker.DescribeVolume(), p.Template),
	)
}

// strayed returns the problem of a volume whose claimRef names neither the ordinal's claim nor one that this
// migration has set.
func strayed(h Holding) *Reason {
	return Stalled(
		ReasonForeignVolume,
		fmt.Sprintf("volume %s is not that of claim %s/%s: its claimRef names %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.ClaimRef.forPeople()),
		"before you change it, find what set its claimRef and whether a pod uses it: "+h.DescribeVolume(),
	)
}

// TwinOf returns the problem of a volume to create for a disk that another volume of that cluster may already
// be. taker is the side of that other volume.
func TwinOf(volume, twin string, taker Holding) *Reason {
	return Stalled(
		ReasonForeignVolume,
		fmt.Sprintf("volume %s of the other side may be the same disk as volume %s, which would move there: two pods could write to it", twin, volume),
		fmt.Sprintf("see which pods use it: %s; if none does, set it to Retain first, so that the disk stays, and delete its object: %s",
			taker.Command("describe pv %s", twin), taker.deleteVolume(twin)),
	)
}

// forPeople returns the name of a claim as text for users, also if there is no claim.
func (r Ref) forPeople() string {
	if r.Name == "" {
		return "no claim"
	}
	return "claim " + r.Namespace + "/" + r.Name
}
