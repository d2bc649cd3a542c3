package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

func TestViewSlice(t *testing.T) {
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"uid": "u", "generation": int64(7)}, "spec": spec,
		}}
	}
	cases := map[string]struct {
		spec map[string]any
		want judge.SliceState
	}{
		"defaults": {
			spec: map[string]any{},
			want: judge.SliceState{UID: "u", Generation: 7, Replicas: 1},
		},
		"everything": {
			spec: map[string]any{
				"replicas": int64(0),
				"ordinals": map[string]any{"start": int64(3)},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}},
				"volumeClaimTemplates": []any{
					map[string]any{"metadata": map[string]any{"name": "data"}},
					map[string]any{"metadata": map[string]any{"name": "wal"}},
				},
			},
			want: judge.SliceState{
				UID: "u", Generation: 7, Start: 3,
				Labels: map[string]string{"app": "web"}, Templates: []string{"data", "wal"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Slice(object(tc.spec))); diff != "" {
				t.Errorf("slice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestViewPod(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: kind, Status: status}}}
	}
	now := metav1.Now()
	cases := map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"Ready":            {corev1.Pod{Status: condition(corev1.PodReady, corev1.ConditionTrue)}, true},
		"not Ready":        {corev1.Pod{Status: condition(corev1.PodReady, corev1.ConditionFalse)}, false},
		"no condition yet": {corev1.Pod{}, false},
		"scheduled only":   {corev1.Pod{Status: condition(corev1.PodScheduled, corev1.ConditionTrue)}, false},
		"Ready and Terminating": {
			corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: condition(corev1.PodReady, corev1.ConditionTrue)}, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.pod.UID = "u"
			if got := Pod(&tc.pod, 0).Available(); got != tc.want {
				t.Errorf("available is %t, want %t", got, tc.want)
			}
		})
	}
}
