package execute

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/slices/observe"
)

// changedImages returns, by container, the images that a pod gets from the new template. Images that are equal in both
// templates are not changed: another controller may have rewritten the pod's image, and another name of the same image
// restarts a container.
func changedImages(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) map[string]string {
	images := map[string]string{}
	for _, want := range to.Spec.Containers {
		have := observe.ContainerOf(&pod.Spec, want.Name)
		if have != nil && have.Image != want.Image && observe.ImageOf(&from.Spec, want.Name) != want.Image {
			images[want.Name] = want.Image
		}
	}
	return images
}

// patchedPod returns a pod with the changed images and the metadata of the new template. Metadata of the former template
// that the new one lacks is removed. Other metadata stays.
func patchedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next := pod.DeepCopy()
	next.Labels = carried(pod.Labels, from.Labels, to.Labels)
	next.Annotations = carried(pod.Annotations, from.Annotations, to.Annotations)
	for name, image := range changedImages(pod, from, to) {
		observe.ContainerOf(&next.Spec, name).Image = image
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

// resizes returns the names of the containers whose resources differ in two templates.
func resizes(from, to *corev1.PodTemplateSpec) []string {
	var names []string
	for _, want := range to.Spec.Containers {
		if have := observe.ContainerOf(&from.Spec, want.Name); have == nil || !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
			names = append(names, want.Name)
		}
	}
	return names
}

// resizedPod returns a pod with the resources of the new template, or nil if it has them already. Resources that are equal
// in both templates are not changed, because another controller may have resized the pod.
func resizedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next, changed := pod.DeepCopy(), false
	for _, name := range resizes(from, to) {
		have, want := observe.ContainerOf(&next.Spec, name), observe.ContainerOf(&to.Spec, name)
		if have != nil && !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
			have.Resources, changed = *want.Resources.DeepCopy(), true
		}
	}
	if !changed {
		return nil
	}
	return next
}

// resizeIsInfeasible reports whether the API server will never accept a resize of this pod: the node has too little capacity
// or does not support resizing, or the pod cannot be resized. Other refusals, for example by a quota, may change.
func resizeIsInfeasible(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.HasStatusCause(err, "NodeCapacity") || apierrors.HasStatusCause(err, "UnsupportedPlatform")
}
