package judge

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// isUsable reports whether kubelet would mount the volume for the claim: each names the other, the volume by uid.
func isUsable(pv VolumeState, claim ClaimState) bool {
	return pv.UID != "" && claim.UID != "" &&
		pv.ClaimUID == claim.UID && pv.ClaimName == claim.Name && claim.VolumeName == pv.Name
}

// Binding is a claim and its usable volume.
type Binding struct {
	Volume VolumeState
	Claim  ClaimState
}

// Bindings returns the claims of a side that have a usable volume, unchanged in both phases.
func Bindings(first, second VolumeSide) []Binding {
	var found []Binding
	for _, claim := range first.Claims {
		pv := first.volume(claim.VolumeName)
		if pv.ClaimNamespace != first.Namespace || !isUsable(pv, claim) {
			continue
		}
		if after := second.claim(claim.Name); after.UID != claim.UID || after.RV != claim.RV {
			continue
		}
		if after := second.volume(pv.Name); after.UID != pv.UID || after.RV != pv.RV {
			continue
		}
		found = append(found, Binding{Volume: pv, Claim: claim})
	}
	return found
}

// SharedHandles judges I2: pairs of bindings, one of each side, with one handle, that existed at the instant between
// the phases. A volume that several nodes may mount together, and that all ordinals share, is no violation.
func SharedHandles(sides [2][]Binding) [][2]Binding {
	var shared [][2]Binding
	for _, here := range sides[Source] {
		for _, there := range sides[Destination] {
			together := here.Volume.Many && there.Volume.Many && here.Claim.Key == nil && there.Claim.Key == nil
			if here.Volume.Handle != "" && here.Volume.Handle == there.Volume.Handle && !together {
				shared = append(shared, [2]Binding{here, there})
			}
		}
	}
	return shared
}

// OfSet keeps the bindings of claims that belong to the side's set. When both sides are one namespace, only the claims
// of the sets can be assigned to a side.
func OfSet(all []Binding) []Binding {
	return slices.DeleteFunc(slices.Clone(all), func(b Binding) bool { return b.Claim.Key == nil })
}

// WrongVolume is a claim that is bound to a volume other than the recorded one.
type WrongVolume struct {
	Key  VolumeKey
	Got  Binding
	Want Origin
}

// Handles judges I3 for the bindings of one side: right are the claims with the recorded volume, wrong those with
// another.
func Handles(bound []Binding, recorded map[VolumeKey]Origin) (right []VolumeKey, wrong []WrongVolume) {
	for _, b := range OfSet(bound) {
		want, ok := recorded[*b.Claim.Key]
		switch {
		case !ok:
		case want.Handle == b.Volume.Handle:
			right = append(right, *b.Claim.Key)
		default:
			wrong = append(wrong, WrongVolume{Key: *b.Claim.Key, Got: b, Want: want})
		}
	}
	return right, wrong
}

// Claim describes the fault of the claim that a running pod uses; empty when the claim has the recorded volume.
func Claim(b Binding, want Origin) string {
	if wrong := unusable(b); wrong != "" {
		return wrong
	}
	if b.Volume.Handle != want.Handle {
		return fmt.Sprintf("its volume %s is %q, not %q", b.Volume.Name, b.Volume.Handle, want.Handle)
	}
	return ""
}

// Copied describes the fault of the claim that a running pod uses in place of its previous claim. It is empty when the
// claim has its own volume, whose content can be compared with that of the last volume.
func Copied(b Binding, last Origin) string {
	if wrong := unusable(b); wrong != "" {
		return wrong
	}
	switch {
	case b.Volume.Handle == last.Handle:
		return fmt.Sprintf("its volume %s is %q, which was to be copied and not to be carried over", b.Volume.Name, b.Volume.Handle)
	case b.Volume.Folder == "" || last.Folder == "":
		return fmt.Sprintf("the contents of %q and %q are not on this machine", last.Handle, b.Volume.Handle)
	default:
		return ""
	}
}

// Twice judges I2 for copied volumes: pairs of bindings, one of each side, of one ordinal's claim of these templates.
// Both could be mounted, and only one of them has the latest writes.
func Twice(sides [2][]Binding, templates []string) [][2]Binding {
	var twice [][2]Binding
	for _, here := range OfSet(sides[Source]) {
		for _, there := range OfSet(sides[Destination]) {
			if *here.Claim.Key == *there.Claim.Key && slices.Contains(templates, here.Claim.Key.Template) {
				twice = append(twice, [2]Binding{here, there})
			}
		}
	}
	return twice
}

func unusable(b Binding) string {
	switch {
	case b.Claim.UID == "":
		return "the claim does not exist"
	case b.Claim.VolumeName == "":
		return fmt.Sprintf("the claim is not bound, its phase is %q", b.Claim.Phase)
	case b.Volume.UID == "":
		return fmt.Sprintf("its volume %s does not exist", b.Claim.VolumeName)
	case !isUsable(b.Volume, b.Claim):
		return fmt.Sprintf("its volume %s belongs to claim %q with uid %q", b.Volume.Name, b.Volume.ClaimName, b.Volume.ClaimUID)
	default:
		return ""
	}
}

// Fate judges I3 for one state of a volume: empty when no data is at risk.
func Fate(pv VolumeState) string {
	switch {
	case pv.Phase == corev1.VolumeFailed:
		return "is in phase Failed: its reclaim policy was carried out in vain"
	case pv.Phase == corev1.VolumeReleased && pv.Policy != corev1.PersistentVolumeReclaimRetain:
		return fmt.Sprintf("is Released with reclaim policy %s: its data is being deleted", pv.Policy)
	default:
		return ""
	}
}

// DeletedVolume judges I3 for the last state of a deleted volume.
func DeletedVolume(last VolumeState) string {
	if last.Policy == corev1.PersistentVolumeReclaimRetain {
		return ""
	}
	return fmt.Sprintf("was deleted with reclaim policy %s", last.Policy)
}

// DeletedClaim judges I3 for a deleted claim and the current state of its volume. Deleting the claim does not affect a
// volume that no longer belongs to it.
func DeletedClaim(claim ClaimState, pv VolumeState) string {
	if pv.UID == "" || pv.ClaimUID != claim.UID || pv.Policy == corev1.PersistentVolumeReclaimRetain {
		return ""
	}
	return fmt.Sprintf("was deleted while its volume %s had reclaim policy %s", pv.Name, pv.Policy)
}

// CompareKeys orders volumes by ordinal and then template.
func CompareKeys(a, b VolumeKey) int {
	return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Template, b.Template))
}
