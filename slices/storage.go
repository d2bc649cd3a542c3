package slices

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// claimName is the name of an ordinal's claim, as apps/v1 makes it.
func claimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// newClaim makes an ordinal's claim from its template. It carries the labels of the
// selector, so that it is found by them.
func newClaim(set *api.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int32) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   set.Namespace,
			Name:        claimName(template.Name, set.Name, ordinal),
			Labels:      maps.Clone(template.Labels),
			Annotations: maps.Clone(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
	return claim
}

// volumesFor are a pod's volumes: one for each claim template, and those of the pod
// template that no claim template replaces.
func volumesFor(set *api.StatefulSet, own []corev1.Volume, ordinal int32) []corev1.Volume {
	volumes := make([]corev1.Volume, 0, len(set.Spec.VolumeClaimTemplates)+len(own))
	for _, template := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(template.Name, set.Name, ordinal)},
		}})
	}
	for _, volume := range own {
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

// storageMatches says whether a pod mounts its ordinal's claims.
func storageMatches(set *api.StatefulSet, pod *corev1.Pod, ordinal int32) bool {
	for _, template := range set.Spec.VolumeClaimTemplates {
		want := claimName(template.Name, set.Name, ordinal)
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == template.Name && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == want
		}) {
			return false
		}
	}
	return true
}

// owners are who a claim is to go with (KEP-1847): nobody, its StatefulSet, or the pod
// of an ordinal that is scaled away.
type owners struct{ set, pod bool }

// ownersOf follows from the retention policy. condemned is true for the claims of a
// pod that is scaled away.
func ownersOf(set *api.StatefulSet, condemned bool) owners {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return owners{}
	}
	scaled := policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && condemned
	return owners{pod: scaled, set: policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !scaled}
}

// foreignController is the controller of a claim that is neither the set nor the pod:
// such a claim is left as it is.
func foreignController(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.UID == set.UID || pod != nil && owner.UID == pod.UID {
		return nil
	}
	return owner
}

// ownedBy says whether a claim has the owners that it is to have. A claim that somebody
// else controls has.
func (o owners) ownedBy(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) bool {
	return foreignController(claim, set, pod) != nil ||
		hasOwner(claim, set) == o.set && (pod == nil || hasOwner(claim, pod) == o.pod) && !staleOwner(claim, set, pod)
}

func hasOwner(claim *corev1.PersistentVolumeClaim, owner metav1.Object) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// staleOwner says whether a claim names a set or a pod of these names that is gone.
func staleOwner(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return stale(r, set, pod) })
}

func stale(r metav1.OwnerReference, set *api.StatefulSet, pod *corev1.Pod) bool {
	return r.APIVersion == kind.GroupVersion().String() && r.Kind == kind.Kind && r.Name == set.Name && r.UID != set.UID ||
		pod != nil && r.Kind == "Pod" && r.Name == pod.Name && r.UID != pod.UID
}

// setOwners gives a claim its owners. Those of others stay.
func setOwners(claim *corev1.PersistentVolumeClaim, want owners, set *api.StatefulSet, pod *corev1.Pod) {
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID == set.UID || pod != nil && r.UID == pod.UID || stale(r, set, pod)
	})
	if want.set {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(set, kind))
	}
	if want.pod && pod != nil {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod")))
	}
}

// growth is what a claim requests less than its template; nil: nothing.
func growth(template, claim *corev1.PersistentVolumeClaim) *corev1.ResourceList {
	want, asks := template.Spec.Resources.Requests[corev1.ResourceStorage]
	have := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asks || have.Cmp(want) >= 0 {
		return nil
	}
	return &corev1.ResourceList{corev1.ResourceStorage: want}
}

// grown says whether a claim has what it requests.
func grown(claim *corev1.PersistentVolumeClaim) bool {
	want := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	have := claim.Status.Capacity[corev1.ResourceStorage]
	return have.Cmp(want) >= 0
}

// growsClaims says whether the claims follow a larger request with an update.
func growsClaims(set *api.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy != nil && set.Spec.VolumeClaimUpdateStrategy.Type == api.OnPodRollingUpdate
}
