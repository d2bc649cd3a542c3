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

// carried returns the labels or annotations of a pod with the changes of its template. Values that are equal in both
// templates are not changed, because another controller may have changed them on the pod.
func carried(have, former, next map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for key := range former {
		if _, stays := next[key]; !stays {
			delete(out, key)
		}
	}
	for key, value := range next {
		if _, has := out[key]; !has || former[key] != value {
			out[key] = value
		}
	}
	return out
}

// resizes returns the names of the containers whose resources differ in two templates.
func resizes(from, to *corev1.PodTemplateSpec) []string {
	var names []string
	for _, want := range to.Spec.Containers {
		if requests, limits := resizeOf(want.Name, from, to); len(requests)+len(limits) > 0 {
			names = append(names, want.Name)
		}
	}
	return names
}

// resizeOf returns the requests and limits of a container that the new template changes.
func resizeOf(name string, from, to *corev1.PodTemplateSpec) (requests, limits corev1.ResourceList) {
	former, next := observe.ContainerOf(&from.Spec, name), observe.ContainerOf(&to.Spec, name)
	if former == nil {
		former = &corev1.Container{}
	}
	has, wants := observe.Effective(former.Resources), observe.Effective(next.Resources)
	return observe.Differing(has.Requests, wants.Requests), observe.Differing(has.Limits, wants.Limits)
}

// resizedPod returns a pod with the resources that the new template changes, or nil if it has them already. Other resources,
// also of the same container, stay: the Vertical Pod Autoscaler or a webhook may have set them.
func resizedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next := pod.DeepCopy()
	for _, name := range resizes(from, to) {
		have := observe.ContainerOf(&next.Spec, name)
		if have == nil {
			continue
		}
		requests, limits := resizeOf(name, from, to)
		have.Resources.Requests, have.Resources.Limits = merged(have.Resources.Requests, requests), merged(have.Resources.Limits, limits)
	}
	if equality.Semantic.DeepEqual(pod.Spec, next.Spec) {
		return nil
	}
	return next
}

// merged returns a resource list with some other amounts.
func merged(have, changes corev1.ResourceList) corev1.ResourceList {
	if have == nil && len(changes) > 0 {
		have = corev1.ResourceList{}
	}
	maps.Copy(have, changes)
	return have
}

// resizeIsInfeasible reports whether the API server will never accept a resize of this pod: the node has too little capacity
// or does not support resizing, or the pod cannot be resized. Other refusals, for example by a quota, may change.
func resizeIsInfeasible(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.HasStatusCause(err, "NodeCapacity") || apierrors.HasStatusCause(err, "UnsupportedPlatform")
}
