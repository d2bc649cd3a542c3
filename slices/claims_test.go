package slices

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestStaleOwner: an owner that is gone is told by its group, version, kind and name,
// whatever its UID: with the UID of ours it is ours. K-185.
func TestStaleOwner(t *testing.T) {
	set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}}
	pod := &metav1.ObjectMeta{Name: "web-0", UID: "pod"}
	ours, its := kind.GroupVersion().String(), "v1"
	for name, tc := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"a former set":          {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "former"}, true},
		"the set":               {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "set"}, false},
		"a set of another name": {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "db", UID: "former"}, false},
		"another group":         {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another version":       {metav1.OwnerReference{APIVersion: kind.Group + "/v9", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another kind":          {metav1.OwnerReference{APIVersion: ours, Kind: "Deployment", Name: "web", UID: "former"}, false},
		"a former pod":          {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "former"}, true},
		"the pod":               {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "pod"}, false},
		"a neighbour":           {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-1", UID: "former"}, false},
		"a ConfigMap":           {metav1.OwnerReference{APIVersion: its, Kind: "ConfigMap", Name: "web-0", UID: "former"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{tc.owner}}}
			if got := staleOwner(claim, set, pod); got != tc.want {
				t.Errorf("stale: %t", got)
			}
		})
	}
}

// TestMissingClaims: when the retention policy changes while the claims of a pod are
// missing, they are made with their owner; those that somebody else makes get it when
// they are there. K-189.
func TestMissingClaims(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", Labels: identityLabels("web", 0)}}
	for _, made := range []bool{false, true} {
		h, _ := newHands(t, interceptor.Funcs{}, pod.DeepCopy())
		h.set.Spec.Replicas = new(int32(1))
		h.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		h.pods[0] = pod
		if made {
			claim := newClaim(h.set, &h.set.Spec.VolumeClaimTemplates[0], 0)
			if err := h.client.Create(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			h.claims[claim.Name] = claim
		}
		if ok, _ := h.viewClaims(pod, 0, true); ok {
			t.Error("nothing is to be done")
		}
		if err := h.all(t.Context(), []Action{{Verb: Repair, UID: "u"}}); err != nil {
			t.Errorf("made by another: %t: %v", made, err)
		}
		claim := &corev1.PersistentVolumeClaim{}
		if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "data-web-0"}, claim); err != nil || !metav1.IsControlledBy(claim, h.set) {
			t.Errorf("made by another: %t: owners %v, %v", made, claim.OwnerReferences, err)
		}
	}
}
