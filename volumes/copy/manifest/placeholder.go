package manifest

import corev1 "k8s.io/api/core/v1"

// RolePlaceholder is a pod that has its claim get a volume, and does nothing.
const RolePlaceholder Role = "placeholder"

// nobody is the user that a placeholder runs as.
const nobody = 65534

// Placeholder is the pod that is placed where a pod of the ordinal would be, so that a class which waits for a pod
// makes the volume of the claim there. No container mounts it, so nothing of the pod can write to it, whatever its
// image does. It need not even start: the volume is made before.
func Placeholder(s Spec) *corev1.Pod {
	security := AsUser(nobody, nobody)
	s.Security = &security
	pod := s.pod(RolePlaceholder, nil)
	pod.Spec.InitContainers, pod.Spec.Volumes = nil, pod.Spec.Volumes[:1]
	container := &pod.Spec.Containers[0]
	container.Name, container.Command, container.Args = string(RolePlaceholder), []string{"sleep", "86400"}, nil
	container.VolumeMounts, container.VolumeDevices = nil, nil
	return pod
}
