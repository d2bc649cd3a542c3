package slices

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestDueDespiteRefusals: a due pass is not delayed by the backoff after refusals of the API server.
func TestDueDespiteRefusals(t *testing.T) {
	const minReady = 3 * time.Second
	for name, tc := range map[string]struct {
		// step is the time between two passes.
		step, most time.Duration
		serves     corev1.ConditionStatus
	}{
		"X-27 the counts of the status":      {10 * time.Millisecond, tellEvery, corev1.ConditionFalse},
		"X-27 a pod that gets available":     {2 * tellEvery, minReady, corev1.ConditionTrue},
		"nothing is due, and patience grows": {2 * tellEvery, 30 * time.Second, corev1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 2)
			s.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy, spec.ProgressDeadlineSeconds, spec.MinReadySeconds = appsv1.ParallelPodManagement, nil, int32(minReady.Seconds())
			})
			if err := s.passes(20); err != nil {
				t.Fatal(err)
			}
			s.refuse = refusesImage("a:1")
			if err := s.server.Delete(t.Context(), s.pods()["web-1"]); err != nil {
				t.Fatal(err)
			}
			s.step = tc.step
			refused := func() {
				t.Helper()
				if _, err := s.pass(); err == nil {
					t.Fatal("nothing was refused")
				}
			}
			limit := s.r.patience()
			for range 20 {
				refused()
				limit.When(reconcile.Request{NamespacedName: s.key})
			}
			pod := s.pods()["web-0"]
			for i := range pod.Status.Conditions {
				if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
					c.Status, c.LastTransitionTime = tc.serves, metav1.NewTime(s.clock.Now())
				}
			}
			if err := s.server.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			refused()
			if got := limit.When(reconcile.Request{NamespacedName: s.key}); got > tc.most || got < tc.most/4 {
				t.Errorf("it looks again after %s", got)
			}
		})
	}
}
