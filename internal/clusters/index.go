package clusters

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fields by which a view finds objects.
const (
	// SetField finds the pods and the claims that a StatefulSet of a name may have, and the pods that
	// mount such claims. It finds others besides: names are not one-to-one.
	SetField = "set"
	// DiskField finds the volumes of one disk, as Disk names it.
	DiskField = "disk"
	// VolumeField finds the VolumeAttachments of a volume.
	VolumeField = "volume"
)

// Index is how a view finds objects by a field.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes are those of every view.
func Indexes() []Index {
	return []Index{
		{&corev1.Pod{}, SetField, indexBy(setsOfPod)},
		{&corev1.PersistentVolumeClaim{}, SetField, indexBy(setsOf)},
		{&corev1.PersistentVolume{}, DiskField, indexBy(func(volume *corev1.PersistentVolume) []string { return unlessEmpty(Disk(volume)) })},
		{&storagev1.VolumeAttachment{}, VolumeField, indexBy(func(attachment *storagev1.VolumeAttachment) []string {
			if name := attachment.Spec.Source.PersistentVolumeName; name != nil {
				return unlessEmpty(*name)
			}
			return nil
		})},
	}
}

func indexBy[T any](values func(*T) []string) client.IndexerFunc {
	return func(object client.Object) []string {
		if typed := as[T](object); typed != nil {
			return values(typed)
		}
		return nil
	}
}

func unlessEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// Disk names the disk of a CSI volume: its driver and handle. Of other kinds it is empty: what
// they say may be another disk on every machine.
func Disk(volume *corev1.PersistentVolume) string {
	if volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver + "/" + volume.Spec.CSI.VolumeHandle
}

// weightOfIndexed is of a value that an index finds an object by, twice, beside its text: in its namespace, and
// in all.
const weightOfIndexed = 800

// weightIndexed is what the indexes take that a view finds an object by.
func weightIndexed(object client.Object) (weight int64) {
	for _, index := range Indexes() {
		if reflect.TypeOf(index.Object) != reflect.TypeOf(object) {
			continue
		}
		for _, value := range index.Values(object) {
			weight += weightOfIndexed + 2*int64(len(value)+len(object.GetNamespace()))
		}
	}
	return weight
}
