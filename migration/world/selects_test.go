package world

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// TestSelects: a budget selects a slice if it selects its template or one of its pods, and the pods that it leaves
// out are reported. A completed pod does not count, and neither does a pod of another set (I4).
func TestSelects(t *testing.T) {
	unlike := func(p *corev1.Pod) { p.Labels = nil }
	ended := func(phase corev1.PodPhase, change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase = phase
			change(p)
		}
	}
	nothing := func(*corev1.Pod) {}
	own, other := labels.Set{"app": "web"}, labels.Set{"app": "db"}
	const toCome = "pods that are created later, also at the destination"
	for name, tc := range map[string]struct {
		template labels.Set
		pods     []corev1.Pod
		want     selection
	}{
		"all of them":                   {own, []corev1.Pod{webPod("web-0", nil)}, selection{any: true}},
		"those to come":                 {own, nil, selection{any: true}},
		"all but one":                   {own, []corev1.Pod{webPod("web-0", nil), webPod("web-1", unlike)}, selection{any: true, leavesOut: "pod web-1"}},
		"all but those to come":         {other, []corev1.Pod{webPod("web-0", nil)}, selection{any: true, leavesOut: toCome}},
		"one of them":                   {other, []corev1.Pod{webPod("web-0", unlike), webPod("web-1", nil)}, selection{any: true, leavesOut: "pod web-0"}},
		"none":                          {other, []corev1.Pod{webPod("web-0", unlike)}, selection{}},
		"none of none":                  {other, nil, selection{}},
		"one of another set":            {other, []corev1.Pod{webPod("db-0", nil)}, selection{}},
		"not one of another set":        {own, []corev1.Pod{webPod("db-0", unlike)}, selection{any: true}},
		"one that is done":              {other, []corev1.Pod{webPod("web-0", ended(corev1.PodSucceeded, nothing))}, selection{}},
		"one that has failed":           {other, []corev1.Pod{webPod("web-0", ended(corev1.PodFailed, nothing))}, selection{}},
		"all but one that is done":      {own, []corev1.Pod{webPod("web-0", ended(corev1.PodSucceeded, unlike))}, selection{any: true}},
		"all but one that has failed":   {own, []corev1.Pod{webPod("web-0", ended(corev1.PodFailed, unlike))}, selection{any: true}},
		"one that runs, like all other": {own, []corev1.Pod{webPod("web-0", ended(corev1.PodRunning, nothing))}, selection{any: true}},
	} {
		f := &observed{endpoint: endpoint.Endpoint{Set: "web"}, labels: tc.template, pods: tc.pods}
		for form, selector := range map[string]*metav1.LabelSelector{
			"labels":      {MatchLabels: labels.Set{"app": "web"}},
			"expressions": {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}}}},
		} {
			if got, compiled := f.selects(selector, f.members()); got != tc.want || (compiled != nil) != got.any {
				t.Errorf("%s, by %s: %+v and %v, want %+v", name, form, got, compiled, tc.want)
			}
		}
	}
}
