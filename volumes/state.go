package volumes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State holds the fields of a volume that migrations write. An action has the state before it and after it, and writes
// the difference. Of a VolumeSnapshotContent, only Policy, Note and Fence are written.
type State struct {
	Policy corev1.PersistentVolumeReclaimPolicy
	// Note is the policy to restore, as noted by some migration.
	Note     Note
	ClaimRef Ref
	// Fence, Released, Seal and There are as in Volume.
	Fence, Released, Seal, There string
}

// State returns these fields of the volume.
func (v Volume) State() State {
	return State{Policy: v.Policy, Note: v.Note, ClaimRef: v.ClaimRef, Fence: v.Fence, Released: v.Released, Seal: v.Seal, There: v.There}
}

// In returns the volume in another state. Everything that migrations do not write stays, and so does its
// resourceVersion.
func (v Volume) In(s State) Volume {
	v.Policy, v.Note, v.ClaimRef, v.Fence, v.Released, v.Seal, v.There = s.Policy, s.Note, s.ClaimRef, s.Fence, s.Released, s.Seal, s.There
	return v
}

// Secured returns the state with policy Retain, and the note of the policy that a migration must restore.
func (v Volume) Secured(owner types.UID) func(*State) {
	return func(s *State) {
		s.Policy, s.Note = corev1.PersistentVolumeReclaimRetain, Note{Policy: v.OriginalFor(owner), By: owner}
	}
}

// Restored returns the state with the policy of the volume's author, without the marks of a migration.
func (v Volume) Restored(owner types.UID) func(*State) {
	return func(s *State) { s.restore(v.OriginalFor(owner)) }
}

// restore sets a reclaim policy back to the one of its author, and removes the marks of the migration.
func (s *State) restore(policy corev1.PersistentVolumeReclaimPolicy) {
	s.Policy, s.Note, s.Fence = policy, Note{}, ""
}

// SealBy returns the seal of a volume that a migration in place has filled. It names the migration, because the claim need not:
// the controller of the set may have created it.
func SealBy(seal string, owner types.UID) string { return seal + " " + string(owner) }

// SealedBy reports whether a seal is of that migration in place.
func SealedBy(seal string, owner types.UID) bool { return strings.HasSuffix(seal, SealBy("", owner)) }

// change returns an action on a volume in the version that was judged, with the state that edit leaves.
func change(verb Verb, volume Volume, edit func(*State)) Action {
	action := Action{Verb: verb, Volume: volume.Name, UID: volume.UID, ResourceVersion: volume.ResourceVersion, Before: volume.State(), After: volume.State()}
	edit(&action.After)
	return action
}
