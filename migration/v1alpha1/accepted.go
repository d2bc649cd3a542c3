package v1alpha1

import (
	"cmp"
	"slices"
)

// VolumesAsAccepted is how the volumes of claim templates move: see AcceptedVolume.
func (m *Migration) VolumesAsAccepted() []VolumeSpec {
	var all []VolumeSpec
	if m.Status.Baseline != nil {
		all = slices.Clone(m.Status.Baseline.Volumes)
	}
	for _, asked := range m.Spec.Volumes {
		if !slices.ContainsFunc(all, func(v VolumeSpec) bool { return v.ClaimTemplate == asked.ClaimTemplate }) {
			all = append(all, asked)
		}
	}
	for i := range all {
		all[i] = m.AcceptedVolume(all[i].ClaimTemplate)
	}
	return all
}

// AcceptedVolume is how the volumes of a claim template move: as spec.volumes says now, but by the method and into the
// storage class with which the migration was accepted. An ordinal that has moved, or is on its way, has its data where
// that method has put them, and another one would look for them elsewhere. Where spec.volumes names another method, all
// is as it was accepted: what is said of that one says nothing about the first.
func (m *Migration) AcceptedVolume(claimTemplate string) VolumeSpec {
	now := AskedOf(m.Spec.Volumes, claimTemplate)
	if m.Status.Baseline == nil {
		return now
	}
	for _, accepted := range m.Status.Baseline.Volumes {
		switch {
		case accepted.ClaimTemplate != claimTemplate:
		case accepted.Method != now.Method:
			return accepted
		default:
			now.StorageClassName = accepted.StorageClassName
		}
	}
	return now
}

// AskedOf is what is asked of a claim template. One that is not named moves by Rebind, into the source's class.
func AskedOf(asked []VolumeSpec, claimTemplate string) VolumeSpec {
	found := VolumeSpec{ClaimTemplate: claimTemplate}
	for _, v := range asked {
		if v.ClaimTemplate == claimTemplate {
			found = v
		}
	}
	found.Method = cmp.Or(found.Method, MethodRebind)
	return found
}

// SameWay says whether two specs name one method and one storage class.
func (v VolumeSpec) SameWay(other VolumeSpec) bool {
	one, two := v.StorageClassName, other.StorageClassName
	return v.Method == other.Method && (one == nil) == (two == nil) && (one == nil || *one == *two)
}
