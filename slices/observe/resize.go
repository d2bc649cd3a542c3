package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// resized says whether the kubelet has given the containers the resources that were changed.
func (p ProgressInPlace) resized(pod *corev1.Pod) bool {
	if len(p.Resized) == 0 {
		return true
	}
	if !specSeen(pod) || conditionOf(pod, corev1.PodResizePending) != nil || conditionOf(pod, corev1.PodResizeInProgress) != nil {
		return false
	}
	return tellsGeneration(pod) || !slices.ContainsFunc(p.Resized, func(name string) bool { return !hasResources(pod, name) })
}

// hasResources says whether a container has been given the CPU and memory that its pod asks for.
func hasResources(pod *corev1.Pod, name string) bool {
	want, status := ContainerOf(&pod.Spec, name), containerStatusOf(pod, name)
	if want == nil {
		return true
	}
	if status == nil || status.Resources == nil {
		return false
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !want.Resources.Requests[resource].Equal(status.Resources.Requests[resource]) || !want.Resources.Limits[resource].Equal(status.Resources.Limits[resource]) {
			return false
		}
	}
	return true
}

// restartsToResize says whether a container asks to be restarted by a resize.
func restartsToResize(pod *corev1.Pod, name string) bool {
	container := ContainerOf(&pod.Spec, name)
	return container != nil && slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
}

// stalledResize is the condition of a resize that does not get on by itself; nil: there is none.
func stalledResize(pod *corev1.Pod) *corev1.PodCondition {
	if pending := conditionOf(pod, corev1.PodResizePending); pending != nil {
		return pending
	}
	if inProgress := conditionOf(pod, corev1.PodResizeInProgress); inProgress != nil && inProgress.Reason == corev1.PodReasonError {
		return inProgress
	}
	return nil
}

// conditionOf is a condition that is True; nil: it is not.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
