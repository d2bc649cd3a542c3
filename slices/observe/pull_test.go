package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPullEnded: the images are pulled when each container has started or failed to start, not before.
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
