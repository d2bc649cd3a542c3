package slices

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/history"
	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// podName is the name of an ordinal's pod.
func podName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// ordinalOf is the ordinal of a pod by its name: what follows the last dash, when the
// rest is the name of the set.
func ordinalOf(set, pod string) (int32, bool) {
	rest, found := strings.CutPrefix(pod, set+"-")
	ordinal, err := strconv.ParseInt(rest, 10, 32)
	return int32(ordinal), found && err == nil && ordinal >= 0 && strconv.FormatInt(ordinal, 10) == rest
}

// newPod makes an ordinal's pod from the template of a revision, as apps/v1 does.
func newPod(set *api.StatefulSet, template *corev1.PodTemplateSpec, revision string, ordinal int32) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       set.Namespace,
			Name:            podName(set.Name, ordinal),
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      append([]string(nil), template.Finalizers...),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, history.Kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	identify(set, pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Spec.Volumes = volumesFor(set, pod.Spec.Volumes, ordinal)
	return pod
}

// identify puts the labels of its ordinal on a pod (KEP-4017 for the index).
func identify(set *api.StatefulSet, pod *corev1.Pod, ordinal int32) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, identityLabels(set.Name, ordinal))
}

// identityLabels are the labels that tell which ordinal of a set a pod is.
func identityLabels(set string, ordinal int32) map[string]string {
	return map[string]string{
		appsv1.StatefulSetPodNameLabel: podName(set, ordinal),
		appsv1.PodIndexLabel:           strconv.Itoa(int(ordinal)),
	}
}

// identityMatches says whether a pod of this ordinal's name has its labels.
func identityMatches(pod *corev1.Pod, ordinal int32) bool {
	return pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name && pod.Labels[appsv1.PodIndexLabel] == strconv.Itoa(int(ordinal))
}
