package slices

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// newStageWithin returns a stage whose set keeps its PodDisruptionBudgets, and whose API server evicts a pod only while the
// status of the budget web allows it.
func newStageWithin(t *testing.T, n int32, edit func(*api.StatefulSetSpec), budgets ...client.Object) *stage {
	t.Helper()
	s := newStage(t, n, budgets...)
	s.change(func(spec *api.StatefulSetSpec) {
		spec.PodManagementPolicy = appsv1.ParallelPodManagement
		rolling := spec.UpdateStrategy.RollingUpdate
		rolling.MaxUnavailable, rolling.Budget = new(intstr.FromInt32(n)), api.BudgetPodDisruptionBudget
		if edit != nil {
			edit(spec)
		}
	})
	hooks := clustertest.Before(s.asks)
	hooks.SubResourceCreate = func(ctx context.Context, c client.Client, sub string, o, body client.Object, options ...client.SubResourceCreateOption) error {
		if err := s.grant(o.GetName()); err != nil {
			return err
		}
		return c.SubResource(sub).Create(ctx, o, body, options...)
	}
	server, is := s.server.(client.WithWatch)
	if !is {
		t.Fatal("the fake API server has no watch")
	}
	s.r.Client = interceptor.NewClient(server, hooks)
	if err := s.passes(10); err != nil || s.serves("a:1") != int(n) {
		t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
	}
	return s
}

// grant is the part of the eviction subresource that checks the budget web.
func (s *stage) grant(pod string) error {
	budget := s.budget()
	if budget == nil {
		return nil
	}
	if budget.Status.DisruptionsAllowed == 0 {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web allows none"}}
		return err
	}
	budget.Status.DisruptionsAllowed--
	if budget.Status.DisruptedPods == nil {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	budget.Status.DisruptedPods[pod] = metav1.NewTime(s.clock.Now())
	return s.server.Status().Update(s.ctx, budget)
}

func (s *stage) budget() *policyv1.PodDisruptionBudget {
	s.t.Helper()
	budget := &policyv1.PodDisruptionBudget{}
	err := s.server.Get(s.ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "web"}, budget)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	return budget
}

// judge computes the status of the budget web like the disruption controller.
func (s *stage) judge(most int32) {
	s.t.Helper()
	budget := s.budget()
	pods, replicas := s.pods(), *s.set().Spec.Replicas
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, ExpectedPods: replicas, DesiredHealthy: replicas - most, DisruptedPods: map[string]metav1.Time{}}
	for name, pod := range pods {
		at, disrupted := budget.Status.DisruptedPods[name]
		if disrupted = disrupted && s.clock.Now().Sub(at.Time) < 2*time.Minute && pod.DeletionTimestamp == nil; disrupted {
			status.DisruptedPods[name] = at
		}
		if is, _ := observe.Readiness(pod); is && !disrupted && pod.DeletionTimestamp == nil {
			status.CurrentHealthy++
		}
	}
	status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	allowed := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason, LastTransitionTime: metav1.NewTime(s.clock.Now())}
	if status.DisruptionsAllowed == 0 {
		allowed.Status, allowed.Reason = metav1.ConditionFalse, policyv1.InsufficientPodsReason
		if was := budget.Status.Conditions; len(was) > 0 && was[0].Status == metav1.ConditionFalse {
			allowed.LastTransitionTime = was[0].LastTransitionTime
		}
	}
	status.Conditions = []metav1.Condition{allowed}
	budget.Status = status
	if err := s.server.Status().Update(s.ctx, budget); err != nil {
		s.t.Fatalf("%v", err)
	}
}

func webBudget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
}

// healthy counts the Ready pods.
func (s *stage) healthy() int { return s.available() }

// TestRollsOutWithinABudget: a roll-out with a large maxUnavailable keeps the smaller PodDisruptionBudget, by eviction and in
// place, and leaves no charge.
func TestRollsOutWithinABudget(t *testing.T) {
	for _, policy := range []api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible} {
		t.Run(fmt.Sprintf("kubernetes#89820 %s", policy), func(t *testing.T) {
			s := newStageWithin(t, 4, func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = policy }, webBudget())
			s.judge(1)
			s.image("b:1")
			for range 80 {
				if _, err := s.pass(); err != nil {
					t.Fatal(err)
				}
				if got := s.healthy(); got < 3 {
					t.Fatalf("%d of 4 pods are Ready", got)
				}
				s.finishInPlace()
				s.kubelets()
				s.judge(1)
			}
			if status := s.budget().Status; s.serves("b:1") != 4 || status.DisruptionsAllowed != 1 || len(status.DisruptedPods) > 0 {
				t.Errorf("%d pods are updated, budget %+v, held %+v", s.serves("b:1"), status, s.condition(api.ConditionHeld))
			}
		})
	}
}

// finishInPlace reports that the containers of all pods run their images.
func (s *stage) finishInPlace() {
	s.t.Helper()
	for _, pod := range s.pods() {
		image := pod.Spec.Containers[0].Image
		pod.Status.ObservedGeneration = pod.Generation
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", Image: image, ImageID: "id-of-" + image, ContainerID: "of-" + image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.clock.Now())}}, Ready: true}}
		if err := s.server.Status().Update(s.ctx, pod); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
}

// TestNamesTheBudget: a PodDisruptionBudget that never allows a disruption holds the roll-out. It is named in the condition
// with the remedy, in one event and in the metrics, and it is not asked again and again.
func TestNamesTheBudget(t *testing.T) {
	s := newStageWithin(t, 3, nil, webBudget())
	s.judge(0)
	evictions := 0
	s.refuse = func(verb string, o client.Object) error {
		if _, is := o.(*corev1.Pod); is && verb == "delete" {
			evictions++
		}
		return nil
	}
	s.image("b:1")
	_ = s.passes(200)
	held := s.condition(api.ConditionHeld)
	if held == nil || held.Status != metav1.ConditionTrue || held.Reason != decide.HeldDisruption ||
		!strings.Contains(held.Message, "PodDisruptionBudget web allows 0 disruptions since 2026-01-01T12:00:") || !strings.Contains(held.Message, "raise its maxUnavailable") {
		t.Errorf("condition %+v", held)
	}
	told := 0
	for _, line := range s.ears.Lines {
		told += strings.Count(line, "HeldByDisruptionBudget")
	}
	if evictions > 0 || told != 1 || s.serves("a:1") != 3 {
		t.Errorf("%d deletions, %d events, %d pods serve", evictions, told, s.serves("a:1"))
	}
	if c := s.condition(api.ConditionStalled); c != nil {
		t.Errorf("the revision is blamed: %+v", c)
	}
	for range 40 {
		s.judge(1)
		_ = s.passes(1)
	}
	if c := s.condition(api.ConditionHeld); s.serves("b:1") != 3 || c.Status != metav1.ConditionFalse {
		t.Errorf("%d pods are updated: %+v", s.serves("b:1"), c)
	}
}

// TestRefusedEvictionIsNamed: where the status of the budget is late, the API server's answer holds the pod for five seconds.
func TestRefusedEvictionIsNamed(t *testing.T) {
	s := newStageWithin(t, 3, nil, webBudget())
	s.judge(1)
	asked := 0
	hooks := clustertest.Before(s.asks)
	hooks.SubResourceCreate = func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
		asked++
		err := apierrors.NewTooManyRequests("no", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web is still being processed by the server."}}
		return err
	}
	server, _ := s.server.(client.WithWatch)
	s.r.Client, s.step = interceptor.NewClient(server, hooks), time.Second
	s.image("b:1")
	if err := s.passes(60); err != nil {
		t.Errorf("a refusal is an error: %v", err)
	}
	if held := s.condition(api.ConditionHeld); held == nil || !strings.Contains(held.Message, "still being processed") {
		t.Errorf("condition %+v", held)
	}
	if asked < 6 || asked > 15 {
		t.Errorf("asked %d times in a minute", asked)
	}
	if c := s.condition(api.ConditionFailedUpdatePod); c != nil {
		t.Errorf("a refusal is a failure: %+v", c)
	}
	if !s.ears.Has("HeldByDisruptionBudget") {
		_ = s.passes(10)
		if !s.ears.Has("HeldByDisruptionBudget") {
			t.Errorf("no event tells of it: %v", s.ears.Lines)
		}
	}
}

// TestScalesDownPastTheBudget: neither a scale-down nor a pod that has ended needs the budget.
func TestScalesDownPastTheBudget(t *testing.T) {
	s := newStageWithin(t, 3, nil, webBudget())
	s.judge(0)
	s.change(func(spec *api.StatefulSetSpec) { spec.Replicas = new(int32(2)) })
	_ = s.passes(5)
	if len(s.pods()) != 2 {
		t.Errorf("%d pods are left", len(s.pods()))
	}
	former := s.pods()["web-1"].UID
	s.happen("failed", "web-1")
	_ = s.passes(10)
	if now := s.pods()["web-1"]; now == nil || now.UID == former {
		t.Error("a pod that has ended is not replaced")
	}
}

// TestRollsOutZoneByZone: the zones of the nodes bound the roll-out. A label that no node has is named in an event.
func TestRollsOutZoneByZone(t *testing.T) {
	var nodes []client.Object
	for ordinal, zone := range []string{"a", "b", "a", "b"} {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", ordinal), Labels: map[string]string{"zone": zone}}})
	}
	for key, want := range map[string]struct{ most, events int }{"zone": {2, 0}, "area": {1, 1}} {
		t.Run("kubernetes#114010 "+key, func(t *testing.T) {
			s := newStage(t, 4, nodes...)
			s.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy = appsv1.ParallelPodManagement
				rolling := spec.UpdateStrategy.RollingUpdate
				rolling.MaxUnavailable, rolling.TopologyKey = new(intstr.FromInt32(4)), key
			})
			s.schedules()
			for range 5 {
				_ = s.passes(1)
				s.schedules()
			}
			s.image("b:1")
			down := 0
			for range 40 {
				if _, err := s.pass(); err != nil {
					t.Fatal(err)
				}
				down = max(down, 4-s.healthy())
				zones := map[int]bool{}
				for ordinal := range 4 {
					pod := s.pods()[observe.PodName("web", int32(ordinal))]
					if pod == nil {
						zones[ordinal%2] = true
					} else if is, _ := observe.Readiness(pod); !is {
						zones[ordinal%2] = true
					}
				}
				if len(zones) > 1 {
					t.Fatal("pods of two zones are down")
				}
				s.schedules()
				s.kubelets()
			}
			events := 0
			for _, line := range s.ears.Lines {
				events += strings.Count(line, "TopologyKeyMissing: no node of the pods has the label area")
			}
			if s.serves("b:1") != 4 || down != want.most || events != want.events {
				t.Errorf("%d pods are updated, %d were down at a time, %d events; held %+v", s.serves("b:1"), down, events, s.condition(api.ConditionHeld))
			}
		})
	}
}

// schedules binds each pod to the node of its ordinal.
func (s *stage) schedules() {
	s.t.Helper()
	for _, pod := range s.pods() {
		if ordinal, is := observe.OrdinalOf("web", pod.Name); is && pod.Spec.NodeName == "" {
			pod.Spec.NodeName = fmt.Sprint("node-", ordinal)
			if err := s.server.Update(s.ctx, pod); err != nil {
				s.t.Fatalf("%v", err)
			}
		}
	}
}
