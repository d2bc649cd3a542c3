package volumes

import "fmt"

// Taken is a claim of an ordinal that has moved, at the side where it runs, and the holding that it came from.
// The parked volume that was left behind is the record of its disk.
type Taken struct {
	// Shared is true if both are in one cluster and so are one volume.
	Shared bool
	// Made is true if this migration has carried it over.
	Made     bool
	From, At Holding
}

// Carried returns why the ordinal is not known to be on the disk that it had, or nil. If a user deletes its
// claim, the StatefulSet controller creates it again, empty, under the same name (stateful_pod_control.go,
// createPersistentVolumeClaims).
func (Rebind) Carried(t Taken) *Problem {
	at, from := t.At, t.From
	switch {
	case !at.Claim.Found:
		return t.problem("does not exist any more")
	case at.Claim.Volume != at.Volume.Name || !at.Volume.Found:
		return t.problem(fmt.Sprintf("is on volume %q now", at.Claim.Volume))
	case !at.Bound():
		return t.problem(fmt.Sprintf("is %s and not bound to its volume any more", phase(at.Claim.Phase)))
	case t.Shared:
		return nil
	case from.Volume.Found && from.Volume.Handle != at.Volume.Handle:
		return t.problem("is on another disk: " + at.Volume.Handle)
	case !from.Volume.Found && t.Made && !at.Volume.Ours:
		return t.problem("is on a volume that was not carried over, and the one that was left behind is gone")
	}
	return nil
}

// problem returns what is wrong, and a remedy that depends on whether the claim exists. If the claimRef of
// a volume has the UID of a deleted claim, no other claim can bind to the volume.
func (t Taken) problem(what string) *Problem {
	message := fmt.Sprintf("claim %s/%s of an ordinal that was handed over %s: its pod runs, or would start, without its data", t.At.Ref.Namespace, t.At.Ref.Name, what)
	remedy := "see what the claim holds, and keep it: " + t.At.Describe()
	if volume := t.At.Volume; volume.Found && volume.ClaimRef.Names(t.At.Ref) {
		have := fmt.Sprintf("have a claim %s/%s with spec.volumeName %s, and the volume reserved for it: %s",
			t.At.Ref.Namespace, t.At.Ref.Name, volume.Name, t.At.Command(`patch pv %s --type=json -p '[{"op":"remove","path":"/spec/claimRef/uid"}]'`, volume.Name))
		if !t.At.Claim.Found || t.At.Claim.Volume == volume.Name {
			remedy = have
		} else {
			remedy += "; in its place " + have
		}
	}
	if t.From.Volume.Found {
		message += fmt.Sprintf("; the disk that it had is behind volume %s of the source", t.From.Volume.Name)
	}
	return &Problem{ReasonAnotherDisk, message, remedy}
}
