package world

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/dependencies"
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

// members returns the pods of the slice that count for a PodDisruptionBudget: a completed one does not.
func (f *observed) members() []*corev1.Pod {
	var all []*corev1.Pod
	for i := range f.pods {
		pod := &f.pods[i]
		if _, own := dependencies.OrdinalOf(f.endpoint.Set, pod.Name); own && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			all = append(all, pod)
		}
	}
	return all
}

// selects compares a selector with the members of the slice and with their template. It returns the compiled selector if it
// selects any of them. An invalid one selects nothing.
func (f *observed) selects(of *metav1.LabelSelector, members []*corev1.Pod) (selection, labels.Selector) {
	may := clusters.MaySelect(of, f.podLabels()) || slices.ContainsFunc(members, func(pod *corev1.Pod) bool { return clusters.MaySelect(of, pod.Labels) })
	if !may {
		return selection{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return selection{}, nil
	}
	s := selection{any: selector.Matches(f.podLabels())}
	if !s.any {
		s.leavesOut = "pods that are created later, also at the destination"
	}
	for _, pod := range members {
		if selector.Matches(labels.Set(pod.Labels)) {
			s.any = true
		} else {
			s.leavesOut = "pod " + pod.Name
		}
	}
	if !s.any {
		return selection{}, nil
	}
	return s, selector
}

// SideOfSet returns a side of which only the StatefulSet was read.
func SideOfSet(m *api.Migration, at endpoint.Endpoint, set *appsv1.StatefulSet) plan.Side {
	return sideOf(m, &observed{endpoint: at, set: set})
}
