package volumes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// What stands in a volume's place at the taker. No remedy here deletes a disk, or has one deleted: a volume is set to Retain
// before its object may be deleted.

// prepared says whether a person has made the taker's volume for the giver's disk: it is that disk, keeps it whatever becomes of
// its claim, and is reserved for the taker's claim. It is taken over.
func (p Pair) prepared() bool {
	taker, volume := p.Taker, p.Taker.Volume
	return !p.Shared && !p.Separate && volume.Found && !volume.Ours && !volume.Terminating && p.Giver.Volume.Found && volume.Handle == p.Giver.Volume.Handle &&
		volume.Policy == corev1.PersistentVolumeReclaimRetain && volume.Note.Policy == "" && volume.ClaimRef.Names(taker.Ref) && volume.ClaimRef.UID == "" && !taker.Claim.Found
}

// unprepared is for a volume at the taker that is the giver's disk, under its name, and is not reserved for the taker's claim.
func unprepared(p Pair) *Problem {
	taker := p.Taker
	volume, ref := taker.Volume, taker.Volume.ClaimRef
	message := fmt.Sprintf("volume %s exists at the destination of this disk already (%s), with reclaim policy %s and for %s: it is not reserved for claim %s/%s",
		volume.Name, volume.Handle, volume.Policy, ref.forPeople(), taker.Ref.Namespace, taker.Ref.Name)
	if ref.Names(taker.Ref) {
		message = fmt.Sprintf("volume %s exists at the destination of this disk already (%s), with reclaim policy %s and bound or written by somebody else",
			volume.Name, volume.Handle, volume.Policy)
	}
	reserve := taker.Command(`patch pv %s --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"%s","name":"%s"}}}'`, volume.Name, taker.Ref.Namespace, taker.Ref.Name)
	remedy := fmt.Sprintf("while no pod there uses it, set it to Retain first, so that the disk stays; then reserve it for the claim, and it is taken over: %s && %s; or delete its object: %s",
		taker.retain(volume.Name), reserve, taker.deleteVolume(volume.Name))
	if ref.UID != "" {
		remedy = fmt.Sprintf("see which pods use %s there, and stop them: %s; then set the volume to Retain first, so that the disk stays, and delete its object: %s",
			ref.forPeople(), taker.DescribeVolume(), taker.deleteVolume(volume.Name))
	}
	return &Problem{ReasonForeignVolume, message, remedy}
}

// otherDisk is for a volume at the taker that has the name of the giver's and is another disk.
func otherDisk(p Pair) *Problem {
	taker := p.Taker
	return &Problem{
		ReasonForeignVolume,
		fmt.Sprintf("volume %s exists for another disk: %s instead of %s", taker.Volume.Name, taker.Volume.Handle, p.Giver.Volume.Handle),
		fmt.Sprintf("leave it as it is: it may be in use (%s); and name a method for claim template %[2]s that makes a volume of another name: --volume %[2]s=copy, or method: Copy in spec.volumes",
			taker.DescribeVolume(), p.Template),
	}
}

// strayed is for a volume that names neither the ordinal's claim nor one that this migration has pointed it at.
func strayed(h Holding) *Problem {
	return &Problem{
		ReasonForeignVolume,
		fmt.Sprintf("volume %s is not that of claim %s/%s: its claimRef names %s", h.Volume.Name, h.Ref.Namespace, h.Ref.Name, h.Volume.ClaimRef.forPeople()),
		"see who has pointed it there, and whether a pod uses it, before anything of it is changed: " + h.DescribeVolume(),
	}
}

// TwinOf is for a volume that is to be made for a disk which another volume of that cluster
// may be already. taker is the side of that one.
func TwinOf(volume, twin string, taker Holding) *Problem {
	return &Problem{
		ReasonForeignVolume,
		fmt.Sprintf("volume %s of the other side may be the same disk as volume %s, which is to be moved there: two pods could write to it", twin, volume),
		fmt.Sprintf("see who uses it: %s; where it is of no use, set it to Retain first, so that the disk stays, and delete its object: %s",
			taker.Command("describe pv %s", twin), taker.deleteVolume(twin)),
	}
}

// forPeople is a claim by its name; of none it says so.
func (r Ref) forPeople() string {
	if r.Name == "" {
		return "no claim"
	}
	return "claim " + r.Namespace + "/" + r.Name
}
