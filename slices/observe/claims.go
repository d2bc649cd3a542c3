package observe

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
)

// Owners selects the owners of a claim (KEP-1847): none, its StatefulSet, or the pod of an ordinal that is scaled down.
type Owners struct{ Set, Pod bool }

// OwnersOf returns the owners that the retention policy requires. condemned is true for the claims of a pod that is scaled
// down.
func OwnersOf(set *api.StatefulSet, condemned bool) Owners {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return Owners{}
	}
	scaled := policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && condemned
	return Owners{Pod: scaled, Set: policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !scaled}
}

// standIn reports whether a claim was created for a surge pod. Its data belongs to no ordinal.
func standIn(claim *corev1.PersistentVolumeClaim) bool {
	_, is := claim.Annotations[api.SurgeAnnotationKey]
	return is
}

// WantedOwners returns the desired owners of a claim. A claim of a surge pod is owned by that pod.
func WantedOwners(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, owned bool) Owners {
	if !owned && standIn(claim) {
		return Owners{Pod: true}
	}
	return OwnersOf(set, !owned)
}

// ClaimMatches reports whether a claim needs no change. The garbage collector handles a claim that is being deleted, or that
// has a deleted owner. If the ordinal of a surge pod became part of the set, its claim must lose the surge annotation.
func ClaimMatches(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod, owned bool) bool {
	if claim.DeletionTimestamp != nil || staleOwner(claim, set, pod) {
		return true
	}
	return WantedOwners(set, claim, owned).ownedBy(claim, set, pod) && (!owned || !standIn(claim))
}

// taken reports whether an ordinal above the range has claims that a surge pod must not use: any claims other than those
// that were created for a surge pod and are deleted with it. pod is the ordinal's pod, or nil.
func (s Seen) taken(ordinal int32, pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
		return claim != nil && (!standIn(claim) || pod == nil && !staleOwner(claim, s.Set, &metav1.ObjectMeta{Name: PodName(s.Set.Name, ordinal)}))
	})
}

// standsIn reports whether a claim of an ordinal was created for a surge pod.
func (s Seen) standsIn(ordinal int32) bool {
	return slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
		return claim != nil && standIn(claim)
	})
}

// ForeignController returns the controller of a claim if it is neither the set nor the pod, or nil. A claim with a foreign
// controller is not changed.
func ForeignController(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.UID == set.UID || owner.UID == pod.UID {
		return nil
	}
	return owner
}

// with returns the owners that a claim can have. It returns none if the claim has a foreign controller, because the set and
// the pod own claims as controllers.
func (o Owners) with(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) Owners {
	if ForeignController(claim, set, pod) != nil {
		return Owners{}
	}
	return o
}

// ownedBy reports whether a claim has the desired owners. A claim with a deleted owner counts as correct, because the
// garbage collector is about to delete it.
func (o Owners) ownedBy(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) bool {
	if staleOwner(claim, set, pod) {
		return true
	}
	want := o.with(claim, set, pod)
	return owned(claim, set, want.Set) && owned(claim, pod, want.Pod)
}

// owned reports whether owner is the claim's controller if and only if shall is true.
func owned(claim *corev1.PersistentVolumeClaim, owner metav1.Object, shall bool) bool {
	at := slices.IndexFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	if at < 0 {
		return !shall
	}
	return shall && ptr.Deref(claim.OwnerReferences[at].Controller, false)
}

// staleOwner reports whether a claim is owned by a deleted set or pod of the same name. It reads only the name and the UID
// of the pod.
func staleOwner(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod metav1.Object) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.APIVersion == history.Kind.GroupVersion().String() && r.Kind == history.Kind.Kind && r.Name == set.Name && r.UID != set.UID ||
			r.APIVersion == "v1" && r.Kind == "Pod" && r.Name == pod.GetName() && r.UID != pod.GetUID()
	})
}

// SetOwners sets the owners of a claim. Other owner references stay.
func SetOwners(claim *corev1.PersistentVolumeClaim, want Owners, set *api.StatefulSet, pod *corev1.Pod) {
	want = want.with(claim, set, pod)
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID == set.UID || r.UID == pod.UID
	})
	if want.Set {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(set, history.Kind))
	}
	if want.Pod {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod")))
	}
}

// leavingClaims returns the ordinals without a pod that have a claim which is being deleted, or has a deleted owner. A pod
// that mounted it would lose its data.
func (s Seen) leavingClaims(ordinals []int32, pods map[int32]*corev1.Pod) []int32 {
	var out []int32
	for _, ordinal := range ordinals {
		former := &metav1.ObjectMeta{Name: PodName(s.Set.Name, ordinal)}
		if pods[ordinal] == nil && slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
			claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
			return claim != nil && (claim.DeletionTimestamp != nil || staleOwner(claim, s.Set, former))
		}) {
			out = append(out, ordinal)
		}
	}
	return out
}
