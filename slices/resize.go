package slices

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
