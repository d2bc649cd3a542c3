package v1alpha1

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
// storage class, with the access modes, with which the migration was accepted. An ordinal that has moved, or is on its way, has its data where
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
			now.StorageClassName, now.AccessModes = accepted.StorageClassName, accepted.AccessModes
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

// AcceptedServices are what is made so that clients find the pods: what was asked for when the migration was accepted. By
// that what was made is taken along, kept or removed, and ordinals that move late get what the first ones got. Before that,
// and where a record of an older version does not say it, it is what is asked for now.
func (m *Migration) AcceptedServices() ServicesSpec {
	if base := m.Status.Baseline; base != nil && base.Services != nil {
		return base.Services.Spelled()
	}
	return m.Spec.Services.Spelled()
}

// Spelled is the same with its defaults, for a comparison.
func (s ServicesSpec) Spelled() ServicesSpec {
	s.PerOrdinal = cmp.Or(s.PerOrdinal, PerOrdinalNone)
	return s
}

// NamesOrdinals says whether each ordinal gets a name of its own.
func (s ServicesSpec) NamesOrdinals() bool { return s.PerOrdinal == PerOrdinalExport }

// Exports says whether ServiceExports are made at all.
func (s ServicesSpec) Exports() bool { return s.Export || s.NamesOrdinals() }

// Modes are access modes as flags and messages have them: ReadWriteOnce+ReadOnlyMany.
func Modes(all []corev1.PersistentVolumeAccessMode) string {
	words := make([]string, 0, len(all))
	for _, mode := range all {
		words = append(words, string(mode))
	}
	return strings.Join(words, "+")
}

// SameWay says whether two specs name one method, one storage class, and the same access modes.
func (v VolumeSpec) SameWay(other VolumeSpec) bool {
	one, two := v.StorageClassName, other.StorageClassName
	return v.Method == other.Method && (one == nil) == (two == nil) && (one == nil || *one == *two) && slices.Equal(v.AccessModes, other.AccessModes)
}

// ExportsReceivers says whether pods that write copies are reached by exported Services.
func (m *Migration) ExportsReceivers() bool {
	return slices.ContainsFunc(m.VolumesAsAccepted(), func(v VolumeSpec) bool { return v.Method == MethodCopy && v.Copy.ServiceType == ServiceTypeExport })
}
