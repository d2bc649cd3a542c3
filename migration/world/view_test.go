package world

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// TestRollsOf: a share is confirmed when the status shows the same value. A status without a share confirms that
// there is none, but not a share that a former migration left.
func TestRollsOf(t *testing.T) {
	said := func(n int32) *int32 { return &n }
	for name, tc := range map[string]struct {
		annotation string
		observed   *int32
		want       plan.Rolls
	}{
		"none":                         {"", nil, plan.Rolls{Own: true, Heeded: true}},
		"the former one is not gone":   {"", said(0), plan.Rolls{Own: true}},
		"not confirmed":                {"0", nil, plan.Rolls{Own: true, Shared: true}},
		"confirmed":                    {"0", said(0), plan.Rolls{Own: true, Shared: true, Heeded: true}},
		"another one is confirmed":     {"2", said(0), plan.Rolls{Own: true, Shared: true, Share: 2}},
		"somebody has made it a word":  {"many", said(0), plan.Rolls{Own: true, Shared: true, Heeded: true}},
		"somebody has made it smaller": {"-1", said(1), plan.Rolls{Own: true, Shared: true}},
	} {
		t.Run(name, func(t *testing.T) {
			slice := &slicesapi.StatefulSet{Status: slicesapi.StatefulSetStatus{ObservedMaxUnavailable: tc.observed}}
			slice.Annotations = map[string]string{slicesapi.MigratingAnnotationKey: "true"}
			if tc.annotation != "" {
				slice.Annotations[slicesapi.MaxUnavailableAnnotationKey] = tc.annotation
			}
			if got := rollsOf((workload.Slice{}).Observe(slice, nil)); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	slice := &slicesapi.StatefulSet{Spec: slicesapi.StatefulSetSpec{UpdateStrategy: slicesapi.StatefulSetUpdateStrategy{Type: slicesapi.Recreate}}}
	if got := rollsOf((workload.Slice{}).Observe(slice, nil)); !got.AllAtOnce {
		t.Errorf("Recreate: %+v", got)
	}
}

// TestMinReadyOfOurKind: a migration and the controller of the set use the same availability: the controller's
// roll-out could otherwise delete a pod that counts as available earlier.
func TestMinReadyOfOurKind(t *testing.T) {
	for rolling, want := range map[int32]time.Duration{0: 10 * time.Second, 5: 10 * time.Second, 300: 5 * time.Minute} {
		slice := &slicesapi.StatefulSet{}
		slice.Spec.MinReadySeconds = 10
		slice.Spec.UpdateStrategy.RollingUpdate = &slicesapi.RollingUpdateStrategy{MinReadySeconds: &rolling}
		set, err := endpoint.Convert[appsv1.StatefulSet](slice)
		if err != nil {
			t.Fatal(err)
		}
		if got := sideOf(&api.Migration{}, &observed{endpoint: endpoint.Endpoint{APIVersion: workload.SliceVersion}, set: set, object: slice}).Set.MinReady; got != want {
			t.Errorf("with %d in rollingUpdate: %s, want %s", rolling, got, want)
		}
	}
}

// TestAskedToGo: a roll-out is not complete while a user has requested the deletion of a pod.
func TestAskedToGo(t *testing.T) {
	slice := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "s"}}
	now := metav1.Now()
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"asked":        {func(*corev1.Pod) {}, true},
		"by a label":   {func(p *corev1.Pod) { p.Labels, p.Annotations = p.Annotations, nil }, true},
		"going":        {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, false},
		"another's":    {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "t" }, false},
		"not asked":    {func(p *corev1.Pod) { p.Annotations = nil }, false},
		"asked not to": {func(p *corev1.Pod) { p.Annotations[slicesapi.SpecifiedDeleteKey] = "false" }, false},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Annotations:     map[string]string{slicesapi.SpecifiedDeleteKey: "true"},
			OwnerReferences: []metav1.OwnerReference{{UID: "s", Controller: new(true)}},
		}}
		tc.change(&pod)
		if got := (workload.Slice{}).Observe(slice, []corev1.Pod{{}, pod}).DeleteRequested; got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
