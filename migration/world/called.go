package world

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// calledOn returns the names of the volume of an ordinal's claim on both sides. In one cluster it is one volume.
func calledOn(source, destination *observed, recorded api.HandoffVolume, ordinal int32, template string) (onSource, onDestination string) {
	from, to := source.place(ordinal, template), destination.place(ordinal, template)
	onSource, onDestination = volumes.Called(from, to, recorded.Name, recorded.Disk)
	if source.endpoint.ID == destination.endpoint.ID {
		onDestination = onSource
	}
	return onSource, onDestination
}

// place returns the view of an ordinal's claim and volumes on this side.
func (f *observed) place(ordinal int32, template string) volumes.Place {
	place := volumes.Place{Find: f.find}
	if claim := f.claims[plan.ClaimName(template, f.endpoint.Set, ordinal)]; claim != nil {
		place.Claimed = claim.Spec.VolumeName
	}
	return place
}

// find returns a volume of this side by its name, if it was read.
func (f *observed) find(name string) volumes.Volume {
	if volume := f.volumes[name]; volume != nil {
		return volumes.ViewVolume(volume, f.owner)
	}
	return volumes.Volume{}
}

// nameOf returns the existing or future name on this side of a volume of the other side.
func (f *observed) nameOf(volume *corev1.PersistentVolume) string {
	return volumes.NameThere(volumes.NamingOf(volumes.ViewVolume(volume, f.owner)), volumes.Place{Find: f.find})
}

// mostNames is how many names a volume may have on a side: its own, the one in its annotation, and that of its disk.
const mostNames = 3

// alsoNamed returns other names, not read yet, under which the disks of known volumes may exist on the other side:
// another disk has the volume's own name there, or a migration has recorded another name in the annotation. For a
// volume that does not exist any more, either may apply.
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

// ownVolumes returns the volumes that the claims of this side reference, and the recorded ones.
func (f *observed) ownVolumes() []*corev1.PersistentVolume {
	var all []*corev1.PersistentVolume
	for _, name := range namesOf(f) {
		if volume := f.volumes[name]; volume != nil {
			all = append(all, volume)
		}
	}
	return all
}
