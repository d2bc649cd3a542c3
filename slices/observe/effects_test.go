package observe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestResources: which resources can be changed in place.
func TestResources(t *testing.T) {
	needs := func(texts ...string) corev1.ResourceRequirements {
		lists := [2]corev1.ResourceList{{}, {}}
		for i, text := range texts {
			if text != "" {
				lists[i/2][[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}[i%2]] = resource.MustParse(text)
			}
		}
		return corev1.ResourceRequirements{Requests: lists[0], Limits: lists[1]}
	}
	disk := func(size string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceEphemeralStorage: resource.MustParse(size)}}
	}
	for _, tc := range []struct {
		name     string
		from, to corev1.ResourceRequirements
		want     bool
	}{
		{"R-069 more CPU", needs("1", "1Gi", "2", "2Gi"), needs("2", "1Gi", "3", "2Gi"), true},
		{"R-069 Guaranteed, and more of it", needs("1", "1Gi", "1", "1Gi"), needs("2", "1Gi", "2", "1Gi"), true},
		{"a first limit", needs("1", "1Gi"), needs("1", "1Gi", "2"), true},
		{"a limit goes", needs("1", "1Gi", "2"), needs("1", "1Gi"), false},
		{"R-062 R-069 Burstable to Guaranteed", needs("1", "1Gi", "2", "1Gi"), needs("2", "1Gi", "2", "1Gi"), false},
		{"a first request", needs(), needs("1"), false},
		{"R-069 disk", disk("1Gi"), disk("2Gi"), false},
		{"disk as before", disk("1Gi"), disk("1Gi"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := func(r corev1.ResourceRequirements) *corev1.PodSpec {
				return &corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: r}}}
			}
			if blocker := blockerOf(spec(tc.from), spec(tc.to)); (blocker == "") != tc.want {
				t.Errorf("blocked by %q", blocker)
			}
		})
	}
}

// TestClaimOwnerStates: which owners are corrected in which state, and that they are correct afterwards.
func TestClaimOwnerStates(t *testing.T) {
	set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "pod"}}
	ours, its := *metav1.NewControllerRef(set, history.Kind), *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	plain, former := ours, ours
	plain.Controller, former.UID = nil, "former"
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: types.UID("friend")}
	stranger := friend
	stranger.Controller = new(true)
	for _, tc := range []struct {
		name      string
		have      []metav1.OwnerReference
		want      Owners
		right     bool
		thenOwned []types.UID
	}{
		{"K-180 nobody, and nobody shall", nil, Owners{}, true, nil},
		{"K-180 nobody", nil, Owners{Set: true}, false, []types.UID{"set"}},
		{"K-180 the set", []metav1.OwnerReference{ours}, Owners{Set: true}, true, []types.UID{"set"}},
		{"K-180 the set, and nobody shall", []metav1.OwnerReference{ours}, Owners{}, false, nil},
		{"K-180 the set, and the pod shall", []metav1.OwnerReference{ours}, Owners{Pod: true}, false, []types.UID{"pod"}},
		{"K-180 the pod, and the set shall", []metav1.OwnerReference{its}, Owners{Set: true}, false, []types.UID{"set"}},
		{"K-180 K-181 the set, but not as the controller", []metav1.OwnerReference{plain}, Owners{Set: true}, false, []types.UID{"set"}},
		{"K-180 K-183 a friend", []metav1.OwnerReference{friend}, Owners{Set: true}, false, []types.UID{"friend", "set"}},
		{"K-180 K-182 K-183 a stranger", []metav1.OwnerReference{stranger}, Owners{Set: true}, true, []types.UID{"friend"}},
		{"K-180 K-181 K-182 a stranger and the set", []metav1.OwnerReference{plain, stranger}, Owners{Set: true}, false, []types.UID{"friend"}},
		{"K-180 K-181 K-184 a former set", []metav1.OwnerReference{former}, Owners{Pod: true}, true, []types.UID{"former"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: slices.Clone(tc.have)}}
			if got := tc.want.ownedBy(claim, set, pod); got != tc.right {
				t.Errorf("right: %v", got)
			}
			if !tc.right {
				SetOwners(claim, tc.want, set, pod)
			}
			var uids []types.UID
			for _, owner := range claim.OwnerReferences {
				uids = append(uids, owner.UID)
			}
			if !slices.Equal(uids, tc.thenOwned) || !tc.want.ownedBy(claim, set, pod) {
				t.Errorf("owned by %v", uids)
			}
		})
	}
}

// TestLeavingClaims: no pod is created with a claim that is being deleted.
func TestLeavingClaims(t *testing.T) {
	t.Run("K-186, K-187: those that are being deleted, or owned by a former pod, and have no pod now", func(t *testing.T) {
		set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}, Spec: api.StatefulSetSpec{
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		}}
		claim := func(ordinal int32, deleted *metav1.Time, owner string) *corev1.PersistentVolumeClaim {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: ClaimName("data", "web", ordinal), DeletionTimestamp: deleted}}
			if owner != "" {
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner, UID: "former"}}
			}
			return c
		}
		s := Seen{Set: set, Claims: map[string]*corev1.PersistentVolumeClaim{}}
		for _, c := range []*corev1.PersistentVolumeClaim{
			claim(0, nil, ""), claim(1, &metav1.Time{Time: slicetest.Noon}, ""), claim(2, nil, "web-2"), claim(3, nil, "web-2"), claim(4, nil, "web-4"),
		} {
			s.Claims[c.Name] = c
		}
		pods := map[int32]*corev1.Pod{4: {}}
		if got := s.leavingClaims([]int32{0, 1, 2, 3, 4, 5}, pods); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("claims of %v leave", got)
		}
	})
}
