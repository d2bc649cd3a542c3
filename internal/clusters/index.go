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

// Fields by which a view finds objects.
const (
	// SetField finds the pods and the claims that a StatefulSet of a name may have, and the pods that
	// mount such claims. It finds others besides: names are not one-to-one.
	SetField = "set"
	// DiskField finds the volumes that may be one disk, as package disk files them.
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

// Which StatefulSets an object may be of, by the names that Kubernetes gives: a pod is
// <set>-<ordinal>, a claim <template>-<set>-<ordinal>. A template's name may have dashes as well as
// a set's, so that a claim may be of several. What is too many costs a look, what is too few is
// never seen: in doubt a set is named.

// setOf is the set of a name that ends in an ordinal; empty: it does not.
func setOf(name string) string {
	set := strings.TrimRight(name, "0123456789")
	if set == name || !strings.HasSuffix(set, "-") {
		return ""
	}
	return set[:len(set)-1]
}

// setsOfClaim are the sets that a claim of this name may be of. An underscore is in no claim's
// name: from there on it is what a parked volume says of its claim.
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

// setsOfPod are the sets whose pod it is, or whose claims it mounts.
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

// setsOf are the sets that a claim may be of.
func setsOf(claim *corev1.PersistentVolumeClaim) []string {
	return unique(append(owners(claim.OwnerReferences), setsOfClaim(claim.Name)...))
}

// owners are the StatefulSets, of any kind, that own an object.
func owners(references []metav1.OwnerReference) []string {
	var sets []string
	for _, reference := range references {
		if reference.Kind == "StatefulSet" {
			sets = append(sets, reference.Name)
		}
	}
	return sets
}

// unique keeps each name once.
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
