package slices

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestFinalizerFollowsItsPods: a set without termination reasons has no finalizer, and an existing one is removed. A set
// gets the finalizer before the first pod is created that can read its reason, and loses it with the last such pod.
func TestFinalizerFollowsItsPods(t *testing.T) {
	t.Run("X-26 for who can read it", func(t *testing.T) {
		s := newStage(t, 2)
		kept := func() bool { return slices.Contains(s.set().Finalizers, api.Finalizer) }
		expect := func(what string, want bool) {
			t.Helper()
			if err := s.passes(8); err != nil || kept() != want {
				t.Errorf("%s: it has the finalizer: %t, want %t; %v", what, kept(), want, err)
			}
		}
		if !kept() {
			t.Fatal("there is nothing to take off")
		}
		expect("nobody reads it", false)
		if n := s.serves("a:1"); n != 2 {
			t.Fatalf("%d pods serve", n)
		}
		made, patches := 0, 0
		s.refuse = func(verb string, o client.Object) error {
			if _, is := o.(*api.StatefulSet); is && verb == "patch" {
				patches++
			}
			if pod, is := o.(*corev1.Pod); is && verb == "create" && pod.Spec.Containers[0].Lifecycle != nil {
				if made++; !kept() {
					t.Errorf("%s is made before the set has its finalizer", pod.Name)
				}
			}
			return nil
		}
		hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"leave"}}}}
		s.change(func(spec *api.StatefulSetSpec) { spec.Template.Spec.Containers[0].Lifecycle = hook })
		expect("its pods read it", true)
		if made != 2 {
			t.Errorf("%d pods with a hook were made, want 2", made)
		}
		s.change(func(spec *api.StatefulSetSpec) {
			spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1))
			spec.Template.Spec.Containers[0].Lifecycle = nil
		})
		expect("a pod below the partition reads it", true)
		s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Partition = nil })
		expect("nobody reads it any more", false)
		if patches != 2 {
			t.Errorf("the finalizer took %d writes, want one to put it on and one to take it off", patches)
		}
	})
}
