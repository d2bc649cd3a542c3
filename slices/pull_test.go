package slices

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// pullingStage rolls out the image a:2 to two serving pods with prePull. refuse is called before each write.
func pullingStage(t *testing.T, refuse func(string, client.Object) error) *stage {
	t.Helper()
	s := newStage(t, 2)
	s.refuse = func(verb string, o client.Object) error {
		o.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
		if refuse == nil {
			return nil
		}
		return refuse(verb, o)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.PrePull = true })
	if err := s.passes(8); err != nil || s.serves("a:1") != 2 {
		t.Fatalf("%v; pods %v", err, s.pods())
	}
	s.image("a:2")
	return s
}

// pulling returns the pull pod for web-1.
func (s *stage) pulling() *corev1.Pod {
	for name, pod := range s.pods() {
		if strings.HasPrefix(name, "web-1-pull-") {
			return pod
		}
	}
	return nil
}

// TestPrePulled: a pod is deleted for an update after the images are pulled, and not before.
func TestPrePulled(t *testing.T) {
	t.Run("U-08 they are pulled beside a pod that serves, and it goes then", func(t *testing.T) {
		s := pullingStage(t, nil)
		for range 3 {
			if result, err := s.pass(); err != nil || result.RequeueAfter <= 0 {
				t.Fatalf("%v, looks again after %s", err, result.RequeueAfter)
			}
		}
		pull := s.pulling()
		if pull == nil || s.serves("a:1") != 2 || len(s.pods()) != 3 {
			t.Fatalf("pods %v", s.pods())
		}
		if held := s.condition(api.ConditionHeld); held == nil || !strings.Contains(held.Message, "images") {
			t.Errorf("held %v", held)
		}
		pull.Status.Phase = corev1.PodFailed
		if err := s.server.Status().Update(s.ctx, pull); err != nil {
			t.Fatal(err)
		}
		if _, err := s.pass(); err != nil || s.pods()["web-1"] != nil || s.pods()["web-0"] == nil {
			t.Errorf("%v; pods %v", err, s.pods())
		}
	})
}

// TestNotPulled: an update does not wait longer for images than pulling can succeed.
func TestNotPulled(t *testing.T) {
	t.Run("U-08 where nothing may be made, the update goes on without", func(t *testing.T) {
		s := pullingStage(t, func(verb string, o client.Object) error {
			if verb == "create" && strings.Contains(o.GetName(), "-pull-") {
				return errQuota
			}
			return nil
		})
		if err := s.passes(20); err != nil || s.serves("a:2") != 2 {
			t.Errorf("%v; pods %v", err, s.pods())
		}
		if !strings.Contains(strings.Join(s.ears.Lines, "\n"), "Warning FailedPrePull: images for pod web-1 are not pulled before it is updated") {
			t.Errorf("events %v", s.ears.Lines)
		}
	})
	t.Run("U-08 five minutes later, it goes on, too", func(t *testing.T) {
		s := pullingStage(t, nil)
		if _, err := s.pass(); err != nil || s.pulling() == nil {
			t.Fatalf("%v; pods %v", err, s.pods())
		}
		s.step = decide.PullLimit
		if _, err := s.pass(); err != nil || s.pods()["web-1"] != nil {
			t.Errorf("%v; pods %v", err, s.pods())
		}
	})
}

// TestPullIsHeardOf: the set is reconciled when its images are pulled.
func TestPullIsHeardOf(t *testing.T) {
	pull := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-pull-5f6c", ResourceVersion: "1", Labels: map[string]string{api.PrePullLabelKey: "web"}},
		Spec:       corev1.PodSpec{Containers: make([]corev1.Container, 1)},
	}
	there := pull.DeepCopy()
	there.ResourceVersion = "2"
	if podEvents().Update(event.UpdateEvent{ObjectOld: pull, ObjectNew: there}) {
		t.Error("nothing has changed")
	}
	there.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	if !podEvents().Update(event.UpdateEvent{ObjectOld: pull, ObjectNew: there}) {
		t.Error("the images are there, and nobody hears of it")
	}
	if requests := (&Reconciler{}).setsOfPod(t.Context(), there); len(requests) != 1 || requests[0].Name != "web" {
		t.Errorf("looked at: %v", requests)
	}
}
