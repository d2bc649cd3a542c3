package world

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestTroubleOf(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off 10s"}}
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}
	tests := map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"nothing is known": {corev1.PodStatus{}, ""},
		"it is on its way": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: waiting("ContainerCreating")}}}, ""},
		"a crash loop": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: waiting("CrashLoopBackOff"), LastTerminationState: ended}}},
			"container app: CrashLoopBackOff, ended with OOMKilled, exit code 137",
		},
		"an init container": {
			corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: waiting("ErrImagePull")}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "app", State: waiting("PodInitializing")}},
			},
			"container init: ErrImagePull",
		},
		"it has just ended": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: ended}}},
			"container app, ended with OOMKilled, exit code 137",
		},
		"no node has room": {
			corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}},
			"Unschedulable: 0/3 nodes are available",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := troubleOf(&corev1.Pod{Status: tc.status}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
