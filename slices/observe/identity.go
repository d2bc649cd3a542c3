package observe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
)

// PodName returns the name of an ordinal's pod.
func PodName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }

// OrdinalOf returns the ordinal in a pod's name: the number after the last dash, if the rest is the name of the set.
func OrdinalOf(set, pod string) (int32, bool) {
	rest, found := strings.CutPrefix(pod, set+"-")
	ordinal, err := strconv.ParseInt(rest, 10, 32)
	return int32(ordinal), found && err == nil && ordinal >= 0 && strconv.FormatInt(ordinal, 10) == rest
}

// NewPod returns an ordinal's pod from the template of a revision, as apps/v1 creates it.
func NewPod(set *api.StatefulSet, template *corev1.PodTemplateSpec, revision string, ordinal int32) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       set.Namespace,
			Name:            PodName(set.Name, ordinal),
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      append([]string(nil), template.Finalizers...),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, history.Kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	Identify(set, pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Spec.Volumes = volumesFor(set, pod.Spec.Volumes, ordinal)
	return pod
}

// Identify sets the labels of an ordinal on a pod (KEP-4017 for the index).
func Identify(set *api.StatefulSet, pod *corev1.Pod, ordinal int32) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, IdentityLabels(set.Name, ordinal))
}

// IdentityLabels returns the labels that identify the ordinal of a pod.
func IdentityLabels(set string, ordinal int32) map[string]string {
	return map[string]string{
		appsv1.StatefulSetPodNameLabel: PodName(set, ordinal),
		appsv1.PodIndexLabel:           strconv.Itoa(int(ordinal)),
	}
}

// identityMatches reports whether a pod has the labels of its ordinal.
func identityMatches(pod *corev1.Pod, ordinal int32) bool {
	return pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name && pod.Labels[appsv1.PodIndexLabel] == strconv.Itoa(int(ordinal))
}

// ClaimName returns the name of an ordinal's claim, as in apps/v1.
func ClaimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// NewClaim returns an ordinal's claim from its template. It has the labels of the selector, so that users can find it by
// them.
func NewClaim(set *api.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int32) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   set.Namespace,
			Name:        ClaimName(template.Name, set.Name, ordinal),
			Labels:      maps.Clone(template.Labels),
			Annotations: maps.Clone(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
	return claim
}

// volumesFor returns a pod's volumes: one for each claim template, and the volumes of the pod template that no claim
// template replaces.
func volumesFor(set *api.StatefulSet, own []corev1.Volume, ordinal int32) []corev1.Volume {
	volumes := make([]corev1.Volume, 0, len(set.Spec.VolumeClaimTemplates)+len(own))
	for _, template := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(template.Name, set.Name, ordinal)},
		}})
	}
	for _, volume := range own {
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

// storageMatches reports whether a pod mounts its ordinal's claims.
func storageMatches(set *api.StatefulSet, pod *corev1.Pod, ordinal int32) bool {
	for _, template := range set.Spec.VolumeClaimTemplates {
		want := ClaimName(template.Name, set.Name, ordinal)
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == template.Name && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == want
		}) {
			return false
		}
	}
	return true
}
