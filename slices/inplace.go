package slices

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Before is what the containers were whose image changes, by name.
	Before map[string]ranBefore `json:"before,omitempty"`
}

// ranBefore is what tells a container from its successor.
type ranBefore struct {
	ImageID string      `json:"imageID,omitempty"`
	Started metav1.Time `json:"started,omitzero"`
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
// under way. A container shows that by another image, or, for two images may have one
// id, by having been started since.
func (p progressInPlace) done(pod *corev1.Pod) bool {
	if p.Patched == nil {
		return false
	}
	for name, before := range p.Before {
		i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
		if i < 0 {
			return false
		}
		status := pod.Status.ContainerStatuses[i]
		if status.State.Running == nil {
			return false
		}
		// What the API server keeps is cut to seconds.
		at := status.State.Running.StartedAt
		started := !at.Equal(&before.Started) && !at.Time.Before(p.Patched.Truncate(time.Second))
		if status.ImageID == before.ImageID && !started {
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

// resizedPod is a pod with the resources of another template; nil when it has them
// already. What both templates say alike is left as it is: somebody else may have
// resized the pod.
func resizedPod(pod *corev1.Pod, from, to *corev1.PodTemplateSpec) *corev1.Pod {
	next, changed := pod.DeepCopy(), false
	for j, want := range to.Spec.Containers {
		at := slices.IndexFunc(next.Spec.Containers, func(c corev1.Container) bool { return c.Name == want.Name })
		if at < 0 || j < len(from.Spec.Containers) && equality.Semantic.DeepEqual(from.Spec.Containers[j].Resources, want.Resources) {
			continue
		}
		if have := &next.Spec.Containers[at]; !equality.Semantic.DeepEqual(have.Resources, want.Resources) {
			have.Resources, changed = *want.Resources.DeepCopy(), true
		}
	}
	if !changed {
		return nil
	}
	return next
}

// containersBefore are the containers whose image is to change, as they run now.
func containersBefore(pod *corev1.Pod, to *corev1.PodTemplateSpec) map[string]ranBefore {
	before := map[string]ranBefore{}
	for _, have := range pod.Spec.Containers {
		if !slices.ContainsFunc(to.Spec.Containers, func(want corev1.Container) bool { return have.Name == want.Name && have.Image != want.Image }) {
			continue
		}
		before[have.Name] = ranBefore{}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == have.Name {
				before[have.Name] = ran(status)
			}
		}
	}
	return before
}

func ran(status corev1.ContainerStatus) ranBefore {
	if status.State.Running == nil {
		return ranBefore{ImageID: status.ImageID}
	}
	return ranBefore{ImageID: status.ImageID, Started: status.State.Running.StartedAt}
}
