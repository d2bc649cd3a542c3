package observe

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// ProgressInPlace is the record of an in-place update, stored on the pod.
type ProgressInPlace struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Patched is the time at which the pod was patched.
	Patched *time.Time `json:"patched,omitempty"`
	// Before holds, by name, the former state of the containers whose image changes. It includes those of an update that
	// this one has replaced.
	Before map[string]RanBefore `json:"before,omitempty"`
	// Resized are the names of the containers whose resources change. It includes those of a replaced update too.
	Resized []string `json:"resized,omitempty"`
	// Refused is the API server's error if the pod's node can never resize it. The pod was not patched then.
	Refused string `json:"refused,omitempty"`
}

// RanBefore identifies a container before its restart, and the image in the pod's spec when it started. It has no times,
// because the clock of the node may differ.
type RanBefore struct {
	ContainerID  string `json:"containerID,omitempty"`
	RestartCount int32  `json:"restartCount,omitempty"`
	Image        string `json:"image,omitempty"`
}

// followedBy reports whether the container has been restarted or replaced since.
func (b RanBefore) followedBy(status *corev1.ContainerStatus) bool {
	return status.ContainerID != b.ContainerID || status.RestartCount != b.RestartCount
}

// InPlaceOf returns the record of a pod's in-place update, or nil if there is none.
func InPlaceOf(pod *corev1.Pod) *ProgressInPlace {
	text := pod.Annotations[api.InPlaceUpdateAnnotationKey]
	if text == "" {
		return nil
	}
	var p ProgressInPlace
	if json.Unmarshal([]byte(text), &p) != nil {
		return nil
	}
	return &p
}

// done reports whether a pod runs according to its spec.
func (p ProgressInPlace) done(pod *corev1.Pod) bool { return p.imagesRun(pod) && p.resized(pod) }

// imagesRun reports whether all containers with a changed image run it, which requires a new container. If the change was
// reverted before the kubelet acted, the same container runs the image.
func (p ProgressInPlace) imagesRun(pod *corev1.Pod) bool {
	for name, before := range p.Before {
		status := containerStatusOf(pod, name)
		if status == nil || status.State.Running == nil || !specSeen(pod) {
			return false
		}
		if !before.followedBy(status) && !takenBack(before, status, pod) {
			return false
		}
	}
	return true
}

// takenBack reports whether an unchanged container runs the image of the spec again. It compares the image at the
// container's start if the kubelet reports the observed generation, and the image in the container's status.
func takenBack(before RanBefore, status *corev1.ContainerStatus, pod *corev1.Pod) bool {
	want := ImageOf(&pod.Spec, status.Name)
	return tellsGeneration(pod) && before.Image == want || familiar(status.Image) == familiar(want)
}

// familiar returns an image without the prefixes that a container runtime adds.
func familiar(image string) string {
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}

// unseen reports whether it is unknown if the kubelet has observed the patched pod. This is so while a container keeps
// running and the kubelet does not report the observed generation. Another patch would make it impossible to know which
// image the container runs.
func (p ProgressInPlace) unseen(pod *corev1.Pod) bool {
	if tellsGeneration(pod) {
		return false
	}
	for name, before := range p.Before {
		if status := containerStatusOf(pod, name); status != nil && status.State.Running != nil && !before.followedBy(status) {
			return true
		}
	}
	return false
}

// Serves reports whether only a resize is left that restarts no container, or that is stalled. The pod may be Ready
// meanwhile.
func (p ProgressInPlace) Serves(pod *corev1.Pod) bool {
	if p.Refused != "" {
		return p.done(pod)
	}
	if p.Patched == nil || !specSeen(pod) || !p.imagesRun(pod) || p.resized(pod) {
		return false
	}
	return stalledResize(pod) != nil || !slices.ContainsFunc(p.Resized, func(name string) bool { return restartsToResize(pod, name) })
}

// tellsGeneration reports whether the kubelet reports the observed generation of the pod. Kubelets before Kubernetes 1.34 do
// not.
func tellsGeneration(pod *corev1.Pod) bool { return pod.Status.ObservedGeneration > 0 }

// specSeen reports whether the kubelet has observed the current spec, or does not report what it observed. Its container
// statuses are then not older than the spec.
func specSeen(pod *corev1.Pod) bool {
	return !tellsGeneration(pod) || pod.Status.ObservedGeneration >= pod.Generation
}

func containerStatusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// ContainerOf returns a container by its name, or nil.
func ContainerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return nil
}

// ImageOf returns the image of a container, or an empty string if it does not exist.
func ImageOf(spec *corev1.PodSpec, name string) string {
	if container := ContainerOf(spec, name); container != nil {
		return container.Image
	}
	return ""
}

// ContainersBefore returns the state of the containers that the patch replaces: those whose image changes, and those that a
// replaced update has not yet brought to its image.
func (p ProgressInPlace) ContainersBefore(pod *corev1.Pod, changed map[string]string) map[string]RanBefore {
	before := map[string]RanBefore{}
	for name, former := range p.Before {
		if !(ProgressInPlace{Before: map[string]RanBefore{name: former}}).imagesRun(pod) {
			before[name] = former
		}
	}
	for name := range changed {
		before[name] = p.containerBefore(pod, name)
	}
	return before
}

// containerBefore returns the current state of a container. Its image is that of the pod's spec. The image is unknown if a
// replaced update restarted the container and the kubelet has not observed the latest spec.
func (p ProgressInPlace) containerBefore(pod *corev1.Pod, name string) RanBefore {
	former, overtaken := p.Before[name]
	status := containerStatusOf(pod, name)
	switch {
	case overtaken && (status == nil || !former.followedBy(status)):
		return former
	case status == nil:
		return RanBefore{Image: ImageOf(&pod.Spec, name)}
	}
	now := RanBefore{ContainerID: status.ContainerID, RestartCount: status.RestartCount, Image: ImageOf(&pod.Spec, name)}
	if overtaken && !specSeen(pod) {
		now.Image = "" // the former image or an intermediate one
	}
	return now
}

// GateOf returns the condition of a pod's readiness gate, or Unknown if it has none yet.
func GateOf(pod *corev1.Pod) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == api.InPlaceUpdateReady {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}
