package world

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestBudgetOf: the view of a budget has its form, the owner of that field, and the migration's annotation.
func TestBudgetOf(t *testing.T) {
	author, one := pdb.Available(2), pdb.Unavailable(1)
	owned := func(manager string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{
			wrote("helm", `{"f:spec":{"f:minAvailable":{},"f:selector":{}}}`, Began.Add(time.Hour)),
			wrote(manager, `{"f:spec":{"f:maxUnavailable":{}}}`, Began.Add(-time.Hour)),
		}
	}
	marked := func(mark string, fields []metav1.ManagedFieldsEntry) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) {
			b.Annotations = map[string]string{api.BudgetAnnotationKey: mark}
			b.ManagedFields = fields
		}
	}
	plain := func() *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "b", ResourceVersion: "7", Generation: 2}}
		b.Spec.MaxUnavailable, b.Status.ObservedGeneration, b.Status.DisruptionsAllowed = one.MaxUnavailable, 2, 1
		return b
	}
	seen := plan.Budget{Name: "web", UID: "b", ResourceVersion: "7", Generation: 2, Form: one, Observed: true, Evictions: 1}
	for name, tc := range map[string]struct {
		change func(*policyv1.PodDisruptionBudget)
		want   func(*plan.Budget)
	}{
		"nobody is known to have written it": {func(*policyv1.PodDisruptionBudget) {}, func(*plan.Budget) {}},
		"not observed":                       {func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 1 }, func(b *plan.Budget) { b.Observed = false }},
		"observed later":                     {func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 3 }, func(*plan.Budget) {}},
		"its author's":                       {marked("", owned("kubectl")), func(b *plan.Budget) { b.WrittenBy = "kubectl" }},
		"its author says what must stay": {
			func(b *policyv1.PodDisruptionBudget) {
				b.ManagedFields, b.Spec.MaxUnavailable, b.Spec.MinAvailable = owned(api.FieldManager), nil, author.MinAvailable
			},
			func(b *plan.Budget) { b.Form, b.WrittenBy = author, "helm" },
		},
		"made by this migration, and marked": {
			func(b *policyv1.PodDisruptionBudget) {
				b.Annotations = map[string]string{api.OwnerAnnotationKey: "m", api.BudgetAnnotationKey: pdb.Mark("m.2", one), api.AuthorBudgetAnnotationKey: author.String()}
				b.ManagedFields = owned(api.FieldManager)
			},
			func(b *plan.Budget) {
				b.Ours, b.Fence, b.Wrote, b.Author, b.Own = true, "m.2", one.String(), &author, true
			},
		},
		"applied since": {
			marked(pdb.Mark("m.2", one), append(owned(api.FieldManager), wrote("flux", `{"f:spec":{"f:maxUnavailable":{}}}`, Began))),
			func(b *plan.Budget) { b.Fence, b.Wrote, b.WrittenBy, b.Own = "m.2", one.String(), "flux", true },
		},
		"edited":               {marked(pdb.Mark("m.2", author), owned("kubectl")), func(b *plan.Budget) { b.Fence, b.Wrote, b.WrittenBy = "m.2", author.String(), "kubectl" }},
		"the mark was removed": {marked("", owned(api.FieldManager)), func(b *plan.Budget) { b.Own = true }},
		"handed over":          {marked(api.BudgetHandedOver, owned("flux")), func(b *plan.Budget) { b.HandedOver, b.WrittenBy = true, "flux" }},
		"marked by another":    {marked(pdb.Mark("another.2", author), owned(api.FieldManager)), func(b *plan.Budget) { b.Own = true }},
	} {
		t.Run(name, func(t *testing.T) {
			budget, want := plain(), seen
			tc.change(budget)
			tc.want(&want)
			if diff := cmp.Diff(want, (&observed{}).budgetOf(migrating(), budget)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestForeignWriter: the last writer of a field is returned that is not a migration, and has written after the start
// of the migration. Writes of the status are ignored.
func TestForeignWriter(t *testing.T) {
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	later := Began.Add(time.Minute)
	status := wrote("controller", replicas, later)
	status.Subresource = "status"
	undated := wrote("old", replicas, later)
	undated.Time = nil
	empty := wrote("empty", "", later)
	empty.FieldsV1 = nil
	for name, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"nobody":               {nil, ""},
		"another field":        {[]metav1.ManagedFieldsEntry{wrote("kubectl", `{"f:spec":{"f:template":{}}}`, later)}, ""},
		"a migration":          {[]metav1.ManagedFieldsEntry{wrote(api.FieldManager, replicas, later)}, ""},
		"a controller":         {[]metav1.ManagedFieldsEntry{status}, ""},
		"no fields":            {[]metav1.ManagedFieldsEntry{empty}, ""},
		"before it began":      {[]metav1.ManagedFieldsEntry{wrote("kubectl", replicas, Began.Add(-time.Second))}, ""},
		"as it began":          {[]metav1.ManagedFieldsEntry{wrote("kubectl", replicas, Began)}, "kubectl"},
		"at no time":           {[]metav1.ManagedFieldsEntry{undated}, "old"},
		"beside a migration":   {[]metav1.ManagedFieldsEntry{wrote(api.FieldManager, replicas, later), wrote("kubectl", replicas, later)}, "kubectl"},
		"the last of two":      {[]metav1.ManagedFieldsEntry{wrote("first", replicas, later), wrote("second", replicas, later.Add(1))}, "second"},
		"the last comes first": {[]metav1.ManagedFieldsEntry{wrote("second", replicas, later.Add(time.Second)), wrote("first", replicas, later)}, "second"},
		"the other field":      {[]metav1.ManagedFieldsEntry{wrote("kubectl", `{"f:spec":{"f:ordinals":{}}}`, later)}, "kubectl"},
	} {
		if got := foreignWriter(tc.entries, Began, `"f:replicas"`, `"f:ordinals"`); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got := begun(migrating()); !got.Equal(Began) || !begun(&api.Migration{}).IsZero() {
		t.Errorf("it began at %s", got)
	}
	odd := migrating()
	odd.Status.Baseline.StartTime = metav1.NewTime(Began.Add(1900 * time.Millisecond))
	if got := begun(odd); !got.Equal(Began.Add(time.Second)) {
		t.Errorf("in an odd second it began at %s", got)
	}
}

// TestDisrupted: a granted eviction that was not observed yet counts; a pod that was created since, and has no
// eviction condition, is another one.
func TestDisrupted(t *testing.T) {
	granted := metav1.NewTime(Began)
	pod := func(name string, made time.Duration, conditions ...corev1.PodCondition) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(Began.Add(made))}, Status: corev1.PodStatus{Conditions: conditions}}
	}
	marked := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}
	unmarked, ready := marked, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	unmarked.Status = corev1.ConditionFalse
	f := &observed{now: Began.Add(evictedFor), pods: []corev1.Pod{
		pod("web-0", -time.Hour), pod("web-1", time.Second), pod("web-2", time.Second, marked), pod("web-3", time.Second, unmarked), pod("web-4", time.Second, ready), pod("web-5", 0),
	}}
	budget := &policyv1.PodDisruptionBudget{}
	budget.Status.DisruptedPods = map[string]metav1.Time{"web-6": granted, "web-5": granted, "web-4": granted, "web-3": granted, "web-2": granted, "web-1": granted, "web-0": granted}
	if diff := cmp.Diff([]string{"web-0", "web-2", "web-5", "web-6"}, f.disrupted(budget)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	f.now = f.now.Add(1)
	if diff := cmp.Diff([]string{"web-0", "web-2", "web-6"}, f.disrupted(budget)); diff != "" {
		t.Errorf("later: -want +got\n%s", diff)
	}
}

// TestStrangerOfABudget: a pod that a budget selects and that belongs to neither slice is reported, unless it has
// completed.
func TestStrangerOfABudget(t *testing.T) {
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, tc := range map[string]struct {
		change  func(*corev1.Pod)
		pod     string
		sibling string
		want    string
	}{
		"a stranger":                   {nil, "db-0", "", "db-0"},
		"one of the slice":             {nil, "web-0", "", ""},
		"one of the other":             {nil, "next-0", "next", ""},
		"of no sibling":                {nil, "next-0", "", "next-0"},
		"of the slice, beside another": {nil, "web-0", "next", ""},
		"it has failed":                {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "db-0", "", ""},
		"it is done":                   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "db-0", "", ""},
		"not selected":                 {func(p *corev1.Pod) { p.Labels = nil }, "db-0", "", ""},
	} {
		pod := webPod(tc.pod, tc.change)
		f := &observed{endpoint: endpoint.Endpoint{Set: "web"}, sibling: tc.sibling, pods: []corev1.Pod{webPod("web-9", nil), pod}}
		if got := f.stranger(selector); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestStranger: a budget over pods of neither slice is reported, except for completed pods.
func TestStranger(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}, Status: corev1.PodStatus{Phase: phase}}
	}
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: new(intstr.FromInt32(1)),
	}}
	other := *budget.DeepCopy()
	other.Name, other.Spec.Selector.MatchLabels["app"] = "other", "other"
	for name, tc := range map[string]struct {
		pods    []corev1.Pod
		sibling string
		want    string
	}{
		"its own":                {pods: []corev1.Pod{pod("web-0", corev1.PodRunning), pod("web-7", corev1.PodRunning)}},
		"its sibling's":          {pods: []corev1.Pod{pod("web-next-0", corev1.PodRunning)}, sibling: "web-next"},
		"another set's":          {pods: []corev1.Pod{pod("web-next-0", corev1.PodRunning)}, want: "web-next-0"},
		"a Job's that has ended": {pods: []corev1.Pod{pod("seed", corev1.PodSucceeded), pod("broken", corev1.PodFailed)}},
		"a Deployment's":         {pods: []corev1.Pod{pod("web-0", corev1.PodRunning), pod("web-5d9c7b-x2x2x", corev1.PodPending)}, want: "web-5d9c7b-x2x2x"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &observed{endpoint: endpoint.Endpoint{Set: "web"}, sibling: tc.sibling, pods: tc.pods, budgets: []policyv1.PodDisruptionBudget{budget, other}, labels: map[string]string{"app": "web"}}
			budgets, others := budgetsOf(&api.Migration{}, f)
			if len(budgets) != 1 || budgets[0].Covers != tc.want || len(others) != 1 || others[0] != "other" {
				t.Errorf("got %+v and %v, want one that covers %q", budgets, others, tc.want)
			}
		})
	}
}

// TestDisruptedPodThatCameBack: the disruption controller identifies an evicted pod by its name for up to two
// minutes. A new pod of that name is not taken for it.
func TestDisruptedPodThatCameBack(t *testing.T) {
	granted := metav1.Unix(100, 0)
	for name, tc := range map[string]struct {
		created, now int64
		marked       bool
		want         int
	}{
		"the one that was meant":                       {created: 50, now: 101, want: 1},
		"the same, after a while":                      {created: 50, now: 200, want: 1},
		"one that came after":                          {created: 101, now: 102, want: 0},
		"one that came after, and is evicted, too":     {created: 101, now: 102, marked: true, want: 1},
		"one of the same second, a moment later":       {created: 100, now: 101, want: 1},
		"one of the same second, after a while":        {created: 100, now: 111, want: 0},
		"one of the same second that is being evicted": {created: 100, now: 111, marked: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", CreationTimestamp: metav1.Unix(tc.created, 0)}}
			if tc.marked {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
			}
			budget := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"web-0": granted}}}
			f := &observed{pods: []corev1.Pod{pod}, now: time.Unix(tc.now, 0)}
			if got := f.disrupted(budget); len(got) != tc.want {
				t.Errorf("got %v, want %d", got, tc.want)
			}
			f.pods = nil
			if got := f.disrupted(budget); len(got) != 1 {
				t.Errorf("a pod that is gone: %v", got)
			}
		})
	}
}
