package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// resized reports whether the kubelet has applied the changed resources to the containers.
func (p ProgressInPlace) resized(pod *corev1.Pod) bool {
	if len(p.Resized) == 0 {
		return true
	}
	if !specSeen(pod) || conditionOf(pod, corev1.PodResizePending) != nil || conditionOf(pod, corev1.PodResizeInProgress) != nil {
		return false
	}
	return tellsGeneration(pod) || !slices.ContainsFunc(p.Resized, func(name string) bool { return !hasResources(pod, name) })
}

// hasResources reports whether a container has the CPU and memory of the pod's spec.
func hasResources(pod *corev1.Pod, name string) bool {
	want, status := ContainerOf(&pod.Spec, name), containerStatusOf(pod, name)
	if want == nil {
		return true
	}
	if status == nil || status.Resources == nil {
		return false
	}
	for _, resource := range Resizable {
		if !want.Resources.Requests[resource].Equal(status.Resources.Requests[resource]) || !want.Resources.Limits[resource].Equal(status.Resources.Limits[resource]) {
			return false
		}
	}
	return true
}

// restartsToResize reports whether the resize policy of a container requires a restart.
func restartsToResize(pod *corev1.Pod, name string) bool {
	container := ContainerOf(&pod.Spec, name)
	return container != nil && slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
}

// stalledResize returns the condition of a resize that is pending or failed, or nil.
func stalledResize(pod *corev1.Pod) *corev1.PodCondition {
	if pending := conditionOf(pod, corev1.PodResizePending); pending != nil {
		return pending
	}
	if inProgress := conditionOf(pod, corev1.PodResizeInProgress); inProgress != nil && inProgress.Reason == corev1.PodReasonError {
		return inProgress
	}
	return nil
}

// conditionOf returns a condition that is True, or nil.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
