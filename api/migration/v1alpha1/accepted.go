package v1alpha1

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// VolumesAsAccepted returns how the volumes of all claim templates move: see AcceptedVolume.
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

// DefaultClass returns the default StorageClass as recorded at acceptance; empty if none was.
func (m *Migration) DefaultClass() string {
	if m.Status.Baseline == nil {
		return ""
	}
	return m.Status.Baseline.DefaultStorageClass
}

// AcceptedVolume returns how the volumes of a claim template move: as in spec.volumes, but with the method, storage
// class and access modes from acceptance. The data of an ordinal that has moved, or is moving, are where that method
// put them, and another method would look for them elsewhere. If spec.volumes has another method, the whole entry
// from acceptance applies, because settings of one method do not apply to another.
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

// AskedOf returns the entry of a claim template. A template that is not listed moves by Rebind, with the source's
// class.
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

// AcceptedServices returns the services configuration from acceptance. Names that were created are carried, kept or
// deleted by it, and late ordinals get the same as the first ones. Before acceptance, and in records of older
// versions, it is the current spec.services.
func (m *Migration) AcceptedServices() ServicesSpec {
	if base := m.Status.Baseline; base != nil && base.Services != nil {
		return base.Services.Spelled()
	}
	return m.Spec.Services.Spelled()
}

// Spelled returns s with its defaults set, for a comparison.
func (s ServicesSpec) Spelled() ServicesSpec {
	s.PerOrdinal = cmp.Or(s.PerOrdinal, PerOrdinalNone)
	return s
}

// NamesOrdinals reports whether each ordinal gets a name of its own.
func (s ServicesSpec) NamesOrdinals() bool { return s.PerOrdinal == PerOrdinalExport }

// Exports reports whether any ServiceExports are created.
func (s ServicesSpec) Exports() bool { return s.Export || s.NamesOrdinals() }

// Modes returns access modes in the form of flags and messages: ReadWriteOnce+ReadOnlyMany.
func Modes(all []corev1.PersistentVolumeAccessMode) string {
	words := make([]string, 0, len(all))
	for _, mode := range all {
		words = append(words, string(mode))
	}
	return strings.Join(words, "+")
}

// SameWay reports whether two specs have the same method, storage class and access modes.
func (v VolumeSpec) SameWay(other VolumeSpec) bool {
	one, two := v.StorageClassName, other.StorageClassName
	return v.Method == other.Method && (one == nil) == (two == nil) && (one == nil || *one == *two) && slices.Equal(v.AccessModes, other.AccessModes)
}

// ExportsReceivers reports whether any pods that write copies are reached by exported Services.
func (m *Migration) ExportsReceivers() bool {
	return slices.ContainsFunc(m.VolumesAsAccepted(), func(v VolumeSpec) bool { return v.Method == MethodCopy && v.Copy.ServiceType == ServiceTypeExport })
}
