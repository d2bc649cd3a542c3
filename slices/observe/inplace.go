package observe

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// ProgressInPlace is what a pod remembers of its update in place.
type ProgressInPlace struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Patched is when the pod was patched.
	Patched *time.Time `json:"patched,omitempty"`
	// Before is what the containers were whose image changes, by name; also those of an
	// update that this one has overtaken.
	Before map[string]RanBefore `json:"before,omitempty"`
	// Resized are the names of the containers whose resources change, likewise.
	Resized []string `json:"resized,omitempty"`
	// Refused is why the API server says that the pod's node can never resize it: the pod was
	// not patched.
	Refused string `json:"refused,omitempty"`
}

// RanBefore is what tells a container from its successor, and the image that the pod's spec
// asked for when it was started. Times tell nothing: a node has a clock of its own.
type RanBefore struct {
	ContainerID  string `json:"containerID,omitempty"`
	RestartCount int32  `json:"restartCount,omitempty"`
	Image        string `json:"image,omitempty"`
}

// followedBy says whether a container is another one than before.
func (b RanBefore) followedBy(status *corev1.ContainerStatus) bool {
	return status.ContainerID != b.ContainerID || status.RestartCount != b.RestartCount
}

// InPlaceOf reads what a pod remembers; nil when it is in no update in place.
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

// done says whether a pod runs what its spec asks for.
func (p ProgressInPlace) done(pod *corev1.Pod) bool { return p.imagesRun(pod) && p.resized(pod) }

// imagesRun says whether all containers whose image was changed run it: they are others than
// before. A container is the same one and runs it when the change was taken back before its
// kubelet acted.
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

// takenBack says whether a container runs what its pod asks for again, though it is no other one:
// it was started with that, as far as the kubelet tells what it has seen, or is said to run it.
func takenBack(before RanBefore, status *corev1.ContainerStatus, pod *corev1.Pod) bool {
	want := ImageOf(&pod.Spec, status.Name)
	return tellsGeneration(pod) && before.Image == want || familiar(status.Image) == familiar(want)
}

// familiar is an image without what a container runtime adds to its name.
func familiar(image string) string {
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}

// unseen says whether it is not known that the kubelet has seen the pod as it was patched:
// none that does not tell its generation has, as long as a container runs on. Were the pod
// patched again, nobody could tell what the container runs.
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

// Serves says whether nothing is left but a resize that restarts no container, or does not
// get on: what runs may be Ready meanwhile.
func (p ProgressInPlace) Serves(pod *corev1.Pod) bool {
	if p.Refused != "" {
		return p.done(pod)
	}
	if p.Patched == nil || !specSeen(pod) || !p.imagesRun(pod) || p.resized(pod) {
		return false
	}
	return stalledResize(pod) != nil || !slices.ContainsFunc(p.Resized, func(name string) bool { return restartsToResize(pod, name) })
}

// tellsGeneration says whether the kubelet tells which generation of the pod it has seen.
// Those before Kubernetes 1.34 do not.
func tellsGeneration(pod *corev1.Pod) bool { return pod.Status.ObservedGeneration > 0 }

// specSeen says whether the kubelet has seen the pod as it is, as far as it tells: what it
// says of the containers is not older than that.
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

// ContainerOf is a container by its name; nil: there is none.
func ContainerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return nil
}

// ImageOf is the image of a container; empty: there is none.
func ImageOf(spec *corev1.PodSpec, name string) string {
	if container := ContainerOf(spec, name); container != nil {
		return container.Image
	}
	return ""
}

// ContainersBefore are the containers that are to be followed by others, as they run when
// their pod is patched: those whose image changes, and those that an overtaken update has not
// brought to its image yet.
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

// containerBefore is a container as it runs now. It was started with the image of its pod; what one
// was started with that follows another before its kubelet has seen the pod is not known.
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
		now.Image = "" // the former one, or one in between
	}
	return now
}

// GateOf is the condition of a pod's readiness gate; Unknown: it has none yet.
func GateOf(pod *corev1.Pod) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == api.InPlaceUpdateReady {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}
