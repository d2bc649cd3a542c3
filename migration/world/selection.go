package world

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// selection describes which pods of a slice a PodDisruptionBudget selects. The disruption controller uses the labels
// of the pods (kubernetes disruption.go, getPodsForPdb). These may be more than the labels of the template: the
// StatefulSet controller adds the pod's name and index, and a webhook may add others.
type selection struct {
	// any is true if it selects one of the pods, or of the pods that will be created.
	any bool
	// leavesOut is a pod that it does not select, although it selects others.
	leavesOut string
}

// selects compares a selector with the pods of the slice and with their template. A completed pod does not count.
func (f *observed) selects(selector labels.Selector) selection {
	s := selection{any: selector.Matches(f.podLabels())}
	if !s.any {
		s.leavesOut = "pods that are created later, also at the destination"
	}
	for i := range f.pods {
		pod := &f.pods[i]
		_, own := OrdinalOf(f.endpoint.Set, pod.Name)
		switch {
		case !own || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		case selector.Matches(labels.Set(pod.Labels)):
			s.any = true
		default:
			s.leavesOut = "pod " + pod.Name
		}
	}
	if !s.any {
		s.leavesOut = ""
	}
	return s
}

// SideOfSet returns a side of which only the StatefulSet was read.
func SideOfSet(m *api.Migration, at endpoint.Endpoint, set *appsv1.StatefulSet) plan.Side {
	return sideOf(m, &observed{endpoint: at, set: set})
}
