package execute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
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
	"github.com/sliceshift/sliceshift/slices/observe"
)

// The answers of the eviction subresource (pkg/registry/core/pod/storage/eviction.go).
var (
	errNone = func() error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2 healthy pods and has 2 currently",
		})
		return err
	}()
	errSeveral = apierrors.FromObject(&metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	})
	errBusy      = apierrors.NewTooManyRequests("too much to do", 1)
	errForbidden = apierrors.NewForbidden(corev1.Resource("pods"), "web-0", errors.New("no right to pods/eviction"))
)

// TestEvictsWithinABudget: the answer of a budget becomes a refusal for the next decision, and is no failure. Any other
// error is one.
func TestEvictsWithinABudget(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   []decide.Refusal
		again  bool
		fails  bool
		tells  string
	}{
		"kubernetes#89820 evicted": {answer: nil, tells: "SuccessfulDelete"},
		"the budget allows none": {
			answer: errNone, again: true,
			want: []decide.Refusal{{Verb: decide.Evict, UID: "u", Message: "The disruption budget web needs 2 healthy pods and has 2 currently", At: slicetest.Noon}},
		},
		"two budgets": {
			answer: errSeveral, again: true,
			want: []decide.Refusal{{Verb: decide.Evict, UID: "u", Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", At: slicetest.Noon}},
		},
		"a busy API server":    {answer: errBusy, again: true},
		"no right to it":       {answer: errForbidden, fails: true, tells: "FailedDelete", want: []decide.Refusal{{Verb: decide.Evict, UID: "u", Message: "Evict of pod shop/web-0: " + errForbidden.Error()}}},
		"it is gone already":   {answer: apierrors.NewNotFound(corev1.Resource("pods"), "web-0"), tells: "SuccessfulDelete"},
		"an unknown 500":       {answer: errAPI, fails: true, tells: "FailedDelete"},
		"it is another by now": {answer: apierrors.NewConflict(corev1.Resource("pods"), "web-0", errors.New("another UID")), fails: true, tells: "FailedDelete"},
	} {
		t.Run(name, func(t *testing.T) {
			deletions := 0
			h, ears := newControl(t, interceptor.Funcs{
				SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
					return tc.answer
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					deletions++
					return nil
				},
			})
			h.pods[0] = readyPod()
			err := h.all(t.Context(), []decide.Action{{Verb: decide.Evict, UID: "u", Reason: "Update"}})
			if (err != nil) != tc.fails || h.Refused() != tc.again || tc.tells != "" && !ears.Has(tc.tells) || tc.tells == "" && len(ears.Lines) > 0 {
				t.Errorf("error %v, again %t, events %v", err, h.Refused(), ears.Lines)
			}
			if diff := cmp.Diff(tc.want, h.Refusals()); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if deletions > 0 {
				t.Error("it was deleted past the budget")
			}
		})
	}
}

func readyPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "web"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestPreconditionsOfEvictions: a pod that was not Ready is evicted with its resourceVersion, because it may be Ready by now.
// A Ready pod is evicted with its UID alone. With the resourceVersion, a conflict would come after the API server has
// charged the budget.
func TestPreconditionsOfEvictions(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   *string
	}{
		"Ready":     {func(*corev1.Pod) {}, nil},
		"not Ready": {func(pod *corev1.Pod) { pod.Status.Conditions = nil }, new("7")},
	} {
		t.Run(name, func(t *testing.T) {
			var asked metav1.Preconditions
			h, _ := newControl(t, interceptor.Funcs{SubResourceCreate: func(_ context.Context, _ client.Client, _ string, _, body client.Object, _ ...client.SubResourceCreateOption) error {
				if eviction, is := body.(*policyv1.Eviction); is {
					asked = *eviction.DeleteOptions.Preconditions
				}
				return nil
			}})
			h.pods[0] = readyPod()
			tc.change(h.pods[0])
			if err := h.all(t.Context(), []decide.Action{{Verb: decide.Evict, UID: "u"}}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(metav1.Preconditions{UID: new(types.UID("u")), ResourceVersion: tc.want}, asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOtherPodsAreEvicted: a budget that refuses one pod does not keep another pod, which may have another budget.
func TestOtherPodsAreEvicted(t *testing.T) {
	var asked atomic.Int32 // the pods are asked at the same time
	h, _ := newControl(t, interceptor.Funcs{SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
		asked.Add(1)
		return errNone
	}})
	var actions []decide.Action
	for ordinal := range int32(3) {
		h.pods[ordinal] = readyPod()
		actions = append(actions, decide.Action{Verb: decide.Evict, Ordinal: ordinal, UID: "u"})
	}
	h.pods[1].UID = "another" // it has been replaced meanwhile
	if err := h.all(t.Context(), actions); err != nil || asked.Load() != 2 || len(h.Refusals()) != 2 {
		t.Errorf("%d were asked for: %v, %v", asked.Load(), err, h.Refusals())
	}
}

// chargeable returns a control whose cache shows budgets. The API server has the same, changed by change.
func chargeable(t *testing.T, change func(*policyv1.PodDisruptionBudget), names ...string) (*PodControl, client.Client) {
	t.Helper()
	h, _ := newControl(t, interceptor.Funcs{})
	var objects []client.Object
	for _, name := range names {
		objects = append(objects, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Generation: 1},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2, ExpectedPods: 3},
		})
	}
	server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(objects...).WithStatusSubresource(&policyv1.PodDisruptionBudget{}).Build()
	h.Client, h.pods[0] = server, readyPod()
	if change != nil {
		budget := &policyv1.PodDisruptionBudget{}
		if err := server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: names[0]}, budget); err != nil {
			t.Fatal(err)
		}
		change(budget)
		if err := server.Status().Update(t.Context(), budget); err != nil {
			t.Fatal(err)
		}
	}
	var list policyv1.PodDisruptionBudgetList
	if err := server.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	h.Budgets = observe.BudgetsFrom(list.Items)
	return h, server
}

func budgetStatus(t *testing.T, server client.Client) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, budget); err != nil {
		t.Fatal(err)
	}
	return budget.Status
}

// TestChargesTheBudget: a charge uses one disruption in the status, as an eviction does, and a release removes its entry.
func TestChargesTheBudget(t *testing.T) {
	charge, release := decide.Action{Verb: decide.ChargeBudget, UID: "u"}, decide.Action{Verb: decide.ReleaseBudget, UID: "u"}
	h, server := chargeable(t, nil, "web")
	if err := h.all(t.Context(), []decide.Action{charge}); err != nil {
		t.Fatal(err)
	}
	status := budgetStatus(t, server)
	if at := status.DisruptedPods["web-0"]; status.DisruptionsAllowed != 0 || !at.Time.Equal(slicetest.Noon) || status.CurrentHealthy != 3 {
		t.Errorf("charged: %+v", status)
	}
	if diff := cmp.Diff(map[types.UID]time.Time{"u": slicetest.Noon}, h.Charges(map[types.UID]time.Time{"former": slicetest.Noon})); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
	if err := h.all(t.Context(), []decide.Action{charge}); !apierrors.IsConflict(err) {
		t.Errorf("the same disruption is used again: %v", err)
	}
	h, server = chargeable(t, func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{"web-0": metav1.NewTime(slicetest.Noon), "other-0": metav1.NewTime(slicetest.Noon)}
	}, "web")
	if err := h.all(t.Context(), []decide.Action{release}); err != nil {
		t.Fatal(err)
	}
	if status := budgetStatus(t, server); len(status.DisruptedPods) != 1 || status.DisruptionsAllowed != 1 {
		t.Errorf("released: %+v", status)
	}
}

// TestChargesNoMore: what keeps the API server from an eviction keeps a charge back, and the update in place with it.
func TestChargesNoMore(t *testing.T) {
	begin := []decide.Action{{Verb: decide.ChargeBudget, UID: "u"}, {Verb: decide.BeginInPlace, UID: "u", Revision: "r1"}}
	for name, change := range map[string]func(*policyv1.PodDisruptionBudget){
		"none is allowed": func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 0 },
		"not computed":    func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration = 0 },
		"too many pods are disrupted": func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods = map[string]metav1.Time{}
			for i := range mostDisrupted + 1 {
				b.Status.DisruptedPods[fmt.Sprint("pod-", i)] = metav1.NewTime(slicetest.Noon)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, server := chargeable(t, change, "web")
			before := budgetStatus(t, server)
			if err := h.all(t.Context(), begin); err != nil || !h.Refused() {
				t.Errorf("error %v, again %t", err, h.Refused())
			}
			if diff := cmp.Diff(before, budgetStatus(t, server)); diff != "" {
				t.Errorf("it was charged:\n%s", diff)
			}
		})
	}
	t.Run("two budgets", func(t *testing.T) {
		h, server := chargeable(t, nil, "web", "other")
		if err := h.all(t.Context(), begin); err == nil || budgetStatus(t, server).DisruptionsAllowed != 1 {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no budget is left", func(t *testing.T) {
		h, _ := chargeable(t, nil)
		if err := h.all(t.Context(), begin[:1]); err != nil {
			t.Error(err)
		}
	})
}
