package slices

import (
	"context"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestY11MillionReplicas: a pass for the largest range that the schema accepts reads and writes little more than one for a
// range of few pods.
func TestY11MillionReplicas(t *testing.T) {
	for name, edit := range map[string]func(*api.StatefulSetSpec){
		"OrderedReady": func(*api.StatefulSetSpec) {},
		"Parallel":     func(spec *api.StatefulSetSpec) { spec.PodManagementPolicy = appsv1.ParallelPodManagement },
	} {
		t.Run(name, func(t *testing.T) {
			s, reads := newStage(t, 2), 0
			s.r.Client = interceptor.NewClient(s.r.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, o, opts...)
				},
			})
			s.change(func(spec *api.StatefulSetSpec) {
				spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
				edit(spec)
			})
			if err := s.passes(5); err != nil || s.available() != 2 {
				t.Fatalf("%d pods serve: %v", s.available(), err)
			}
			s.change(func(spec *api.StatefulSetSpec) {
				spec.Replicas, spec.UpdateStrategy.RollingUpdate.OnFailure = new(int32(1_000_000)), api.Halt
			})
			s.refuse = refusesImage("a:1")
			reads = 0
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = s.pass()
			runtime.ReadMemStats(&after)
			if most := 3 * decide.MostCreated; reads > most {
				t.Errorf("%d reads, more than %d", reads, most)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 64 {
				t.Errorf("a pass allocates %d MiB", mib)
			}
			if held := s.condition(api.ConditionHeld); held == nil {
				t.Error("nothing is said of the ordinals that wait")
			}
		})
	}
}
