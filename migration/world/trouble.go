package world

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// waitsAnyway lists the waiting reasons that every container has at first.
var waitsAnyway = []string{"", "ContainerCreating", "PodInitializing"}

// troubleOf returns why a pod does not become Ready, in the words of the kubelet or the scheduler; empty if no reason
// is known. It leaves out values that change without an event, such as the seconds of a back-off.
func troubleOf(pod *corev1.Pod) string {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && !slices.Contains(waitsAnyway, waiting.Reason) {
			return fmt.Sprintf("container %s: %s%s", status.Name, waiting.Reason, lastEnd(status.LastTerminationState.Terminated))
		}
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return fmt.Sprintf("container %s%s", status.Name, lastEnd(ended))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

func lastEnd(ended *corev1.ContainerStateTerminated) string {
	if ended == nil {
		return ""
	}
	return fmt.Sprintf(", ended with %s, exit code %d", ended.Reason, ended.ExitCode)
}
