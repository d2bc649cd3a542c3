package slices

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// claimName is the name of an ordinal's claim, as apps/v1 makes it.
func claimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// templateOfSet names a claim template and the set that has it.
type templateOfSet struct{ template, set string }

// claimNames are what a claim's name may be made of: each of the two names may have dashes in
// it. There are none when it does not end in an ordinal.
func claimNames(claim string) (all []templateOfSet) {
	last := strings.LastIndexByte(claim, '-')
	if last < 0 {
		return nil
	}
	if _, is := ordinalOf(claim[:last], claim); !is {
		return nil
	}
	for at := 1; at < last-1; at++ {
		if claim[at] == '-' {
			all = append(all, templateOfSet{template: claim[:at], set: claim[at+1 : last]})
		}
	}
	return all
}

// newClaim makes an ordinal's claim from its template. It carries the labels of the
// selector, so that people find it by them.
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

// standIn says whether a claim was made for a pod that stands in for others: what is in it is no
// ordinal's.
func standIn(claim *corev1.PersistentVolumeClaim) bool {
	_, is := claim.Annotations[api.SurgeAnnotationKey]
	return is
}

// wantedOwners are the owners that a claim is to have. One that was made for a pod that stands in goes
// with it.
func wantedOwners(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, owned bool) owners {
	if !owned && standIn(claim) {
		return owners{pod: true}
	}
	return ownersOf(set, !owned)
}

// claimMatches says whether a claim of a pod is as it shall be. One that is being deleted, or
// will be, is the garbage collector's; one of an ordinal that has come to be the set's while its
// pod stood in is the ordinal's from then on.
func claimMatches(set *api.StatefulSet, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod, owned bool) bool {
	if claim.DeletionTimestamp != nil || staleOwner(claim, set, pod) {
		return true
	}
	return wantedOwners(set, claim, owned).ownedBy(claim, set, pod) && (!owned || !standIn(claim))
}

// taken says whether an ordinal above the range has claims in which no pod may stand in: any
// but those that were made for one, and go with it. pod is the ordinal's; nil: it has none.
func (s seen) taken(ordinal int32, pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.claims[claimName(template.Name, s.set.Name, ordinal)]
		return claim != nil && (!standIn(claim) || pod == nil && !staleOwner(claim, s.set, &metav1.ObjectMeta{Name: podName(s.set.Name, ordinal)}))
	})
}

// standsIn says whether a claim of an ordinal was made for a pod that stands in.
func (s seen) standsIn(ordinal int32) bool {
	return slices.ContainsFunc(s.set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
		claim := s.claims[claimName(template.Name, s.set.Name, ordinal)]
		return claim != nil && standIn(claim)
	})
}

// foreignController is the controller of a claim that is neither the set nor the pod:
// such a claim is left as it is.
func foreignController(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.UID == set.UID || owner.UID == pod.UID {
		return nil
	}
	return owner
}

// with are the owners that a claim can have next to those of others: the set and the
// pod are its controllers, so that they are none when somebody else is.
func (o owners) with(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) owners {
	if foreignController(claim, set, pod) != nil {
		return owners{}
	}
	return o
}

// ownedBy says whether a claim has the owners that it is to have. One that goes with an
// owner that is gone has: the garbage collector is about to act on it.
func (o owners) ownedBy(claim *corev1.PersistentVolumeClaim, set *api.StatefulSet, pod *corev1.Pod) bool {
	if staleOwner(claim, set, pod) {
		return true
	}
	want := o.with(claim, set, pod)
	return owned(claim, set, want.set) && owned(claim, pod, want.pod)
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

// setOwners gives a claim its owners. Those of others stay.
func setOwners(claim *corev1.PersistentVolumeClaim, want owners, set *api.StatefulSet, pod *corev1.Pod) {
	want = want.with(claim, set, pod)
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID == set.UID || r.UID == pod.UID
	})
	if want.set {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(set, history.Kind))
	}
	if want.pod {
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

// grown says whether a claim has what it requests, as far as that needs nothing of its pod:
// some drivers make the file system larger only when a pod mounts it anew.
func grown(claim *corev1.PersistentVolumeClaim) bool {
	want := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	have := claim.Status.Capacity[corev1.ResourceStorage]
	return have.Cmp(want) >= 0 || fileSystemPending(claim) != nil
}

// urgency orders the steps of several claims: what is to be known, or done, first.
var urgency = []GrowthState{Grown, Unbound, AwaitsFileSystem, Growing, ToGrow, Infeasible}

// growthOf is how far an ordinal's claims are on their way.
func (s seen) growthOf(ordinal int32) (most Growth) {
	if !growsClaims(s.set) {
		return Growth{}
	}
	for i := range s.set.Spec.VolumeClaimTemplates {
		template := &s.set.Spec.VolumeClaimTemplates[i]
		claim := s.claims[claimName(template.Name, s.set.Name, ordinal)]
		if claim == nil {
			continue
		}
		next := Growth{State: growthState(template, claim), Claim: claim.Name}
		if pending := fileSystemPending(claim); next.State == AwaitsFileSystem {
			next.Since = pending.LastTransitionTime.Time
		}
		if order := slices.Index(urgency, next.State) - slices.Index(urgency, most.State); order > 0 || order == 0 && next.Since.After(most.Since) {
			most = next
		}
	}
	return most
}

// growthState is how far a claim is on its way to what its template asks for. The API server
// takes a larger request only of a claim that is bound.
func growthState(template, claim *corev1.PersistentVolumeClaim) GrowthState {
	bound := claim.Status.Phase == corev1.ClaimBound
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	switch {
	case growth(template, claim) != nil && bound:
		return ToGrow
	case growth(template, claim) != nil:
		return Unbound
	case !bound || have.Cmp(want) >= 0:
		return Grown
	case infeasible(claim):
		return Infeasible
	case fileSystemPending(claim) != nil:
		return AwaitsFileSystem
	default:
		return Growing
	}
}

// infeasible says whether the driver of a claim has said that it cannot grow.
func infeasible(claim *corev1.PersistentVolumeClaim) bool {
	state := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	return state == corev1.PersistentVolumeClaimControllerResizeInfeasible || state == corev1.PersistentVolumeClaimNodeResizeInfeasible
}

// fileSystemPending is the condition that a claim's volume has grown, and its file system has
// not; nil: it has none.
func fileSystemPending(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimCondition {
	for i := range claim.Status.Conditions {
		c := &claim.Status.Conditions[i]
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// volumeClaims counts, for each claim template, the claims of the ordinals that request
// what it does, and those of them that have it.
func (s seen) volumeClaims(ordinals []int32) []api.VolumeClaimStatus {
	var all []api.VolumeClaimStatus
	for i := range s.set.Spec.VolumeClaimTemplates {
		template := &s.set.Spec.VolumeClaimTemplates[i]
		status := api.VolumeClaimStatus{VolumeClaimName: template.Name}
		for _, ordinal := range ordinals {
			claim := s.claims[claimName(template.Name, s.set.Name, ordinal)]
			if claim == nil || growth(template, claim) != nil {
				continue
			}
			status.CompatibleReplicas++
			if grown(claim) {
				status.CompatibleReadyReplicas++
			}
		}
		all = append(all, status)
	}
	return all
}

// leavingClaims are the ordinals without a pod, a claim of which is on its way out: it is
// being deleted, or will be for its owner is gone. A pod that mounted it would lose it.
func (s seen) leavingClaims(ordinals []int32, pods map[int32]*corev1.Pod) []int32 {
	var out []int32
	for _, ordinal := range ordinals {
		former := &metav1.ObjectMeta{Name: podName(s.set.Name, ordinal)}
		if pods[ordinal] == nil && slices.ContainsFunc(s.set.Spec.VolumeClaimTemplates, func(template corev1.PersistentVolumeClaim) bool {
			claim := s.claims[claimName(template.Name, s.set.Name, ordinal)]
			return claim != nil && (claim.DeletionTimestamp != nil || staleOwner(claim, s.set, former))
		}) {
			out = append(out, ordinal)
		}
	}
	return out
}

// growsClaims says whether the claims follow a larger request with an update.
func growsClaims(set *api.StatefulSet) bool {
	return set.Spec.VolumeClaimUpdateStrategy != nil && set.Spec.VolumeClaimUpdateStrategy.Type == api.OnPodRollingUpdate
}
