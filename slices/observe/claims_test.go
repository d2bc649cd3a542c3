package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestStaleOwner: a deleted owner is recognised by group, version, kind and name with another UID.
func TestStaleOwner(t *testing.T) {
	set := &api.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "set"}}
	pod := &metav1.ObjectMeta{Name: "web-0", UID: "pod"}
	ours, its := history.Kind.GroupVersion().String(), "v1"
	for name, tc := range map[string]struct {
		owner metav1.OwnerReference
		want  bool
	}{
		"a former set":          {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "former"}, true},
		"the set":               {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "web", UID: "set"}, false},
		"a set of another name": {metav1.OwnerReference{APIVersion: ours, Kind: "StatefulSet", Name: "db", UID: "former"}, false},
		"another group":         {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another version":       {metav1.OwnerReference{APIVersion: history.Kind.Group + "/v9", Kind: "StatefulSet", Name: "web", UID: "former"}, false},
		"another kind":          {metav1.OwnerReference{APIVersion: ours, Kind: "Deployment", Name: "web", UID: "former"}, false},
		"a former pod":          {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "former"}, true},
		"the pod":               {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-0", UID: "pod"}, false},
		"a neighbour":           {metav1.OwnerReference{APIVersion: its, Kind: "Pod", Name: "web-1", UID: "former"}, false},
		"a ConfigMap":           {metav1.OwnerReference{APIVersion: its, Kind: "ConfigMap", Name: "web-0", UID: "former"}, false},
	} {
		t.Run("K-185 "+name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{tc.owner}}}
			if got := staleOwner(claim, set, pod); got != tc.want {
				t.Errorf("stale: %t", got)
			}
		})
	}
}

// TestGrownClaims: which claims follow their template, and which of them are complete.
func TestGrownClaims(t *testing.T) {
	condition := func(kind corev1.PersistentVolumeClaimConditionType) []corev1.PersistentVolumeClaimCondition {
		return []corev1.PersistentVolumeClaimCondition{{Type: kind, Status: corev1.ConditionTrue}}
	}
	for name, tc := range map[string]struct {
		asks, has         string
		conditions        []corev1.PersistentVolumeClaimCondition
		compatible, ready int32
	}{
		"R-100 missing":                            {"", "", nil, 0, 0},
		"R-100 smaller":                            {"1Gi", "1Gi", nil, 0, 0},
		"R-100 asked for":                          {"2Gi", "1Gi", nil, 1, 0},
		"R-100 being made larger":                  {"2Gi", "1Gi", condition(corev1.PersistentVolumeClaimResizing), 1, 0},
		"R-100 its file system grows with the pod": {"2Gi", "1Gi", condition(corev1.PersistentVolumeClaimFileSystemResizePending), 1, 1},
		"R-100 of the size":                        {"2Gi", "2Gi", nil, 1, 1},
		"R-100 larger":                             {"3Gi", "3Gi", nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{Set: slicetest.NamedSet("web", nil), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			s.Set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "2Gi")}
			if tc.asks != "" {
				claim := slicetest.Sized("data-web-0", tc.asks)
				claim.Status = corev1.PersistentVolumeClaimStatus{Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(tc.has)}, Conditions: tc.conditions}
				s.Claims[claim.Name] = claim
			}
			want := []api.VolumeClaimStatus{{VolumeClaimName: "data", CompatibleReplicas: tc.compatible, CompatibleReadyReplicas: tc.ready}}
			if diff := cmp.Diff(want, s.VolumeClaims([]int32{0})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestVolumesOfAPod: a claim template replaces a volume of the same name.
func TestVolumesOfAPod(t *testing.T) {
	t.Run("K-216: one of the name, and another one", func(t *testing.T) {
		set := slicetest.NamedSet("web", nil)
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
		empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		want := []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-3"}}},
			{Name: "tmp", VolumeSource: empty},
		}
		if diff := cmp.Diff(want, volumesFor(set, []corev1.Volume{{Name: "data", VolumeSource: empty}, {Name: "tmp", VolumeSource: empty}}, 3)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestGrownBesideItsPod: a claim has grown when only its file system is left, which is so only while the condition is True.
func TestGrownBesideItsPod(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false} {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests, claim.Status.Capacity = slicetest.Storage("2Gi"), slicetest.Storage("1Gi")
		claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: status}}
		if got := grown(claim); got != want {
			t.Errorf("%s: grown %t", status, got)
		}
	}
}

// TestStandInClaims: which claims a surge pod must not use, and which need no change.
func TestStandInClaims(t *testing.T) {
	retained := slicetest.Marked()
	retained.Annotations = nil
	for name, tc := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		// alone and beside report whether the claim is taken, without and with a pod. as reports whether it needs no change,
		// for a surge pod and for an ordinal's pod.
		alone, beside bool
		as            [2]bool
	}{
		"none":                             {nil, false, false, [2]bool{true, true}},
		"one of a former ordinal":          {retained, true, true, [2]bool{true, true}},
		"its own":                          {slicetest.Marked("u"), false, false, [2]bool{true, false}},
		"that of a former one, on its way": {slicetest.Marked("former"), false, false, [2]bool{true, true}},
		"one whose owner was taken off":    {slicetest.Marked(), true, false, [2]bool{false, false}},
	} {
		t.Run("X-12 "+name, func(t *testing.T) {
			s := Seen{Set: slicetest.NamedSet("web", nil), Claims: map[string]*corev1.PersistentVolumeClaim{}}
			s.Set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
			if tc.claim != nil {
				s.Claims[tc.claim.Name] = tc.claim
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u"}}
			if alone, beside := s.taken(1, nil), s.taken(1, pod); alone != tc.alone || beside != tc.beside {
				t.Errorf("taken without a pod: %t, beside one: %t", alone, beside)
			}
			if got := [2]bool{s.claimsMatch(pod, 1, false), s.claimsMatch(pod, 1, true)}; got != tc.as {
				t.Errorf("as it shall be: %v", got)
			}
		})
	}
}
