package execute

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// newControl returns the control of the pods of a set with one claim template. Writes to its fake API server fail as in
// fails.
func newControl(t *testing.T, fails interceptor.Funcs, objects ...client.Object) (*PodControl, *slicetest.Heard) {
	t.Helper()
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{
		Name: "data", Labels: map[string]string{"app": "template", "tier": "db"}, Annotations: map[string]string{"note": "kept"},
	}}}
	ears := &slicetest.Heard{}
	server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(objects...).WithInterceptorFuncs(fails).Build()
	return &PodControl{
		Seen: observe.Seen{
			Set: set, Claims: map[string]*corev1.PersistentVolumeClaim{},
			Templates: map[string]*corev1.PodTemplateSpec{"r1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}},
		},
		Writer: Writer{Client: server, Live: server, Events: ears, Expectations: NewExpectations(), Now: func() time.Time { return slicetest.Noon }}, pods: map[int32]*corev1.Pod{},
	}, ears
}

// TestEvictsBesideAMigration: a deletion within the budget is an eviction, and waits if the PodDisruptionBudget refuses it.
// Pods that the migration itself stops, and pods that are not Ready, are deleted directly. A budget of 0 would keep a broken
// pod forever.
func TestEvictsBesideAMigration(t *testing.T) {
	for _, c := range []struct {
		reason           api.TerminationReason
		migrating, ready bool
		evicts           bool
	}{
		{api.TerminationUpdate, true, true, true},
		{api.TerminationDeletion, true, true, true},
		{api.TerminationMigration, true, true, false},
		{api.TerminationUpdate, true, false, false},
		{api.TerminationDeletion, true, false, false},
		{api.TerminationUpdate, false, true, false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u"}}
		if c.ready {
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		evictions := 0
		h, _ := newControl(t, interceptor.Funcs{SubResourceCreate: func(_ context.Context, _ client.Client, name string, _, _ client.Object, _ ...client.SubResourceCreateOption) error {
			if name == "eviction" {
				evictions++
			}
			return apierrors.NewTooManyRequests("the budget", 1)
		}}, pod)
		h.pods[0] = &corev1.Pod{}
		if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), h.pods[0]); err != nil {
			t.Fatal(err)
		}
		if c.migrating {
			h.Set.Annotations = map[string]string{api.MigratingAnnotationKey: "true"}
		}
		if err := h.all(t.Context(), []decide.Action{{Verb: decide.Delete, Ordinal: 0, UID: "u", Reason: c.reason}}); err != nil {
			t.Fatal(err)
		}
		gone := apierrors.IsNotFound(h.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
		if (evictions > 0) != c.evicts || gone == c.evicts || h.refused.Load() != c.evicts {
			t.Errorf("%+v: %d evictions, gone %t, to be asked again %t", c, evictions, gone, h.refused.Load())
		}
	}
}

var errAPI = apierrors.NewInternalError(errors.New("out of order"))

// TestCreatesPodAndClaims: the claims are created before the pod, and an error of either is reported.
func TestCreatesPodAndClaims(t *testing.T) {
	create := []decide.Action{{Verb: decide.Create, Ordinal: 0, Revision: "r1"}}
	key := client.ObjectKey{Namespace: "shop", Name: "data-web-0"}
	t.Run("K-160, K-172: claim, then pod", func(t *testing.T) {
		h, ears := newControl(t, interceptor.Funcs{})
		if err := h.all(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		var claim corev1.PersistentVolumeClaim
		if err := h.Client.Get(t.Context(), key, &claim); err != nil {
			t.Fatal(err)
		}
		if claim.Labels["app"] != "web" || claim.Labels["tier"] != "db" || claim.Annotations["note"] != "kept" {
			t.Errorf("the claim has labels %v and annotations %v", claim.Labels, claim.Annotations)
		}
		if len(ears.Lines) != 1 || !ears.Has("SuccessfulCreate") {
			t.Errorf("events %v", ears.Lines)
		}
	})
	t.Run("K-164: a claim that fails keeps the pod away", func(t *testing.T) {
		h := failingCreate[*corev1.PersistentVolumeClaim](t, create)
		if err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-0"}, &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pod was made without its claim: %v", err)
		}
	})
	t.Run("K-165: a pod that fails", func(t *testing.T) {
		h := failingCreate[*corev1.Pod](t, create)
		if err := h.Client.Get(t.Context(), key, &corev1.PersistentVolumeClaim{}); err != nil {
			t.Errorf("the claim was not made: %v", err)
		}
	})
	t.Run("K-161: somebody else's pod has the name", func(t *testing.T) {
		h, ears := newControl(t, interceptor.Funcs{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0"}})
		if err := h.all(t.Context(), create); !apierrors.IsAlreadyExists(err) || !ears.Has("FailedCreate") {
			t.Errorf("got %v, events %v", err, ears.Lines)
		}
	})
}

// failingCreate executes actions while objects of type T cannot be created, which must be reported.
func failingCreate[T client.Object](t *testing.T, actions []decide.Action) *PodControl {
	t.Helper()
	h, ears := newControl(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, fails := o.(T); fails {
			return errAPI
		}
		return c.Create(ctx, o, opts...)
	}})
	if err := h.all(t.Context(), actions); err == nil || !ears.Has("FailedCreate") {
		t.Errorf("error %v, events %v", err, ears.Lines)
	}
	return h
}

// TestDeletesPods: a pod that no longer exists counts as deleted. Another error is reported and ends the pass.
func TestDeletesPods(t *testing.T) {
	pod := func(ordinal int32) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: observe.PodName("web", ordinal), UID: "u"}}
	}
	const pods = 20
	var actions []decide.Action
	for ordinal := int32(pods - 1); ordinal >= 0; ordinal-- {
		actions = append(actions, decide.Action{Verb: decide.Delete, Ordinal: ordinal, UID: "u", Reason: "ScaleDown"})
	}
	for name, tc := range map[string]struct {
		answer error
		tells  string
		left   int
		fails  bool
	}{
		"K-170 ok":                      {nil, "SuccessfulDelete", 0, false},
		"K-170 not found":               {apierrors.NewNotFound(corev1.Resource("pods"), "web-1"), "SuccessfulDelete", pods, false},
		"K-018 K-022 K-023 K-170 error": {errAPI, "FailedDelete", pods, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			h, ears := newControl(t, interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
				asked.Add(1)
				if tc.answer != nil {
					return tc.answer
				}
				return c.Delete(ctx, o)
			}})
			for ordinal := range int32(pods) {
				h.pods[ordinal] = pod(ordinal)
				if err := h.Client.Create(t.Context(), pod(ordinal)); err != nil {
					t.Fatal(err)
				}
			}
			err := h.all(t.Context(), actions)
			if (err != nil) != tc.fails || !ears.Has(tc.tells) {
				t.Errorf("error %v, events %v", err, ears.Lines)
			}
			if tc.fails && asked.Load() > firstAtOnce {
				t.Errorf("asked %d times although all were refused", asked.Load())
			}
			var left corev1.PodList
			if err := h.Client.List(t.Context(), &left); err != nil || len(left.Items) != tc.left {
				t.Errorf("%d pods are left: %v", len(left.Items), err)
			}
		})
	}
}

// TestManyAtOnce: a few pods are created concurrently at first, and many after successes. An API server without room for
// them refuses early.
func TestManyAtOnce(t *testing.T) {
	for pods, first := range map[int]int64{1: 1, 5: 5, 30: firstAtOnce, 1000: firstAtOnce} {
		t.Run(fmt.Sprintf("K-024 Parallel, %d pods", pods), func(t *testing.T) {
			var running, most, made atomic.Int64
			proceed := make(chan struct{})
			h, _ := newControl(t, interceptor.Funcs{Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				made.Add(1)
				select {
				case <-proceed:
				case <-ctx.Done():
				}
				return ctx.Err()
			}})
			h.Set.Spec.VolumeClaimTemplates = nil
			var actions []decide.Action
			for ordinal := range int32(pods) {
				actions = append(actions, decide.Action{Verb: decide.Create, Ordinal: ordinal, Revision: "r1"})
			}
			done := make(chan error)
			go func() { done <- h.all(t.Context(), actions) }()
			begun := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return running.Load() == first, nil })
			if begun != nil || made.Load() != first {
				t.Errorf("%d are made at first, want %d", made.Load(), first)
			}
			close(proceed)
			if err := <-done; err != nil || made.Load() != int64(pods) || most.Load() > mostAtOnce {
				t.Errorf("%d were made, %d at once: %v", made.Load(), most.Load(), err)
			}
		})
	}
}

// TestReadyMeanwhile: a pod that is not Ready is taken down without the budget. If it has become Ready since it was
// observed, no write reaches it in this pass.
func TestReadyMeanwhile(t *testing.T) {
	judged := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "u"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: api.InPlaceUpdateReady}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for name, do := range map[string]func(*PodControl) error{
		"its gate is opened": func(h *PodControl) error { return h.all(t.Context(), h.gates(nil)) },
		"it is told to go": func(h *PodControl) error {
			return h.all(t.Context(), []decide.Action{{Verb: decide.Announce, UID: "u", Reason: "Update"}})
		},
		"it is deleted": func(h *PodControl) error {
			return h.all(t.Context(), []decide.Action{{Verb: decide.Delete, UID: "u", Reason: "Update"}})
		},
		"it is told, and goes": func(h *PodControl) error {
			return h.all(t.Context(), []decide.Action{{Verb: decide.Announce, UID: "u", Reason: "Update"}, {Verb: decide.Delete, UID: "u", Reason: "Update"}})
		},
		"it is updated in place": func(h *PodControl) error {
			return h.all(t.Context(), []decide.Action{{Verb: decide.BeginInPlace, UID: "u", Revision: "r1"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newControl(t, interceptor.Funcs{}, judged.DeepCopy())
			h.Client = fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(judged.DeepCopy()).WithStatusSubresource(&corev1.Pod{}).Build()
			now := &corev1.Pod{}
			if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(judged), now); err != nil {
				t.Fatal(err)
			}
			h.pods[0] = now.DeepCopy()
			now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			if err := h.Client.Status().Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if err := do(h); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			after := &corev1.Pod{}
			if err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(judged), after); err != nil || after.ResourceVersion != now.ResourceVersion {
				t.Errorf("it was changed: %v, %v", after, err)
			}
		})
	}
}
