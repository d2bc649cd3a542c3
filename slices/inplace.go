package slices

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// changeOf says how a pod gets from one template to another: images, resources,
// labels and annotations can be changed while it runs.
func changeOf(from, to *corev1.PodTemplateSpec) Change {
	if !sets.New(from.Finalizers...).Equal(sets.New(to.Finalizers...)) {
		// Whoever asked for a finalizer takes it off a pod that goes, and nobody off one that stays.
		return Change{Blocker: "spec.template.metadata.finalizers"}
	}
	if equality.Semantic.DeepEqual(from.Labels, to.Labels) && equality.Semantic.DeepEqual(from.Annotations, to.Annotations) && equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		return Change{Same: true}
	}
	if blocker := cmp.Or(blockerOf(&from.Spec, &to.Spec), restartAsked(from, to), staleVariable(from, to)); blocker != "" {
		return Change{Blocker: blocker}
	}
	return Change{InPlace: true}
}

// blockerOf names the first field that differs and cannot be changed in place.
func blockerOf(from, to *corev1.PodSpec) string {
	if len(from.Containers) != len(to.Containers) {
		return "spec.template.spec.containers"
	}
	left, right := from.DeepCopy(), to.DeepCopy()
	for i := range left.Containers {
		field := "spec.template.spec.containers[" + right.Containers[i].Name + "]"
		if !resizable(left.Containers[i].Resources, right.Containers[i].Resources) {
			return field + ".resources"
		}
		if pinsTag(&left.Containers[i], &right.Containers[i]) {
			left.Containers[i].ImagePullPolicy = right.Containers[i].ImagePullPolicy
		}
		left.Containers[i].Image, left.Containers[i].Resources = right.Containers[i].Image, right.Containers[i].Resources
		if !equality.Semantic.DeepEqual(left.Containers[i], right.Containers[i]) {
			return field
		}
	}
	if from.Resources == nil && qosOf(from) != qosOf(to) {
		return "the QoS class that spec.template.spec.containers[].resources make"
	}
	left.Containers, right.Containers = nil, nil
	switch {
	case equality.Semantic.DeepEqual(left, right):
		return ""
	case !equality.Semantic.DeepEqual(left.Volumes, right.Volumes):
		return "spec.template.spec.volumes"
	case !equality.Semantic.DeepEqual(left.InitContainers, right.InitContainers):
		return "spec.template.spec.initContainers"
	default:
		return "spec.template.spec"
	}
}

// progressInPlace is what a pod remembers of its update in place.
type progressInPlace struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Patched is when the pod was patched.
	Patched *time.Time `json:"patched,omitempty"`
	// Before is what the containers were whose image changes, by name; also those of an
	// update that this one has overtaken.
	Before map[string]ranBefore `json:"before,omitempty"`
	// Resized are the names of the containers whose resources change, likewise.
	Resized []string `json:"resized,omitempty"`
	// Refused is why the API server says that the pod's node can never resize it: the pod was
	// not patched.
	Refused string `json:"refused,omitempty"`
}

// ranBefore is what tells a container from its successor, and the image that the pod's spec
// asked for when it was started. Times tell nothing: a node has a clock of its own.
type ranBefore struct {
	ContainerID  string `json:"containerID,omitempty"`
	RestartCount int32  `json:"restartCount,omitempty"`
	Image        string `json:"image,omitempty"`
}

// followedBy says whether a container is another one than before.
func (b ranBefore) followedBy(status *corev1.ContainerStatus) bool {
	return status.ContainerID != b.ContainerID || status.RestartCount != b.RestartCount
}

// inPlaceOf reads what a pod remembers; nil when it is in no update in place.
func inPlaceOf(pod *corev1.Pod) *progressInPlace {
	text := pod.Annotations[api.InPlaceUpdateAnnotationKey]
	if text == "" {
		return nil
	}
	var p progressInPlace
	if json.Unmarshal([]byte(text), &p) != nil {
		return nil
	}
	return &p
}

// done says whether a pod runs what its spec asks for.
func (p progressInPlace) done(pod *corev1.Pod) bool { return p.imagesRun(pod) && p.resized(pod) }

// imagesRun says whether all containers whose image was changed run it: they are others than
// before. A container is the same one and runs it when the change was taken back before its
// kubelet acted.
func (p progressInPlace) imagesRun(pod *corev1.Pod) bool {
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
func takenBack(before ranBefore, status *corev1.ContainerStatus, pod *corev1.Pod) bool {
	want := imageOf(&pod.Spec, status.Name)
	return tellsGeneration(pod) && before.Image == want || familiar(status.Image) == familiar(want)
}

// familiar is an image without what a container runtime adds to its name.
func familiar(image string) string {
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}

// unseen says whether it is not known that the kubelet has seen the pod as it was patched:
// none that does not tell its generation has, as long as a container runs on. Were the pod
// patched again, nobody could tell what the container runs.
func (p progressInPlace) unseen(pod *corev1.Pod) bool {
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

// serves says whether nothing is left but a resize that restarts no container, or does not
// get on: what runs may be Ready meanwhile.
func (p progressInPlace) serves(pod *corev1.Pod) bool {
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

// containerOf is a container by its name; nil: there is none.
func containerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return nil
}

// imageOf is the image of a container; empty: there is none.
func imageOf(spec *corev1.PodSpec, name string) string {
	if container := containerOf(spec, name); container != nil {
		return container.Image
	}
	return ""
}

// changedImages are the images that a pod gets on its way from one template to another, by
// container. What both templates say alike is left as it is: somebody else may have rewritten
// it, and another name of the same image restarts a container.
func changedImages(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) map[string]string {
	images := map[string]string{}
	for _, want := range to.Spec.Containers {
		have := containerOf(&pod.Spec, want.Name)
		if have != nil && have.Image != want.Image && imageOf(&from.Spec, want.Name) != want.Image {
			images[want.Name] = want.Image
		}
	}
	return images
}

// patchedPod is a pod with the changed images and the metadata of another template. What the
// former template put on it and the new one does not goes; the rest is its own.
func patchedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next := pod.DeepCopy()
	next.Labels = carried(pod.Labels, from.Labels, to.Labels)
	next.Annotations = carried(pod.Annotations, from.Annotations, to.Annotations)
	for name, image := range changedImages(pod, from, to) {
		containerOf(&next.Spec, name).Image = image
	}
	return next
}

func carried(have, former, next map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for key := range former {
		delete(out, key)
	}
	maps.Copy(out, next)
	return out
}

// containersBefore are the containers that are to be followed by others, as they run when
// their pod is patched: those whose image changes, and those that an overtaken update has not
// brought to its image yet.
func (p progressInPlace) containersBefore(pod *corev1.Pod, changed map[string]string) map[string]ranBefore {
	before := map[string]ranBefore{}
	for name, former := range p.Before {
		if !(progressInPlace{Before: map[string]ranBefore{name: former}}).imagesRun(pod) {
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
func (p progressInPlace) containerBefore(pod *corev1.Pod, name string) ranBefore {
	former, overtaken := p.Before[name]
	status := containerStatusOf(pod, name)
	switch {
	case overtaken && (status == nil || !former.followedBy(status)):
		return former
	case status == nil:
		return ranBefore{Image: imageOf(&pod.Spec, name)}
	}
	now := ranBefore{ContainerID: status.ContainerID, RestartCount: status.RestartCount, Image: imageOf(&pod.Spec, name)}
	if overtaken && !specSeen(pod) {
		now.Image = "" // the former one, or one in between
	}
	return now
}
