package observe

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// calledOn are the names of the volume of an ordinal's claim on both sides. In one cluster it is one volume.
func calledOn(source, destination *observed, recorded api.HandoffVolume, ordinal int32, template string) (onSource, onDestination string) {
	from, to := source.place(ordinal, template), destination.place(ordinal, template)
	onSource, onDestination = volumes.Called(from, to, recorded.Name, recorded.Disk)
	if source.endpoint.ID == destination.endpoint.ID {
		onDestination = onSource
	}
	return onSource, onDestination
}

// place is what this side has of the volume of an ordinal's claim.
func (f *observed) place(ordinal int32, template string) volumes.Place {
	place := volumes.Place{Find: f.find}
	if claim := f.claims[plan.ClaimName(template, f.endpoint.Set, ordinal)]; claim != nil {
		place.Claimed = claim.Spec.VolumeName
	}
	return place
}

// find is a volume of this side by its name, as far as it was read.
func (f *observed) find(name string) volumes.Volume {
	if volume := f.volumes[name]; volume != nil {
		return volumes.ViewVolume(volume, f.owner)
	}
	return volumes.Volume{}
}

// nameOf is what a volume of the other side is, or would be, called here.
func (f *observed) nameOf(volume *corev1.PersistentVolume) string {
	return volumes.NameThere(volumes.NamingOf(volumes.ViewVolume(volume, f.owner)), volumes.Place{Find: f.find})
}

// mostNames is how many names a volume may have on a side: its own one, the one that is noted, and that of its disk.
const mostNames = 3

// alsoNamed are the names under which volumes that were read have their disks on the other side, where those names were not read
// yet: another disk has theirs, or a migration has noted another one. Of a volume that is not there any more either may be.
func alsoNamed(source, destination *observed, read []string) []string {
	if source.endpoint.ID == destination.endpoint.ID {
		return nil
	}
	names := map[string]bool{}
	for _, volume := range source.ownVolumes() {
		names[destination.nameOf(volume)] = true
	}
	for _, volume := range destination.ownVolumes() {
		names[source.nameOf(volume)] = true
	}
	for _, recorded := range source.recorded {
		if source.volumes[recorded.Name] == nil && recorded.Disk != "" {
			names[volumes.OtherName(recorded.Name, recorded.Disk)] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return slices.Contains(read, name) })
	return slices.Sorted(maps.Keys(names))
}

// ownVolumes are those that the claims of this side name, and those that were recorded.
func (f *observed) ownVolumes() []*corev1.PersistentVolume {
	var all []*corev1.PersistentVolume
	for _, name := range namesOf(f) {
		if volume := f.volumes[name]; volume != nil {
			all = append(all, volume)
		}
	}
	return all
}
