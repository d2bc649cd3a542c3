package world

import (
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// TestBudgetsArePodsBudgets: a PodDisruptionBudget applies to the pods whose labels it selects, not to their template
// (G13).
func TestBudgetsArePodsBudgets(t *testing.T) {
	pod := func(name string, more map[string]string) corev1.Pod {
		labels := map[string]string{"app": "web", appsv1.StatefulSetPodNameLabel: name}
		maps.Copy(labels, more)
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	mesh := map[string]string{"mesh": "on"}
	both := []corev1.Pod{pod("web-0", nil), pod("web-1", nil)}
	ended := pod("web-2", nil)
	ended.Status.Phase = corev1.PodFailed
	for name, tc := range map[string]struct {
		selector  map[string]string
		pods      []corev1.Pod
		selected  bool
		leavesOut string
	}{
		"all, by the template's labels":   {map[string]string{"app": "web"}, both, true, ""},
		"one, by its name":                {map[string]string{appsv1.StatefulSetPodNameLabel: "web-0"}, both, true, "web-1"},
		"the only one, by its name":       {map[string]string{appsv1.StatefulSetPodNameLabel: "web-0"}, both[:1], true, "created later"},
		"all, by a webhook's label":       {mesh, []corev1.Pod{pod("web-0", mesh), pod("web-1", mesh)}, true, "created later"},
		"all but one that lost its label": {map[string]string{"app": "web"}, []corev1.Pod{pod("web-0", nil), pod("web-1", map[string]string{"app": "debug"})}, true, "web-1"},
		"one that has ended":              {map[string]string{appsv1.StatefulSetPodNameLabel: "web-2"}, append(both[:2:2], ended), false, ""},
		"others":                          {map[string]string{"app": "db"}, both, false, ""},
		"another's pod of that name":      {mesh, append(both[:2:2], pod("web-x", mesh)), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{}
			set.Spec.Template.Labels = map[string]string{"app": "web"}
			f := &observed{endpoint: endpoint.Endpoint{Set: "web"}, set: set, pods: tc.pods, budgets: []policyv1.PodDisruptionBudget{{
				ObjectMeta: metav1.ObjectMeta{Name: "pdb"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: tc.selector}},
			}}}
			budgets, others := budgetsOf(&api.Migration{}, f)
			if (len(budgets) == 1) != tc.selected || (len(others) == 1) == tc.selected {
				t.Fatalf("budgets %+v, others %q", budgets, others)
			}
			if !tc.selected {
				return
			}
			if got := budgets[0].LeavesOut; (got == "") != (tc.leavesOut == "") || !strings.Contains(got, tc.leavesOut) {
				t.Errorf("it leaves out %q, want %q", got, tc.leavesOut)
			}
		})
	}
}
