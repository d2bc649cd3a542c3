package replica

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port is the port of the workload.
const Port = 8080

// Fields of the pod that identify the owner of a journal.
const (
	// PodName is for an application that keeps its name.
	PodName = "metadata.name"
	// PodIndex is the ordinal (KEP-3335), for an application whose pods are renamed by the move.
	PodIndex = "metadata.labels['apps.kubernetes.io/pod-index']"
)

// Container runs the workload over the journals in the folders that it mounts. owner is the field of the pod that
// identifies their owner. Without a folder it only answers requests.
func Container(image, owner string, dirs ...string) corev1.Container {
	return corev1.Container{
		Name: "workload", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: append([]string{"run"}, dirs...),
		Env: []corev1.EnvVar{Field("OWNER", owner), Field("POD_UID", "metadata.uid"), Field("NODE_NAME", "spec.nodeName")},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(Port)}},
			PeriodSeconds: 1,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
}

// Field returns a variable that holds a field of the pod.
func Field(variable, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}}
}
