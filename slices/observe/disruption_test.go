package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

func pdb(name string, selector *metav1.LabelSelector, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector}, Status: status,
	}
}

// reading returns a reader of the set web with two pods on nodes.
func reading(t *testing.T, spec decide.Spec, hooks interceptor.Funcs, objects ...client.Object) Reader {
	t.Helper()
	r := Reader{
		Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(objects...).WithInterceptorFuncs(hooks).Build(),
		Set:    slicetest.NamedSet("web", map[string]string{"app": "web"}), Spec: spec, Now: slicetest.Noon, Pods: map[int32]*corev1.Pod{},
	}
	for ordinal := range int32(2) {
		name := PodName("web", ordinal)
		r.Pods[ordinal] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web", "pod": name}},
			Spec:       corev1.PodSpec{NodeName: "node-" + name},
		}
	}
	return r
}

func blankInput(r Reader) *decide.Input {
	in := &decide.Input{}
	for ordinal := range int32(len(r.Pods)) {
		in.Pods = append(in.Pods, decide.Pod{Ordinal: ordinal})
	}
	return in
}

// TestReadsBudgets: the budgets that select a pod, as the eviction subresource finds them, with their counts.
func TestReadsBudgets(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	always := policyv1.AlwaysAllow
	since := metav1.NewTime(slicetest.Noon.Add(-time.Minute))
	none := pdb("b-none", web, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 2, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 3,
		Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason, LastTransitionTime: since}},
	})
	failing := pdb("c-failing", &metav1.LabelSelector{MatchLabels: map[string]string{"pod": "web-1"}}, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 1,
		Conditions:         []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "no controllers", LastTransitionTime: since}},
	})
	all := pdb("a-all", &metav1.LabelSelector{}, policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 2, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2, ExpectedPods: 3,
		Conditions:    []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason, LastTransitionTime: since}},
		DisruptedPods: map[string]metav1.Time{"web-0": metav1.NewTime(slicetest.Noon.Add(-time.Minute)), "web-1": metav1.NewTime(slicetest.Noon.Add(-time.Second))},
	})
	all.Spec.UnhealthyPodEvictionPolicy = &always
	elsewhere := pdb("elsewhere", web, policyv1.PodDisruptionBudgetStatus{})
	elsewhere.Namespace = "other"
	broken := pdb("broken", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}, policyv1.PodDisruptionBudgetStatus{})
	r := reading(t, decide.Spec{Evicts: true}, interceptor.Funcs{}, none, failing, all, elsewhere, broken,
		pdb("nil", nil, policyv1.PodDisruptionBudgetStatus{}), pdb("other", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, policyv1.PodDisruptionBudgetStatus{}))
	r.Charges = map[types.UID]time.Time{"web-0": slicetest.Noon, "web-1": slicetest.Noon.Add(-time.Second)}
	in, seen := blankInput(r), Seen{}
	r.readBudgets(t.Context(), in, &seen)
	want := &decide.Input{
		Budgets: decide.Budgets{All: []decide.Budget{
			{Name: "a-all", Observed: true, Allowed: 1, Healthy: 3, Desired: 2, Expected: 3, AlwaysAllow: true},
			{Name: "b-none", Observed: true, Healthy: 2, Desired: 2, Expected: 3, Since: since.Time},
			{Name: "c-failing", Since: since.Time, Fault: "no controllers"},
		}},
		Pods: []decide.Pod{
			{Ordinal: 0, Budgets: []string{"a-all", "b-none"}},
			{Ordinal: 1, Budgets: []string{"a-all", "b-none", "c-failing"}, Charged: true, OwnCharge: true},
		},
	}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := seen.Budgets.Of(r.Pods[1]); len(got) != 3 || got[0].Name != "a-all" {
		t.Errorf("the budgets of web-1: %v", got)
	}
}

// TestReadsNoBudgets: a set that does not keep budgets reads none. An error is part of the input.
func TestReadsNoBudgets(t *testing.T) {
	asked := 0
	hooks := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		asked++
		return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), "", errors.New("no right"))
	}}
	for evicts, want := range map[bool]string{false: "", true: "no right"} {
		r := reading(t, decide.Spec{Evicts: evicts}, hooks)
		in := blankInput(r)
		r.readBudgets(t.Context(), in, &Seen{})
		if !strings.Contains(in.Budgets.Unread, want) || (in.Budgets.Unread != "") != evicts {
			t.Errorf("evicts %t: %q", evicts, in.Budgets.Unread)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// TestReadEndsInTime: a cache that may not list a kind is not waited for.
func TestReadEndsInTime(t *testing.T) {
	bounded := func(ctx context.Context) error {
		if at, is := ctx.Deadline(); !is || time.Until(at) > readWithin {
			return errors.New("it may last for ever")
		}
		return context.DeadlineExceeded
	}
	r := reading(t, decide.Spec{Evicts: true, TopologyKey: "zone"}, interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return bounded(ctx)
		},
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return bounded(ctx)
		},
	})
	in := blankInput(r)
	r.readBudgets(t.Context(), in, &Seen{})
	r.readDomains(t.Context(), in)
	for _, got := range []string{in.Budgets.Unread, in.Topology.Unread} {
		if !strings.Contains(got, context.DeadlineExceeded.Error()) {
			t.Errorf("%q", got)
		}
	}
}

// TestReadsDomains: the domain is the label of the node. A pod without a node has none, and a node that does not exist has
// no label.
func TestReadsDomains(t *testing.T) {
	node := func(name string, labels map[string]string) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	for name, tc := range map[string]struct {
		nodes  []client.Object
		change func(Reader)
		key    string
		want   []decide.Domain
	}{
		"kubernetes#114010: two zones": {
			[]client.Object{node("node-web-0", map[string]string{"zone": "a"}), node("node-web-1", map[string]string{"zone": "b"})},
			nil, "zone",
			[]decide.Domain{{Node: "node-web-0", Value: "a", Labeled: true}, {Node: "node-web-1", Value: "b", Labeled: true}},
		},
		"two pods of a node": {
			[]client.Object{node("node-web-0", map[string]string{"zone": "a"})},
			func(r Reader) { r.Pods[1].Spec.NodeName = "node-web-0" }, "zone",
			[]decide.Domain{{Node: "node-web-0", Value: "a", Labeled: true}, {Node: "node-web-0", Value: "a", Labeled: true}},
		},
		"a label without a value, and none": {
			[]client.Object{node("node-web-0", map[string]string{"zone": ""}), node("node-web-1", map[string]string{"area": "b"})},
			nil, "zone",
			[]decide.Domain{{Node: "node-web-0", Labeled: true}, {Node: "node-web-1"}},
		},
		"a node that does not exist, and no node": {
			nil, func(r Reader) { r.Pods[1].Spec.NodeName = "" }, "zone", []decide.Domain{{Node: "node-web-0"}, {}},
		},
		"no key": {[]client.Object{node("node-web-0", map[string]string{"zone": "a"})}, nil, "", []decide.Domain{{}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading(t, decide.Spec{TopologyKey: tc.key}, interceptor.Funcs{}, tc.nodes...)
			if tc.change != nil {
				tc.change(r)
			}
			in := blankInput(r)
			r.readDomains(t.Context(), in)
			var got []decide.Domain
			for _, pod := range in.Pods {
				got = append(got, pod.Domain)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || in.Topology.Unread != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, in.Topology.Unread)
			}
		})
	}
}
