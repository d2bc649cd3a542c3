package execute

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestStateOfBarePods: a pod without labels is in the state Normal, and gets the label with the next write.
func TestStateOfBarePods(t *testing.T) {
	set := &api.StatefulSet{}
	set.Spec.Template.Labels = map[string]string{}
	set.Spec.Template.Labels["hold"] = "yes"
	set.Spec.Lifecycle = &api.Lifecycle{InPlaceUpdate: &api.LifecycleHook{LabelsHandler: map[string]string{"hold": "yes"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	h := &PodControl{Seen: observe.Seen{Set: set}, pods: map[int32]*corev1.Pod{0: pod}}
	if actions := h.states(decide.Decision{}); len(actions) > 0 {
		t.Errorf("%+v for a pod that is Normal", actions)
	}
	labelState(set, pod)
	if stateOf(pod) != api.LifecycleNormal {
		t.Errorf("labels %v", pod.Labels)
	}
}
