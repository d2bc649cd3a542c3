package observe

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Owners are who a claim is to go with (KEP-1847): nobody, its StatefulSet, or the pod
// of an ordinal that is scaled away.
type Owners struct{ Set, Pod bool }

// OwnersOf follows from the retention policy. condemned is true for the claims of a
// pod that is scaled away.
func OwnersOf(set *api.StatefulSet, condemned bool) Owners {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil {
		return Owners{}
	}
	scaled := policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && condemned
	return Owners{Pod: scaled, Set: policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !scaled}
}

// standIn says whether a claim was made for a pod that stands in for others: what is in it is no
// ordinal's.
func standIn(claim *corev1.PersistentVolumeClaim) bool {
	_, is := claim.Annotations[api.SurgeAnnotationKey]
	return is
}

// WantedOwners are the owners that a claim is to have. One that was made for a pod that stands in goes
// with it.
func WantedOwners(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, owned bool) Owners {
	if !owned && standIn(claim) {
		return Owners{Pod: true}
	}
	return OwnersOf(set, !owned)
}

// ClaimMatches says whether a claim of a pod is as it shall be. One that is being deleted, or
// will be, is the garbage collector's; one of an ordinal that has come to be the set's while its
// pod stood in is the ordinal's from then on.
func ClaimMatches(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod, owned bool) bool {
	if claim.DeletionTimestamp != nil || staleOwner(claim, set, pod) {
		return true
	}
	return WantedOwners(set, claim, owned).ownedBy(claim, set, pod) && (!owned || !standIn(claim))
}

// taken says whether an ordinal above the range has claims in which no pod may stand in: any
// but those that were made for one, and go with it. pod is the ordinal's; nil: it has none.
func (s Seen) taken(ordinal int32, pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
		return claim != nil && (!standIn(claim) || pod == nil && !staleOwner(claim, s.Set, &metav1.ObjectMeta{Name: PodName(s.Set.Name, ordinal)}))
	})
}

// standsIn says whether a claim of an ordinal was made for a pod that stands in.
func (s Seen) standsIn(ordinal int32) bool {
	return slices.ContainsFunc(s.Set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.Claims[ClaimName(template.Name, s.Set.Name, ordinal)]
		return claim != nil && standIn(claim)
	})
}

// ForeignController is the controller of a claim that is neither the set nor the pod:
// such a claim is left as it is.
func ForeignController(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.UID == set.UID || owner.UID == pod.UID {
		return nil
	}
	return owner
}

// with are the owners that a claim can have next to those of others: the set and the
// pod are its controllers, so that they are none when somebody else is.
func (o Owners) with(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) Owners {
	if ForeignController(claim, set, pod) != nil {
		return Owners{}
	}
	return o
}

// ownedBy says whether a claim has the owners that it is to have. One that goes with an
// owner that is gone has: the garbage collector is about to act on it.
func (o Owners) ownedBy(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) bool {
	if staleOwner(claim, set, pod) {
		return true
	}
	want := o.with(claim, set, pod)
	return owned(claim, set, want.Set) && owned(claim, pod, want.Pod)
}

// owned says whether a claim has an owner, as its controller, exactly if it shall.
func owned(claim *corev1.PersistentVolumeClaim, owner metav1.Object, shall bool) bool {
	at := slices.IndexFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	if at < 0 {
		return !shall
	}
	return shall && ptr.Deref(claim.OwnerReferences[at].Controller, false)
}

// staleOwner says whether a claim names a set or a pod of these names that is gone. Of
// the pod its name and UID matter.
func staleOwner(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod metav1.Object) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.APIVersion == history.Kind.GroupVersion().String() && r.Kind == history.Kind.Kind && r.Name == set.Name && r.UID != set.UID ||
			r.APIVersion == "v1" && r.Kind == "Pod" && r.Name == pod.GetName() && r.UID != pod.GetUID()
	})
}

// SetOwners gives a claim its owners. Those of others stay.
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

// leavingClaims are the ordinals without a pod, a claim of which is on its way out: it is
// being deleted, or will be for its owner is gone. A pod that mounted it would lose it.
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
