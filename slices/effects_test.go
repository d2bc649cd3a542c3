package slices

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestWaitsForTheKubelet: a pod that still looks Ready is not patched.
func TestWaitsForTheKubelet(t *testing.T) {
	pod := Pod{
		Ordinal: 0, UID: "1", Revision: "a1", Phase: Running, Ready: true, ReadySince: noon.Add(-time.Hour),
		IdentityOK: true, ClaimsOK: true,
		Change: Change{InPlace: true}, InPlace: &InPlace{Revision: "a2", Since: noon},
	}
	in := Input{
		Now: noon, Spec: Spec{Replicas: 1, Strategy: api.RollingUpdate, MaxUnavailable: 1, Policy: api.InPlaceOnly},
		Revisions: Revisions{Current: "a1", Update: "a2"}, Pods: []Pod{pod},
	}
	patches := func(a Action) bool { return a.Verb == PatchInPlace }
	if d := Decide(in); slices.ContainsFunc(d.Actions, patches) || len(d.Held) != 1 {
		t.Errorf("a pod that looks Ready: %+v", d)
	}
	in.Pods[0].Ready = false
	if d := Decide(in); !slices.ContainsFunc(d.Actions, patches) {
		t.Errorf("a pod that is not Ready: %+v", d)
	}
}

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

// TestClaimOwnerStates: what is put right in which state, and that it is right then.
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
		want      owners
		right     bool
		thenOwned []types.UID
	}{
		{"K-180 nobody, and nobody shall", nil, owners{}, true, nil},
		{"K-180 nobody", nil, owners{set: true}, false, []types.UID{"set"}},
		{"K-180 the set", []metav1.OwnerReference{ours}, owners{set: true}, true, []types.UID{"set"}},
		{"K-180 the set, and nobody shall", []metav1.OwnerReference{ours}, owners{}, false, nil},
		{"K-180 the set, and the pod shall", []metav1.OwnerReference{ours}, owners{pod: true}, false, []types.UID{"pod"}},
		{"K-180 the pod, and the set shall", []metav1.OwnerReference{its}, owners{set: true}, false, []types.UID{"set"}},
		{"K-180 K-181 the set, but not as the controller", []metav1.OwnerReference{plain}, owners{set: true}, false, []types.UID{"set"}},
		{"K-180 K-183 a friend", []metav1.OwnerReference{friend}, owners{set: true}, false, []types.UID{"friend", "set"}},
		{"K-180 K-182 K-183 a stranger", []metav1.OwnerReference{stranger}, owners{set: true}, true, []types.UID{"friend"}},
		{"K-180 K-181 K-182 a stranger and the set", []metav1.OwnerReference{plain, stranger}, owners{set: true}, false, []types.UID{"friend"}},
		{"K-180 K-181 K-184 a former set", []metav1.OwnerReference{former}, owners{pod: true}, true, []types.UID{"former"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: slices.Clone(tc.have)}}
			if got := tc.want.ownedBy(claim, set, pod); got != tc.right {
				t.Errorf("right: %v", got)
			}
			if !tc.right {
				setOwners(claim, tc.want, set, pod)
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

// TestLeavingClaims: no pod is made with a claim that is on its way out.
func TestLeavingClaims(t *testing.T) {
	t.Run("K-186, K-187: those that are being deleted, or owned by a former pod, and have no pod now", func(t *testing.T) {
		set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}, Spec: api.StatefulSetSpec{
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		}}
		claim := func(ordinal int32, deleted *metav1.Time, owner string) *corev1.PersistentVolumeClaim {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claimName("data", "web", ordinal), DeletionTimestamp: deleted}}
			if owner != "" {
				c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner, UID: "former"}}
			}
			return c
		}
		s := seen{set: set, claims: map[string]*corev1.PersistentVolumeClaim{}}
		for _, c := range []*corev1.PersistentVolumeClaim{
			claim(0, nil, ""), claim(1, &metav1.Time{Time: noon}, ""), claim(2, nil, "web-2"), claim(3, nil, "web-2"), claim(4, nil, "web-4"),
		} {
			s.claims[c.Name] = c
		}
		pods := map[int32]*corev1.Pod{4: {}}
		if got := s.leavingClaims([]int32{0, 1, 2, 3, 4, 5}, pods); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("claims of %v leave", got)
		}
	})
}

// TestRefusal: a condition says what the API server refused, whichever of several
// writes that was, and says nothing of a conflict.
func TestRefusal(t *testing.T) {
	quota := fmt.Errorf("%s of pod a/web-1: exceeded quota", Create)
	gone := fmt.Errorf("%s of pod a/web-0: no", Delete)
	conflict := fmt.Errorf("%s of pod a/web-0: %w", Create, apierrors.NewConflict(schema.GroupResource{}, "web-0", errors.New("changed")))
	room := fmt.Errorf("%s of pod a/web-2: exceeded quota", Create)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"nothing": {nil, ""}, "another verb": {gone, ""}, "a conflict": {conflict, ""}, "one of several": {errors.Join(gone, quota), quota.Error()},
		"X-21 beside a conflict":         {errors.Join(conflict, quota), quota.Error()},
		"X-21 whichever was heard first": {errors.Join(room, quota), quota.Error()},
		"X-21 of several in another":     {errors.Join(errors.Join(conflict, room), gone), room.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refusal(tc.err, []Verb{Create}); got != tc.want {
				t.Errorf("refusal(%v) is %q", tc.err, got)
			}
		})
	}
}

// TestResizeKeepsWhatItWasNotAsked: who resizes a pod besides us is left alone.
func TestResizeKeepsWhatItWasNotAsked(t *testing.T) {
	template := func(cpu string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1.StatefulSetRevisionLabel: "1"}}, Spec: template("3").Spec}
	if got := resizedPod(pod, template("1"), template("1")); got != nil {
		t.Errorf("resized to %v", got.Spec.Containers[0].Resources)
	}
	if got := resizedPod(pod, template("1"), template("2")); got == nil || got.Spec.Containers[0].Resources.Requests.Cpu().String() != "2" {
		t.Errorf("resized to %v", got)
	}
}
