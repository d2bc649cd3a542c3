package slices

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// pullingStage rolls out the image a:2 to two pods that serve, with images pulled before; refuse
// is asked before each write.
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

// pulling is the pod that pulls images beside web-1.
func (s *stage) pulling() *corev1.Pod {
	for name, pod := range s.pods() {
		if strings.HasPrefix(name, "web-1-pull-") {
			return pod
		}
	}
	return nil
}

// TestPrePulled: a pod is deleted for an update when the images are there, and not before.
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

// TestNotPulled: an update waits for images no longer than it can be hoped for.
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
		if !strings.Contains(strings.Join(s.ears.lines, "\n"), "Warning FailedPrePull: images for pod web-1 are not pulled before it is updated") {
			t.Errorf("events %v", s.ears.lines)
		}
	})
	t.Run("U-08 five minutes later, it goes on, too", func(t *testing.T) {
		s := pullingStage(t, nil)
		if _, err := s.pass(); err != nil || s.pulling() == nil {
			t.Fatalf("%v; pods %v", err, s.pods())
		}
		s.step = pullLimit
		if _, err := s.pass(); err != nil || s.pods()["web-1"] != nil {
			t.Errorf("%v; pods %v", err, s.pods())
		}
	})
}

// TestPullPod: what pulls images has nothing else of the application.
func TestPullPod(t *testing.T) {
	t.Run("U-08 images that are new, where the pod runs", func(t *testing.T) {
		set, template := namedSet("web", map[string]string{"app": "web"}), &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{
				InitContainers:     []corev1.Container{{Name: "init", Image: "init:2"}},
				Containers:         []corev1.Container{{Name: "web", Image: "web:2", Env: []corev1.EnvVar{{Name: "A", Value: "B"}}, VolumeMounts: []corev1.VolumeMount{{Name: "data"}}}, {Name: "log", Image: "log:1"}, {Name: "too", Image: "web:2"}},
				Volumes:            []corev1.Volume{{Name: "data"}},
				ServiceAccountName: "web", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
			},
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "one"},
			Spec:       corev1.PodSpec{NodeName: "node-7", Containers: []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}}},
		}
		pull := pullPod(set, template, "web-5f6c", pod)
		var images []string
		for _, c := range pull.Spec.Containers {
			images = append(images, c.Image)
			if len(c.Env)+len(c.EnvFrom)+len(c.VolumeMounts)+len(c.Args) > 0 || !cmp.Equal(c.Command, []string{pullCommand}) {
				t.Errorf("container %+v", c)
			}
		}
		if diff := cmp.Diff([]string{"init:2", "web:2"}, images); diff != "" {
			t.Errorf("images (-want +got):\n%s", diff)
		}
		spec := pull.Spec
		if pull.Name != "web-1-pull-5f6c" || spec.NodeName != "node-7" || spec.RestartPolicy != corev1.RestartPolicyNever || len(spec.Volumes)+len(spec.InitContainers) > 0 ||
			*spec.AutomountServiceAccountToken || spec.ServiceAccountName != "web" || len(spec.ImagePullSecrets) != 1 || *spec.ActiveDeadlineSeconds != 300 {
			t.Errorf("it is %+v", pull)
		}
		if _, named := ordinalOf("web", pull.Name); named || !metav1.IsControlledBy(pull, pod) {
			t.Error("it could be taken for a pod of the set, or outlives the pod that it is for")
		}
		if selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector); err != nil || selector.Matches(labels.Set(pull.Labels)) {
			t.Errorf("the set's selector matches it: %v", err)
		}
	})
}

// TestPullEnded: the images are there when a container has begun or could not begin, not before.
func TestPullEnded(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	started := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "StartError"}}
	for name, tc := range map[string]struct {
		phase  corev1.PodPhase
		states []corev1.ContainerState
		want   bool
	}{
		"nothing is known":             {corev1.PodPending, nil, false},
		"being pulled":                 {corev1.PodPending, []corev1.ContainerState{waiting("ContainerCreating"), started}, false},
		"not to be pulled":             {corev1.PodPending, []corev1.ContainerState{waiting("ImagePullBackOff"), started}, false},
		"one of two is not known":      {corev1.PodPending, []corev1.ContainerState{started}, false},
		"both have ended":              {corev1.PodPending, []corev1.ContainerState{started, started}, true},
		"one runs":                     {corev1.PodRunning, []corev1.ContainerState{{Running: &corev1.ContainerStateRunning{}}, started}, true},
		"one cannot be created":        {corev1.PodPending, []corev1.ContainerState{waiting("CreateContainerError"), started}, true},
		"one cannot be configured":     {corev1.PodPending, []corev1.ContainerState{waiting("CreateContainerConfigError"), started}, true},
		"the pod was given up":         {corev1.PodFailed, nil, true},
		"the pod has ended well":       {corev1.PodSucceeded, nil, true},
		"one cannot be run, the other": {corev1.PodPending, []corev1.ContainerState{waiting("RunContainerError"), waiting("")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pull := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2)}, Status: corev1.PodStatus{Phase: tc.phase}}
			for _, state := range tc.states {
				pull.Status.ContainerStatuses = append(pull.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
			}
			if got := pullEnded(pull); got != tc.want {
				t.Errorf("ended: %v", got)
			}
		})
	}
}

// TestPullIsHeardOf: the set that has images pulled is looked at when they are there.
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
