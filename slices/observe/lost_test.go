package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestY12LostSince: a node does not answer if a pod is not Ready, although its kubelet has reported its containers and gates
// as ready. A change of that reconciles the set.
func TestY12LostSince(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	since := slicetest.Noon.Add(-time.Hour)
	pod := func(phase corev1.PodPhase, ready, containers, gate corev1.ConditionStatus) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", ResourceVersion: string(containers) + string(gate)}}
		pod.Spec.NodeName, pod.Status.Phase = "node-1", phase
		for kind, status := range map[corev1.PodConditionType]corev1.ConditionStatus{corev1.PodReady: ready, corev1.ContainersReady: containers, "example.com/gate": gate} {
			at := since
			if kind != corev1.PodReady {
				at = since.Add(-time.Second)
			}
			if status != "" {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(at)})
			}
		}
		if gate != "" {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
		}
		return pod
	}
	unreported := pod(corev1.PodRunning, no, yes, "")
	unreported.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	opened, started := pod(corev1.PodRunning, no, yes, yes), pod(corev1.PodRunning, no, yes, "")
	for _, recent := range []*corev1.Pod{opened, started} {
		for i := range recent.Status.Conditions {
			if c := &recent.Status.Conditions[i]; c.Type == "example.com/gate" || recent == started && c.Type == corev1.ContainersReady {
				c.LastTransitionTime = metav1.NewTime(since)
			}
		}
	}
	lost := pod(corev1.PodRunning, no, yes, yes)
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"its node does not answer":     {lost, true},
		"without a gate":               {pod(corev1.PodRunning, no, yes, ""), true},
		"it is Ready":                  {pod(corev1.PodRunning, yes, yes, ""), false},
		"its containers are not":       {pod(corev1.PodRunning, no, no, yes), false},
		"its gate is closed":           {pod(corev1.PodRunning, no, yes, no), false},
		"its containers are unknown":   {pod(corev1.PodRunning, no, "", ""), false},
		"its readiness is unknown":     {pod(corev1.PodRunning, "", yes, ""), false},
		"it does not run":              {pod(corev1.PodPending, no, yes, ""), false},
		"it has ended":                 {pod(corev1.PodFailed, no, yes, ""), false},
		"its gate was never reported":  {unreported, false},
		"its gate was opened just now": {opened, false},
		"its containers have started":  {started, false},
	} {
		view := Seen{Set: slicetest.NamedSet("web", nil), changes: map[string]decide.Change{}}.viewPod(tc.pod, 0, true)
		if got := view.LostSince; got.Equal(since) != tc.want || got.IsZero() == tc.want || (view.Node == "node-1") == view.Ready {
			t.Errorf("%s: since %s, node %q", name, got, view.Node)
		}
	}
	if back := pod(corev1.PodRunning, no, no, yes); !PodTells(lost, back) {
		t.Error("its kubelet answers again, and nobody looks")
	}
}

// TestY12UnreadySince: a pod is not Ready since the transition of that condition, and a pod without it since its creation.
func TestY12UnreadySince(t *testing.T) {
	created := slicetest.Noon.Add(-time.Hour)
	for name, tc := range map[string]struct {
		status corev1.ConditionStatus
		at     time.Time
		want   time.Time
	}{
		"it never reported":            {"", created, created},
		"it stopped":                   {corev1.ConditionFalse, slicetest.Noon, slicetest.Noon},
		"unknown":                      {corev1.ConditionUnknown, slicetest.Noon, slicetest.Noon},
		"Ready, but Terminating":       {corev1.ConditionTrue, slicetest.Noon, created},
		"before it was created, a lie": {corev1.ConditionFalse, created.Add(-time.Hour), created},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
		if tc.status != "" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: tc.status, LastTransitionTime: metav1.NewTime(tc.at)}}
		}
		if got := unreadySince(pod); !got.Equal(tc.want) {
			t.Errorf("%s: since %s, want %s", name, got, tc.want)
		}
	}
}
