package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Behind is the difference between the claims of some ordinals and their templates.
type Behind struct {
	// Ordinals have a claim that differs, ascending. Templates are the names of the templates of these claims, in the order
	// of the spec.
	Ordinals  []int32
	Templates []string
}

// Behind returns the difference for these ordinals, ascending. A claim that is being deleted does not count: its successor
// is created from the template.
func (s Seen) Behind(ordinals []int32) (found Behind) {
	for i := range s.Set.Spec.VolumeClaimTemplates {
		template := &s.Set.Spec.VolumeClaimTemplates[i]
		for _, ordinal := range ordinals {
			claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
			if claim == nil || claim.DeletionTimestamp != nil || follows(claim, template) {
				continue
			}
			found.Ordinals = append(found.Ordinals, ordinal)
			if !slices.Contains(found.Templates, template.Name) {
				found.Templates = append(found.Templates, template.Name)
			}
		}
	}
	slices.Sort(found.Ordinals)
	found.Ordinals = slices.Compact(found.Ordinals)
	return found
}

// follows reports whether a claim has the fields of a template that may change. A field that the template leaves open has
// any value.
func follows(claim, template *corev1.PersistentVolumeClaim) bool {
	want, asks := template.Spec.Resources.Requests[corev1.ResourceStorage]
	class, attributes := volume.GetPersistentVolumeClaimClass(template), ptr.Deref(template.Spec.VolumeAttributesClassName, "")
	switch have := claim.Spec.Resources.Requests[corev1.ResourceStorage]; {
	case asks && have.Cmp(want) != 0:
		return false
	case class != "" && class != volume.GetPersistentVolumeClaimClass(claim):
		return false
	case attributes != "" && attributes != ptr.Deref(claim.Spec.VolumeAttributesClassName, ""):
		return false
	}
	return len(template.Spec.AccessModes) == 0 || slices.Equal(sorted(template.Spec.AccessModes), sorted(claim.Spec.AccessModes))
}

func sorted(modes []corev1.PersistentVolumeAccessMode) []corev1.PersistentVolumeAccessMode {
	return slices.Compact(slices.Sorted(slices.Values(modes)))
}

// FollowsOnDelete reports whether the claims of a set follow their templates when they were deleted and are created again.
func FollowsOnDelete(set *api.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy != nil && set.Spec.VolumeClaimUpdateStrategy.Type == api.OnClaimDelete
}
