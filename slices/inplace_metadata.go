package slices

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// restartAsked names the annotation by which somebody asks for all pods to be restarted; empty:
// nobody does. One that goes asks for nothing.
func restartAsked(from, to *corev1.PodTemplateSpec) string {
	at, asked := to.Annotations[api.RestartedAtAnnotationKey]
	if former, was := from.Annotations[api.RestartedAtAnnotationKey]; !asked || was && former == at {
		return ""
	}
	return fmt.Sprintf("spec.template.metadata.annotations[%s]", api.RestartedAtAnnotationKey)
}

// staleVariable names the first environment variable that would go on with a former label or
// annotation; empty: none would. A container reads them when it is started, as one does
// whose image changes; init containers have run, and do not run again.
func staleVariable(from, to *corev1.PodTemplateSpec) string {
	for i := range to.Spec.InitContainers {
		if name := staleIn(&to.Spec.InitContainers[i], from, to); name != "" {
			return "spec.template.spec.initContainers" + name
		}
	}
	for i := range to.Spec.Containers {
		container := &to.Spec.Containers[i]
		if imageOf(&from.Spec, container.Name) != container.Image {
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

// changesField says whether an update in place changes a label or annotation of the pod. The
// label of the revision changes with every one.
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
