package volumes

import "fmt"

// offItsDisk returns why an ordinal that has moved to the taker is not known to be on the disk that it had, or nil.
// The parked volume that was left behind is the record of its disk. If a user deletes its claim, the StatefulSet
// controller creates it again, empty, under the same name (stateful_pod_control.go, createPersistentVolumeClaims).
func (p Pair) offItsDisk() *Reason {
	at, from := p.Taker, p.Giver
	switch {
	case !at.Claim.Found:
		return p.strange("does not exist any more")
	case at.Claim.Volume != at.Volume.Name || !at.Volume.Found:
		return p.strange(fmt.Sprintf("is on volume %q now", at.Claim.Volume))
	case !at.Bound():
		return p.strange(fmt.Sprintf("is %s and not bound to its volume any more", phase(at.Claim.Phase)))
	case p.Shared:
		return nil
	case from.Volume.Found && from.Volume.Handle != at.Volume.Handle:
		return p.strange("is on another disk: " + at.Volume.Handle)
	case !from.Volume.Found && p.Carried && !at.Volume.Ours:
		return p.strange("is on a volume that was not carried over, and the one that was left behind no longer exists")
	}
	return nil
}

// strange returns what is wrong with the taker's claim, and a remedy that depends on whether the claim exists. If
// the claimRef of a volume has the UID of a deleted claim, no other claim can bind to the volume.
func (p Pair) strange(what string) *Reason {
	at := p.Taker
	message := fmt.Sprintf("claim %s/%s of an ordinal that was handed over %s: its pod runs, or would start, without its data", at.Ref.Namespace, at.Ref.Name, what)
	remedy := "inspect the data of the claim, and keep it: " + at.Describe()
	if volume := at.Volume; volume.Found && volume.ClaimRef.Names(at.Ref) {
		have := fmt.Sprintf("provide a claim %s/%s with spec.volumeName %s, and reserve the volume for it: %s",
			at.Ref.Namespace, at.Ref.Name, volume.Name, at.Command(`patch pv %s --type=json -p '[{"op":"remove","path":"/spec/claimRef/uid"}]'`, volume.Name))
		if !at.Claim.Found || at.Claim.Volume == volume.Name {
			remedy = have
		} else {
			remedy += "; in its place " + have
		}
	}
	if p.Giver.Volume.Found {
		message += fmt.Sprintf("; the disk that it had is behind volume %s of the source", p.Giver.Volume.Name)
	}
	return Stalled(ReasonAnotherDisk, message, remedy)
}
