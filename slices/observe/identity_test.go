package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOrdinalOf parses the ordinal in a pod's name.
func TestOrdinalOf(t *testing.T) {
	t.Run("K-039: names that are a pod's of the set, and others", func(t *testing.T) {
		for pod, want := range map[string]int32{"web-3": 3, "web-0": 0, "web-2147483647": 2147483647} {
			if got, found := OrdinalOf("web", pod); !found || got != want {
				t.Errorf("%s is ordinal %d (%t), want %d", pod, got, found, want)
			}
		}
		for _, pod := range []string{"1-web", "web", "web-", "web-01", "web--1", "web-+1", "web-a", "web-2147483648", "another-web-1", "web-db-1"} {
			if got, found := OrdinalOf("web", pod); found {
				t.Errorf("%s is taken for ordinal %d", pod, got)
			}
		}
		if got, found := OrdinalOf("web-db", "web-db-1"); !found || got != 1 {
			t.Errorf("a name with dashes: %d, %t", got, found)
		}
	})
}

// TestReadiness: a pod is Ready when it is Running and its condition is True.
func TestReadiness(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}
	not := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	for name, tc := range map[string]struct {
		phase      corev1.PodPhase
		conditions []corev1.PodCondition
		want       bool
	}{
		"running and ready":     {corev1.PodRunning, []corev1.PodCondition{ready}, true},
		"running, not ready":    {corev1.PodRunning, []corev1.PodCondition{not}, false},
		"running, no condition": {corev1.PodRunning, nil, false},
		"pending and ready":     {corev1.PodPending, []corev1.PodCondition{ready}, false},
		"failed and ready":      {corev1.PodFailed, []corev1.PodCondition{ready}, false},
	} {
		t.Run("K-040 "+name, func(t *testing.T) {
			got, at := Readiness(&corev1.Pod{Status: corev1.PodStatus{Phase: tc.phase, Conditions: tc.conditions}})
			if got != tc.want || got && !at.Equal(since) {
				t.Errorf("got %t since %s", got, at)
			}
		})
	}
}
