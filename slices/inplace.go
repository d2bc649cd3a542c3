package slices

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// changeOf says how a pod gets from one template to another: images, resources,
// labels and annotations can be changed while it runs.
func changeOf(from, to *corev1.PodTemplateSpec) Change {
	if equality.Semantic.DeepEqual(from.Labels, to.Labels) && equality.Semantic.DeepEqual(from.Annotations, to.Annotations) && equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		return Change{Same: true}
	}
	if blocker := blockerOf(&from.Spec, &to.Spec); blocker != "" {
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
		left.Containers[i].Image, left.Containers[i].Resources = right.Containers[i].Image, right.Containers[i].Resources
		if !equality.Semantic.DeepEqual(left.Containers[i], right.Containers[i]) {
			return "spec.template.spec.containers[" + right.Containers[i].Name + "]"
		}
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
	// Images are those that the changed containers ran before, by container.
	Images map[string]string `json:"images,omitempty"`
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

// done says whether all changed containers run what was asked for, and no resize is
// under way. A container that ran another image before shows that by its image, or by
// having been started since.
func (p progressInPlace) done(pod *corev1.Pod) bool {
	if p.Patched == nil {
		return false
	}
	for name, before := range p.Images {
		at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
		if at < 0 {
			return false
		}
		status := pod.Status.ContainerStatuses[at]
		started := status.State.Running != nil && !status.State.Running.StartedAt.Time.Before(p.Patched.Truncate(time.Second))
		if status.State.Running == nil || status.ImageID == before && !started {
			return false
		}
	}
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return (c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress) && c.Status == corev1.ConditionTrue
	})
}

// patchedPod is a pod with the images and the metadata of another template. What the
// former template put on it and the new one does not goes; the rest is its own.
func patchedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next := pod.DeepCopy()
	next.Labels = carried(pod.Labels, from.Labels, to.Labels)
	next.Annotations = carried(pod.Annotations, from.Annotations, to.Annotations)
	for i := range next.Spec.Containers {
		for j := range to.Spec.Containers {
			if next.Spec.Containers[i].Name == to.Spec.Containers[j].Name {
				next.Spec.Containers[i].Image = to.Spec.Containers[j].Image
			}
		}
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

// resizedPod is a pod with the resources of another template; nil when they are its
// own already.
func resizedPod(pod *corev1.Pod, to *corev1.PodTemplateSpec) *corev1.Pod {
	next, changed := pod.DeepCopy(), false
	for i := range next.Spec.Containers {
		for j := range to.Spec.Containers {
			have, want := &next.Spec.Containers[i], to.Spec.Containers[j]
			if have.Name == want.Name && !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
				have.Resources, changed = *want.Resources.DeepCopy(), true
			}
		}
	}
	if !changed {
		return nil
	}
	return next
}

// imagesBefore are the image ids of the containers whose image is to change.
func imagesBefore(pod *corev1.Pod, to *corev1.PodTemplateSpec) map[string]string {
	images := map[string]string{}
	for _, have := range pod.Spec.Containers {
		for _, want := range to.Spec.Containers {
			if have.Name != want.Name || have.Image == want.Image {
				continue
			}
			images[have.Name] = ""
			for _, status := range pod.Status.ContainerStatuses {
				if status.Name == have.Name {
					images[have.Name] = status.ImageID
				}
			}
		}
	}
	return images
}
