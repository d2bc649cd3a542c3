package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
)

// changeOf returns how a pod can be updated from one template to another. Images, resources, labels and annotations can be
// changed while it runs.
func changeOf(from, to *corev1.PodTemplateSpec) decide.Change {
	if !sets.New(from.Finalizers...).Equal(sets.New(to.Finalizers...)) {
		// A finalizer is removed by its owner when the pod is deleted, and by nothing while the pod stays.
		return decide.Change{Blocker: "spec.template.metadata.finalizers"}
	}
	if equality.Semantic.DeepEqual(from.Labels, to.Labels) && equality.Semantic.DeepEqual(from.Annotations, to.Annotations) && equality.Semantic.DeepEqual(from.Spec, to.Spec) {
		return decide.Change{Same: true}
	}
	if blocker := cmp.Or(blockerOf(&from.Spec, &to.Spec), restartAsked(from, to), staleVariable(from, to), staleResource(from, to)); blocker != "" {
		return decide.Change{Blocker: blocker}
	}
	return decide.Change{InPlace: true}
}

// blockerOf returns the first field that differs and cannot be changed in place.
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

// pinsTag reports whether the pull policy changes only because a mutable tag is replaced by a fixed one. A pod that keeps
// the former policy merely pulls more often than necessary. In the other direction, the pod could run an outdated image of
// its node.
func pinsTag(from, to *corev1.Container) bool {
	byImage := func(c *corev1.Container) bool { return c.ImagePullPolicy == history.PullPolicy(c.Image) }
	return byImage(from) && byImage(to) && from.ImagePullPolicy == corev1.PullAlways
}

// restartAsked returns the annotation that requests a restart of all pods, or an empty string. The removal of the annotation
// requests no restart.
func restartAsked(from, to *corev1.PodTemplateSpec) string {
	at, asked := to.Annotations[api.RestartedAtAnnotationKey]
	if former, was := from.Annotations[api.RestartedAtAnnotationKey]; !asked || was && former == at {
		return ""
	}
	return fmt.Sprintf("spec.template.metadata.annotations[%s]", api.RestartedAtAnnotationKey)
}

// staleVariable returns the first environment variable that would keep the value of a former label or annotation, or an
// empty string. A container reads them when it starts, so a changed image avoids the problem. Init containers have already
// run and do not run again.
func staleVariable(from, to *corev1.PodTemplateSpec) string {
	for i := range to.Spec.InitContainers {
		if name := staleIn(&to.Spec.InitContainers[i], from, to); name != "" {
			return "spec.template.spec.initContainers" + name
		}
	}
	for i := range to.Spec.Containers {
		container := &to.Spec.Containers[i]
		if ImageOf(&from.Spec, container.Name) != container.Image {
			continue
		}
		if name := staleIn(container, from, to); name != "" {
			return "spec.template.spec.containers" + name
		}
	}
	return ""
}

func staleIn(container *corev1.Container, from, to *corev1.PodTemplateSpec) string {
	for _, variable := range container.Env {
		source := variable.ValueFrom
		if source != nil && source.FieldRef != nil && changesField(source.FieldRef.FieldPath, from, to) {
			return fmt.Sprintf("[%s].env[%s]", container.Name, variable.Name)
		}
	}
	return ""
}

// changesField reports whether an in-place update changes a label or annotation of the pod. It always changes the revision
// label.
func changesField(path string, from, to *corev1.PodTemplateSpec) bool {
	key := func(of string) (string, bool) {
		rest, is := strings.CutPrefix(path, of+"['")
		return strings.TrimSuffix(rest, "']"), is
	}
	if label, is := key("metadata.labels"); is {
		return label == appsv1.StatefulSetRevisionLabel || differs(from.Labels, to.Labels, label)
	}
	annotation, is := key("metadata.annotations")
	return is && differs(from.Annotations, to.Annotations, annotation)
}

func differs(from, to map[string]string, key string) bool {
	former, was := from[key]
	value, is := to[key]
	return was != is || former != value
}

// resizable reports whether the resize subresource can change a container's resources from one to the other: CPU and memory
// may change, but must not be removed.
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

func canResize(name corev1.ResourceName) bool { return slices.Contains(Resizable, name) }

// qosOf returns the QoS class of a template, which a resize cannot change. It is the class of the pod, unless a LimitRange
// adds resources.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, asks := true, false
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for _, container := range list {
			for _, name := range Resizable {
				request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
				asks = asks || !request.IsZero() || !limit.IsZero()
				// A missing request defaults to the limit.
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
