package clusters

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Fields by which a view can select objects.
const (
	// SetField selects the pods and claims that may belong to a StatefulSet of a name, and the pods that mount such claims.
	// It may select others too, because the names are ambiguous.
	SetField = "set"
	// DiskField selects the volumes that may be the same disk, by the keys of package disk.
	DiskField = "disk"
	// VolumeField selects the VolumeAttachments of a volume.
	VolumeField = "volume"
)

// Index is an index of a view's store.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes returns the indexes of every view.
func Indexes() []Index {
	return []Index{
		{&corev1.Pod{}, SetField, indexBy(setsOfPod)},
		{&corev1.PersistentVolumeClaim{}, SetField, indexBy(setsOf)},
		{&corev1.PersistentVolume{}, DiskField, indexBy(disk.Filed)},
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

// weightOfIndexed is the memory of an index value without its text. The value is stored twice: by namespace and for all
// namespaces.
const weightOfIndexed = 800

// weightIndexed returns the memory of an object's entries in the indexes.
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

// These functions derive the StatefulSets that an object may belong to from its name. A pod is <set>-<ordinal>, a claim
// <template>-<set>-<ordinal>. Both names may contain dashes, so a claim may match several sets. A wrong set costs an
// unnecessary read. A missing set would hide a change. Therefore the result includes every possible set.

// setOf returns the set in a name that ends in an ordinal, or an empty string.
func setOf(name string) string {
	set := strings.TrimRight(name, "0123456789")
	if set == name || !strings.HasSuffix(set, "-") {
		return ""
	}
	return set[:len(set)-1]
}

// setsOfClaim returns the sets that a claim of this name may belong to. A claim's name has no underscore. In a parked
// volume's claim reference, the part after it is not the claim's name.
func setsOfClaim(name string) []string {
	name, _, _ = strings.Cut(name, "_")
	var sets []string
	for rest := setOf(name); rest != ""; {
		_, set, found := strings.Cut(rest, "-")
		if !found {
			break
		}
		sets = append(sets, set)
		rest = set
	}
	return sets
}

// setsOfPod returns the sets that the pod, or a claim that it mounts, may belong to.
func setsOfPod(pod *corev1.Pod) []string {
	sets := owners(pod.OwnerReferences)
	if set := setOf(pod.Name); set != "" {
		sets = append(sets, set)
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			sets = append(sets, setsOfClaim(claim.ClaimName)...)
		}
	}
	return unique(sets)
}

// setsOf returns the sets that a claim may belong to.
func setsOf(claim *corev1.PersistentVolumeClaim) []string {
	return unique(append(owners(claim.OwnerReferences), setsOfClaim(claim.Name)...))
}

// owners returns the StatefulSets of any kind that own an object.
func owners(references []metav1.OwnerReference) []string {
	var sets []string
	for _, reference := range references {
		if reference.Kind == "StatefulSet" {
			sets = append(sets, reference.Name)
		}
	}
	return sets
}

// unique removes duplicates.
func unique(names []string) []string {
	kept := names[:0]
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			kept = append(kept, name)
		}
	}
	return kept
}
