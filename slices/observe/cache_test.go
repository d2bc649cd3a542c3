package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestTrim: no decision needs a field that the cache omits.
func TestTrim(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		full := slicetest.AnyPod(r)
		trimmed := full.DeepCopy()
		if _, err := newTrimmer().trim(trimmed); err != nil {
			r.Fatal(err)
		}
		if len(trimmed.ManagedFields) > 0 || len(trimmed.Spec.Tolerations) > 0 || len(trimmed.Status.PodIPs) > 0 {
			r.Fatal("nothing is left out")
		}
		s := Seen{
			Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}, target: "r1", changes: map[string]decide.Change{},
			Templates: map[string]*corev1.PodTemplateSpec{"r1": slicetest.TemplateWith("a:1", "1"), "r2": slicetest.TemplateWith("a:2", "2")},
		}
		if diff := cmp.Diff(s.viewPod(full, 0, true), s.viewPod(trimmed, 0, true)); diff != "" {
			r.Fatalf("it looks different (-full +trimmed):\n%s", diff)
		}
		if pullEnded(full) != pullEnded(trimmed) {
			r.Fatal("a pod that pulls images is not seen to end as it does")
		}
		kept := full.DeepCopy()
		kept.ManagedFields = nil
		before := kept.DeepCopy()
		if _, err := newTrimmer().trim(kept); err != nil || cmp.Diff(before, kept) != "" {
			r.Fatalf("what comes from the cache again is changed: %v", err)
		}
	})
}

// TestCacheOptions: objects other than pods are written as a whole, so they lose only their managed fields, which the API
// server keeps.
func TestCacheOptions(t *testing.T) {
	kinds := 0
	for kind, kept := range CacheOptions(cache.Options{}).ByObject {
		object := kind
		slicetest.Filler(1).Fill(object)
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
		want, _ := object.DeepCopyObject().(client.Object)
		want.SetManagedFields(nil)
		got, err := kept.Transform(object)
		if err != nil {
			t.Fatal(err)
		}
		if _, isPod := got.(*corev1.Pod); isPod != (cmp.Diff(want, got) != "") {
			t.Errorf("%T: (-want +got)\n%s", got, cmp.Diff(want, got))
		}
		kinds++
	}
	if kinds != 5 {
		t.Errorf("%d kinds are kept smaller, want pods, claims, revisions, sets and nodes", kinds)
	}
}

// TestCacheScope: the scope of the options is kept, and the caller's options are not modified.
func TestCacheScope(t *testing.T) {
	some := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	asked := cache.Options{ByObject: map[client.Object]cache.ByObject{&api.StatefulSet{}: {Label: some}, &corev1.Secret{}: {}}}
	got := CacheOptions(asked)
	if len(got.ByObject) != 6 || len(asked.ByObject) != 2 {
		t.Errorf("%d kinds, of which %d were asked for", len(got.ByObject), len(asked.ByObject))
	}
	for object, by := range got.ByObject {
		_, set := object.(*api.StatefulSet)
		_, secret := object.(*corev1.Secret)
		if (by.Label != nil) != set || (by.Transform == nil) != secret {
			t.Errorf("%T: %+v", object, by)
		}
	}
	for object, by := range asked.ByObject {
		if by.Transform != nil {
			t.Errorf("%T was changed", object)
		}
	}
}

// TestTrimShares: pods of a revision share the parts that are equal, and no pod gets a part of another one that differs.
func TestTrimShares(t *testing.T) {
	trimmer := newTrimmer()
	pod := func(owner types.UID, revision, image string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{appsv1.StatefulSetRevisionLabel: revision}, ManagedFields: []metav1.ManagedFieldsEntry{{}},
			OwnerReferences: []metav1.OwnerReference{{Name: "web", UID: owner, Controller: new(true)}},
		}}
		p.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
		want := p.DeepCopy()
		want.ManagedFields = nil
		if _, err := trimmer.trim(p); err != nil || cmp.Diff(want, p) != "" {
			t.Fatalf("it differs: %v\n%s", err, cmp.Diff(want, p))
		}
		return p
	}
	first := pod("u", "r1", "app:1")
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		same bool
	}{
		"the same":         {pod("u", "r1", "app:1"), true},
		"another owner":    {pod("v", "r1", "app:1"), false},
		"another revision": {pod("u", "r2", "app:1"), false},
		"updated in place": {pod("u", "r1", "app:2"), false},
	} {
		if same := &tc.pod.Spec.Containers[0] == &first.Spec.Containers[0] && &tc.pod.OwnerReferences[0] == &first.OwnerReferences[0]; same != tc.same {
			t.Errorf("%s: shared %t, want %t", name, same, tc.same)
		}
	}
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	if _, err := trimmer.trim(orphan); err != nil || orphan.ManagedFields != nil {
		t.Errorf("an orphan: %v, %v", err, orphan)
	}
}
