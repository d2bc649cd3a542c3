package manifest

import corev1 "k8s.io/api/core/v1"

// RolePlaceholder is a pod for whose claim a volume is provisioned, and which does nothing.
const RolePlaceholder Role = "placeholder"

// nobody is the user that a placeholder runs as.
const nobody = 65534

// Placeholder returns the pod that is scheduled like a pod of the ordinal, so that a class that waits for a pod
// provisions the claim's volume there. No container mounts it, so nothing in the pod can write to it, whatever
// its image does. The pod need not even start: the volume is provisioned before that.
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
