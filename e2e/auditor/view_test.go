package auditor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestViewSlice(t *testing.T) {
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"uid": "u", "generation": int64(7)}, "spec": spec,
		}}
	}
	cases := map[string]struct {
		spec map[string]any
		want sliceState
	}{
		"defaults": {
			spec: map[string]any{},
			want: sliceState{UID: "u", Generation: 7, Replicas: 1},
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
			want: sliceState{
				UID: "u", Generation: 7, Start: 3,
				Labels: map[string]string{"app": "web"}, Templates: []string{"data", "wal"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, viewSlice(object(tc.spec))); diff != "" {
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
			if got := viewPod(&tc.pod, 0).available(); got != tc.want {
				t.Errorf("available is %t, want %t", got, tc.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	good := Side{Config: &rest.Config{}, Namespace: "shop", Set: "web"}
	cases := map[string]struct {
		options Options
		wantErr string
	}{
		"complete":        {Options{Source: good, Destination: good}, ""},
		"no destination":  {Options{Source: good}, "destination: config, namespace and set are required"},
		"negative budget": {Options{Source: good, Destination: good, Budget: -1}, "budget is -1, must not be negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.options.complete()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tc.wantErr {
				t.Fatalf("got error %q, want %q", text, tc.wantErr)
			}
			if got.Source.Name != "source" || got.Source.Resource.Resource != "statefulsets" || got.Clock == nil || got.CheckTimeout != DefaultCheckTimeout {
				t.Errorf("defaults are missing in %+v", got)
			}
		})
	}
}
