package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// staleResource returns the first environment variable or volume that would keep the value of a former request or limit, or
// an empty string. A container reads its variables when it starts. A changed image does not help: a node may resize the pod
// only after it has restarted the container.
func staleResource(from, to *corev1.PodTemplateSpec) string {
	stale := func(ref *corev1.ResourceFieldSelector, container string) bool {
		return ref != nil && resourceChanges(ref.Resource, cmp.Or(ref.ContainerName, container), from, to)
	}
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"initContainers", to.Spec.InitContainers}, {"containers", to.Spec.Containers}} {
		for i := range list.containers {
			container := &list.containers[i]
			at := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool {
				return v.ValueFrom != nil && stale(v.ValueFrom.ResourceFieldRef, container.Name)
			})
			if at >= 0 {
				return fmt.Sprintf("spec.template.spec.%s[%s].env[%s]", list.field, container.Name, container.Env[at].Name)
			}
		}
	}
	for i := range to.Spec.Volumes {
		volume := &to.Spec.Volumes[i]
		if slices.ContainsFunc(downwardFiles(volume), func(f corev1.DownwardAPIVolumeFile) bool { return stale(f.ResourceFieldRef, "") }) {
			return fmt.Sprintf("spec.template.spec.volumes[%s]", volume.Name)
		}
	}
	return ""
}

// downwardFiles returns the files of a volume that expose fields of the pod.
func downwardFiles(volume *corev1.Volume) (files []corev1.DownwardAPIVolumeFile) {
	if volume.DownwardAPI != nil {
		files = slices.Clip(volume.DownwardAPI.Items)
	}
	if volume.Projected != nil {
		for i := range volume.Projected.Sources {
			if downward := volume.Projected.Sources[i].DownwardAPI; downward != nil {
				files = append(files, downward.Items...)
			}
		}
	}
	return files
}

// resourceChanges reports whether a resource of a container, such as limits.memory, differs in two templates. Init containers
// are not resized in place.
func resourceChanges(resource, container string, from, to *corev1.PodTemplateSpec) bool {
	list, name, _ := strings.Cut(resource, ".")
	former, next := ContainerOf(&from.Spec, container), ContainerOf(&to.Spec, container)
	if former == nil || next == nil {
		return false
	}
	has, wants := Effective(former.Resources), Effective(next.Resources)
	if list == "limits" {
		return !sameAmount(has.Limits, wants.Limits, corev1.ResourceName(name))
	}
	return !sameAmount(has.Requests, wants.Requests, corev1.ResourceName(name))
}

func sameAmount(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	x, has := a[name]
	y, wants := b[name]
	return has == wants && x.Equal(y)
}

// Effective returns resources as the API server stores them in a pod: a missing request of CPU or memory is its limit.
func Effective(of corev1.ResourceRequirements) corev1.ResourceRequirements {
	out := *of.DeepCopy()
	for _, name := range Resizable {
		limit, limited := out.Limits[name]
		if _, asked := out.Requests[name]; limited && !asked {
			if out.Requests == nil {
				out.Requests = corev1.ResourceList{}
			}
			out.Requests[name] = limit
		}
	}
	return out
}

// Resizable are the resources that the resize subresource of a pod can change.
var Resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// Differing returns the amounts of a list, of CPU and memory, that differ from those of a former list.
func Differing(former, next corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range Resizable {
		if amount, wanted := next[name]; wanted && !sameAmount(former, next, name) {
			out[name] = amount
		}
	}
	return out
}
