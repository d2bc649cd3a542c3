package slices

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestToldOfWrites: each write of a pod is reported with a reason of apps/v1 or OpenKruise, in a text that names the pod. A
// refusal is a condition too, unless it is a conflict.
func TestToldOfWrites(t *testing.T) {
	quota := errors.New("no room")
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "web-0", errors.New("changed"))
	update := func(verb decide.Verb) decide.Action {
		return decide.Action{Verb: verb, UID: "u", Revision: "r1", Reason: api.TerminationUpdate}
	}
	for name, tc := range map[string]struct {
		action  decide.Action
		refused error
		// phase is that of the pod. Empty means that there is no pod.
		phase corev1.PodPhase
		want  []string
		says  string
	}{
		"K-171 created":           {action: decide.Action{Verb: decide.Create, Revision: "r1"}, want: []string{"Normal SuccessfulCreate: created pod web-0"}},
		"K-171 R-081 not created": {action: decide.Action{Verb: decide.Create, Revision: "r1"}, refused: quota, want: []string{"Warning FailedCreate: claims of pod web-0: creating claim data-web-0: no room"}, says: api.ConditionFailedCreatePod},
		"K-171 deleted":           {action: update(decide.Delete), phase: corev1.PodRunning, want: []string{"Normal SuccessfulDelete: deleted pod web-0 (Update)"}},
		"deleted, it has ended":   {action: decide.Action{Verb: decide.Delete, UID: "u"}, phase: corev1.PodFailed, want: []string{"Normal SuccessfulDelete: deleted pod web-0 (it has ended)"}},
		"K-171 R-081 not deleted": {action: update(decide.Delete), phase: corev1.PodRunning, refused: quota, want: []string{"Warning FailedDelete: pod web-0: no room"}, says: api.ConditionFailedUpdatePod},
		"X-21 not announced":      {action: update(decide.Announce), phase: corev1.PodRunning, refused: quota, says: api.ConditionFailedUpdatePod},
		"X-21 not relabelled":     {action: update(decide.Relabel), phase: corev1.PodRunning, refused: quota, says: api.ConditionFailedUpdatePod},
		"X-21 not repaired":       {action: update(decide.Repair), phase: corev1.PodRunning, refused: quota, says: api.ConditionFailedUpdatePod},
		"R-081 updated in place":  {action: update(decide.FinishInPlace), phase: corev1.PodRunning, want: []string{"Normal SuccessfulUpdatePodInPlace: updated pod web-0 in place"}},
		"R-081 not begun":         {action: update(decide.BeginInPlace), phase: corev1.PodRunning, refused: quota, want: []string{"Warning FailedUpdatePodInPlace: pod web-0: no room"}, says: api.ConditionFailedUpdatePod},
		"R-081 not patched":       {action: update(decide.PatchInPlace), phase: corev1.PodRunning, refused: quota, want: []string{"Warning FailedUpdatePodInPlace: pod web-0: no room"}, says: api.ConditionFailedUpdatePod},
		"patched meanwhile":       {action: update(decide.PatchInPlace), phase: corev1.PodRunning, refused: conflict},
		"the claim stays small":   {action: update(decide.GrowClaims), phase: corev1.PodRunning, refused: quota, want: []string{"Warning FailedUpdatePVC: claim data-web-0: no room"}, says: api.ConditionFailedUpdatePod},
	} {
		t.Run(name, func(t *testing.T) {
			fails := interceptor.Funcs{}
			if tc.refused != nil {
				fails = clustertest.Failing(tc.refused, "create", "delete", "patch")
			}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "web-0", UID: "u", Labels: map[string]string{appsv1.StatefulSetRevisionLabel: "r1"},
					Annotations: map[string]string{api.InPlaceUpdateAnnotationKey: `{"revision":"r1"}`},
				},
				Status: corev1.PodStatus{Phase: tc.phase},
			}
			var objects []client.Object
			if tc.phase != "" {
				objects = append(objects, pod)
			}
			ears, pods := &slicetest.Heard{}, map[int32]*corev1.Pod{}
			server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(objects...).WithInterceptorFuncs(fails).Build()
			for _, object := range objects {
				if err := server.Get(t.Context(), client.ObjectKeyFromObject(object), pod); err != nil {
					t.Fatal(err)
				}
				pods[0] = pod
			}
			set, claims := slicetest.NamedSet("web", map[string]string{"app": "web"}), map[string]*corev1.PersistentVolumeClaim{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			if tc.action.Verb == decide.GrowClaims {
				claims["data-web-0"] = observe.NewClaim(set, &set.Spec.VolumeClaimTemplates[0], 0)
				claims["data-web-0"].Status.Phase = corev1.ClaimBound
				set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
			}
			objectsSeen := observe.Seen{Set: set, Claims: claims, Templates: map[string]*corev1.PodTemplateSpec{"r1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}}}
			writer := execute.Writer{Client: server, Live: server, Events: ears, Expectations: execute.NewExpectations(), Now: func() time.Time { return slicetest.Noon }}
			h := writer.For(objectsSeen, pods)
			failed := h.Execute(t.Context(), decide.Decision{Actions: []decide.Action{tc.action}})
			if !errors.Is(failed, tc.refused) {
				t.Errorf("error %v", failed)
			}
			if diff := cmp.Diff(tc.want, ears.Lines); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			status := statusOf(h.Seen, decide.Input{}, decide.Decision{}, failed)
			for _, kind := range []string{api.ConditionFailedCreatePod, api.ConditionFailedUpdatePod} {
				said := meta.FindStatusCondition(status.Conditions, kind)
				if (said != nil) != (kind == tc.says) || said != nil && !strings.Contains(said.Message, "pod shop/web-0: ") {
					t.Errorf("condition %s: %+v", kind, said)
				}
			}
		})
	}
}

// rollingSet returns shop/web as it is after the controller has seen it.
func rollingSet() *api.StatefulSet {
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Finalizers = []string{api.Finalizer}
	set.Spec.UpdateStrategy.Type = api.RollingUpdate
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	return set
}

// serve returns the client of an API server with a set and other objects, whose requests call funcs.
func serve(t *testing.T, set *api.StatefulSet, funcs interceptor.Funcs, others ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(append(others, set)...).WithStatusSubresource(set, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}).
		WithIndex(&corev1.Pod{}, execute.OwnerIndex, execute.OwnerOf).WithIndex(&corev1.Pod{}, metav1.ObjectNameField, nameOf).WithInterceptorFuncs(funcs).Build()
}

func newReconciler(server client.WithWatch, ears *slicetest.Heard, clock *testingclock.FakePassiveClock) *Reconciler {
	return &Reconciler{Client: server, Live: server, Clock: clock, expectations: execute.NewExpectations(), told: newModerate(ears, clock), memory: map[types.NamespacedName]memory{}}
}

// TestBothFail: a pass in which both the write of a pod and the write of the status fail.
func TestBothFail(t *testing.T) {
	t.Run("K-025: both errors are returned, and the status was written once", func(t *testing.T) {
		set, noPod, noStatus, writes := rollingSet(), errors.New("no room"), errors.New("out of order"), 0
		server := serve(t, set, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, isPod := o.(*corev1.Pod); isPod {
					return noPod
				}
				return c.Create(ctx, o, opts...)
			},
			SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				writes++
				return noStatus
			},
		})
		_, err := newReconciler(server, &slicetest.Heard{}, testingclock.NewFakePassiveClock(slicetest.Noon)).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
		if !errors.Is(err, noPod) || !errors.Is(err, noStatus) || writes != 1 {
			t.Errorf("%d writes of the status: %v", writes, err)
		}
	})
}

// TestConflictIsNotTold: a pod that has changed since it was observed is reconciled again soon, and only its update is
// reported, once.
func TestConflictIsNotTold(t *testing.T) {
	t.Run("K-169: it is written in the next pass, and told of once", func(t *testing.T) {
		set := rollingSet()
		set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: api.InPlaceUpdateReady}}
		changed, ears, clock := true, &slicetest.Heard{}, testingclock.NewFakePassiveClock(slicetest.Noon)
		server := serve(t, set, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if _, isPod := o.(*corev1.Pod); isPod && changed {
					changed = false
					return apierrors.NewConflict(corev1.Resource("pods"), o.GetName(), errors.New("changed"))
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
		r := newReconciler(server, ears, clock)
		reconcile := func() ctrl.Result {
			t.Helper()
			clock.SetTime(clock.Now().Add(tellEvery))
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		reconcile() // creates the pod
		pod := &corev1.Pod{}
		if err := server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-0"}, pod); err != nil {
			t.Fatal(err)
		}
		patched := clock.Now()
		note, err := json.Marshal(observe.ProgressInPlace{Revision: pod.Labels[appsv1.StatefulSetRevisionLabel], Patched: &patched})
		if err != nil {
			t.Fatal(err)
		}
		pod.UID, pod.Annotations = "u", map[string]string{api.InPlaceUpdateAnnotationKey: string(note)}
		if err := server.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: api.InPlaceUpdateReady, Status: corev1.ConditionFalse}}}
		if err := server.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		ears.Lines = nil
		if result := reconcile(); result.RequeueAfter != retryChanged || changed || len(ears.Lines) > 0 {
			t.Errorf("after a conflict: %+v, events %v", result, ears.Lines)
		}
		reconcile()
		if !slices.Equal(ears.Lines, []string{"Normal SuccessfulUpdatePodInPlace: updated pod web-0 in place"}) {
			t.Errorf("events %v", ears.Lines)
		}
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || observe.InPlaceOf(pod) != nil || observe.GateOf(pod) != corev1.ConditionTrue {
			t.Errorf("the pod is not done: %v, %v", pod.Annotations, err)
		}
	})
}

// nameOf returns the index value metadata.name of an object.
func nameOf(object client.Object) []string { return []string{object.GetName()} }
