package slices

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// resizable says whether the resize subresource takes a container from one to the
// other: CPU and memory may change, but nothing of them may be removed.
func resizable(from, to corev1.ResourceRequirements) bool {
	return equality.Semantic.DeepEqual(from.Claims, to.Claims) && listResizable(from.Requests, to.Requests) && listResizable(from.Limits, to.Limits)
}

func listResizable(from, to corev1.ResourceList) bool {
	for name, had := range from {
		has, kept := to[name]
		if !kept || !canResize(name) && !had.Equal(has) {
			return false
		}
	}
	for name := range to {
		if _, had := from[name]; !had && !canResize(name) {
			return false
		}
	}
	return true
}

func canResize(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory
}

// qosOf is the QoS class of a template, which no resize can change. It is that of the
// pod unless a LimitRange adds to it.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, asks := true, false
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for _, container := range list {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
				asks = asks || !request.IsZero() || !limit.IsZero()
				// A request that is missing is the limit.
				guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Equal(limit))
			}
		}
	}
	switch {
	case !asks:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// resizes are the names of the containers whose resources differ in two templates.
func resizes(from, to *corev1.PodTemplateSpec) []string {
	var names []string
	for _, want := range to.Spec.Containers {
		if have := containerOf(&from.Spec, want.Name); have == nil || !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
			names = append(names, want.Name)
		}
	}
	return names
}

// resizedPod is a pod with the resources of another template; nil when it has them
// already. What both templates say alike is left as it is: somebody else may have
// resized the pod.
func resizedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next, changed := pod.DeepCopy(), false
	for _, name := range resizes(from, to) {
		have, want := containerOf(&next.Spec, name), containerOf(&to.Spec, name)
		if have != nil && !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
			have.Resources, changed = *want.Resources.DeepCopy(), true
		}
	}
	if !changed {
		return nil
	}
	return next
}

// resized says whether the kubelet has given the containers the resources that were changed.
func (p progressInPlace) resized(pod *corev1.Pod) bool {
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
	want, status := containerOf(&pod.Spec, name), containerStatusOf(pod, name)
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
	container := containerOf(&pod.Spec, name)
	return container != nil && slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
}

// resizeIsInfeasible says whether the API server will never accept a resize of this pod: its
// node has not as much, or is none whose pods can be resized, or the pod is not fit for it. Of
// anything else, such as a quota, somebody may think better.
func resizeIsInfeasible(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.HasStatusCause(err, "NodeCapacity") || apierrors.HasStatusCause(err, "UnsupportedPlatform")
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
