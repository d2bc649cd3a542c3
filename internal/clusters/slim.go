package clusters

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// slimStatuses keeps what says why a container does not run.
func slimStatuses(statuses []corev1.ContainerStatus) {
	for i := range statuses {
		s := &statuses[i]
		statuses[i] = corev1.ContainerStatus{
			Name:                 s.Name,
			State:                corev1.ContainerState{Waiting: s.State.Waiting, Terminated: slimEnd(s.State.Terminated)},
			LastTerminationState: corev1.ContainerState{Terminated: slimEnd(s.LastTerminationState.Terminated)},
		}
	}
}

func slimEnd(ended *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if ended == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{Reason: ended.Reason, ExitCode: ended.ExitCode}
}

// slim drops what no decision reads from an object before it is cached. The
// StatefulSet and the PodDisruptionBudget keep their managed fields: they name the
// foreign writer.
func slim(in any) any {
	object, err := meta.Accessor(in)
	if err != nil {
		return in // a tombstone has no metadata and nothing to drop
	}
	switch object := in.(type) {
	case *appsv1.StatefulSet, *slicesapi.StatefulSet, *policyv1.PodDisruptionBudget:
		return in
	case *corev1.Pod:
		object.Spec.Containers, object.Spec.InitContainers = nil, nil
		slimStatuses(object.Status.InitContainerStatuses)
		slimStatuses(object.Status.ContainerStatuses)
	}
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations != nil {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	return in
}
