package suite

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// The tests of this file have replicas whose readiness probe fails, and passes again.

// aWhile is how long a state must hold.
const aWhile = 10 * time.Second

// TestOneAfterTheOther: with OrderedReady, no pod is created while another is not Ready, and none is deleted while no
// pod is Ready. A deleted pod is recreated all the same.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	u := deployOurs(t, usual())
	u.step("K-004: one is deleted while another is not Ready", func(*testing.T) {
		u.must(u.tell(pair.East, "web-1", "sick"))
		u.must(u.awaitPod(pair.East, "web-1", func(pod *corev1.Pod) bool { return !fixture.IsReady(pod) }))
		before := u.pods()["web-0"].UID
		u.must(pair.East.Client.CoreV1().Pods(u.app.namespace).Delete(u.ctx, "web-0", metav1.DeleteOptions{}))
		u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool { return pod.UID != before && fixture.IsReady(pod) }))
		u.must(u.tell(pair.East, "web-1", "well"))
	})
	u.scale(1)
	u.become(1)

	u.must(u.tell(pair.East, "web-0", "sick"))
	u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool { return !fixture.IsReady(pod) }))
	seen := u.follow()
	u.step("K-001, K-006: none is made beside one that is not Ready", func(*testing.T) {
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Replicas = ptr.To[int32](3) })
		u.stays(1)
	})
	u.step("K-001, K-005, K-007: then one after the other", func(t *testing.T) {
		u.must(u.tell(pair.East, "web-0", "well"))
		u.must(awaitSlice(u.ctx, u.client, u.key))
		if made := seen.names(&seen.made); !slices.Equal(made, []string{"web-1", "web-2"}) {
			t.Errorf("made in the order %v", made)
		}
	})
	u.step("K-008: none is deleted while none is Ready", func(*testing.T) {
		u.all("sick")
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.ReadyReplicas == 0 }))
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Replicas = ptr.To[int32](0) })
		u.stays(3)
	})
	u.step("K-009: then the highest first", func(t *testing.T) {
		u.all("well")
		u.become(0)
		if gone := seen.names(&seen.gone); !slices.Equal(gone, []string{"web-2", "web-1", "web-0"}) {
			t.Errorf("deleted in the order %v", gone)
		}
	})
}

// TestAllAtOnce: with Parallel, no pod waits for another.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("K-010: one is sick", func(t *testing.T) {
		a := usual()
		a.parallel = true
		u := deployOurs(t, a)
		u.scale(1)
		u.must(u.tell(pair.East, "web-0", "sick"))
		u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool { return !fixture.IsReady(pod) }))
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Replicas = ptr.To[int32](3) })
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.Replicas == 3 && s.ReadyReplicas == 2 }))
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Replicas = ptr.To[int32](0) })
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.Replicas == 0 }))
	})
}

// TestMinReadySeconds: a replica is available after it has been Ready for minReadySeconds.
func TestMinReadySeconds(t *testing.T) {
	t.Parallel()
	a := usual()
	a.parallel = true
	u := deployOurs(t, a)
	available := func(n int32) func(sliceapi.StatefulSetStatus) bool {
		return func(s sliceapi.StatefulSetStatus) bool { return s.ReadyReplicas == 3 && s.AvailableReplicas == n }
	}
	minReady := func(seconds int32) {
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.MinReadySeconds = seconds })
	}
	u.step("K-090: at once without it", func(*testing.T) { u.must(u.awaitStatus(available(3))) })
	u.step("K-092: it is raised, and taken away", func(*testing.T) {
		minReady(3600)
		u.must(u.awaitStatus(available(0)))
		minReady(0)
		u.must(u.awaitStatus(available(3)))
	})
	u.scale(0)
	u.step("K-091: not before they have been Ready for so long", func(t *testing.T) {
		const seconds = 15
		begin := time.Now()
		u.edit(func(set *sliceapi.StatefulSet) {
			set.Spec.Replicas, set.Spec.MinReadySeconds = ptr.To[int32](3), seconds
		})
		u.must(u.awaitStatus(available(0)))
		u.must(u.awaitStatus(available(3)))
		if took := time.Since(begin); took < seconds*time.Second {
			t.Errorf("available after %s", took)
		}
	})
}

// TestEvictionOfTheSick: the policy of the PodDisruptionBudget decides which replicas that are not Ready may be
// evicted.
func TestEvictionOfTheSick(t *testing.T) {
	t.Parallel()
	always, healthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	for title, tc := range map[string]struct {
		policy *policyv1.UnhealthyPodEvictionPolicyType
		sick   bool
		want   int
	}{
		"well":                  {nil, false, 1},
		"well, IfHealthyBudget": {&healthy, false, 1},
		"well, AlwaysAllow":     {&always, false, 1},
		"sick":                  {nil, true, 0},
		"sick, IfHealthyBudget": {&healthy, true, 0},
		"sick, AlwaysAllow":     {&always, true, 3},
	} {
		t.Run("K-249 K-251 "+title, func(t *testing.T) {
			t.Parallel()
			u := deployOurs(t, usual())
			budgets := pair.East.Client.PolicyV1().PodDisruptionBudgets(u.app.namespace)
			u.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controller may write its status at the same time
				budget, err := budgets.Get(u.ctx, name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				budget.Spec.UnhealthyPodEvictionPolicy, budget.Spec.MaxUnavailable = tc.policy, new(intstr.FromInt32(1))
				_, err = budgets.Update(u.ctx, budget, metav1.UpdateOptions{})
				return err
			}))
			healthyPods := int32(3)
			if tc.sick {
				u.all("sick")
				healthyPods = 0
			}
			u.must(pollUntil(u.ctx, func(ctx context.Context) (bool, error) {
				budget, err := budgets.Get(ctx, name, metav1.GetOptions{})
				return err == nil && budget.Status.ObservedGeneration == budget.Generation && budget.Status.CurrentHealthy == healthyPods, err
			}))
			evicted := 0
			for _, pod := range u.app.pods() {
				err := pair.East.Client.PolicyV1().Evictions(u.app.namespace).Evict(u.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: u.app.namespace, Name: pod}})
				if err == nil {
					evicted++
				} else if !apierrors.IsTooManyRequests(err) {
					t.Error(err)
				}
			}
			if evicted != tc.want {
				t.Errorf("%d of 3 were evicted, want %d", evicted, tc.want)
			}
		})
	}
}

// TestImageThatNeverComes: a rollout to an image that does not exist stops at the limit of the budget. The next
// rollout repairs all pods, both one by one and all at once.
func TestImageThatNeverComes(t *testing.T) {
	t.Parallel()
	for title, most := range map[string]intstr.IntOrString{"one by one": intstr.FromInt32(1), "all at once": intstr.FromString("100%")} {
		t.Run("R-041 R-122 D-046 "+title, func(t *testing.T) {
			t.Parallel()
			a := usual()
			a.parallel = true
			u := deployOurs(t, a)
			down := map[bool]int32{true: 1, false: 3}[most.Type == intstr.Int]
			u.edit(func(set *sliceapi.StatefulSet) {
				set.Spec.UpdateStrategy.RollingUpdate = &sliceapi.RollingUpdateStrategy{MaxUnavailable: &most}
				set.Spec.Template.Spec.Containers[0].Image = image + "-that-never-comes"
			})
			u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.UpdatedReplicas == down && s.ReadyReplicas == 3-down }))
			if most.Type == intstr.Int {
				u.remain(func(s sliceapi.StatefulSetStatus) bool { return s.ReadyReplicas == 2 })
			}
			u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = image2 })
			u.must(awaitSlice(u.ctx, u.client, u.key))
			u.journals(pair.East)
		})
	}
}

// all posts to the page of every replica that makes it sick, or well.
func (u *updating) all(how string) {
	u.t.Helper()
	for _, pod := range u.app.pods() {
		u.must(u.tell(pair.East, pod, how))
	}
}

// become waits until the number of pods, including terminating ones, is as given.
func (u *updating) become(pods int) {
	u.t.Helper()
	u.must(pollUntil(u.ctx, func(context.Context) (bool, error) { return len(u.pods()) == pods, nil }))
}

// stays checks that the number of pods is as given for a while.
func (u *updating) stays(pods int) {
	u.t.Helper()
	u.hold(func() bool { return len(u.pods()) == pods })
}

// remain checks that a status holds for a while.
func (u *updating) remain(as func(sliceapi.StatefulSetStatus) bool) {
	u.t.Helper()
	set := &sliceapi.StatefulSet{}
	u.hold(func() bool { return u.client.Get(u.ctx, u.key, set) != nil || as(set.Status) })
}

func (u *updating) hold(condition func() bool) {
	u.t.Helper()
	err := wait.PollUntilContextTimeout(u.ctx, poll, aWhile, true, func(context.Context) (bool, error) { return !condition(), nil })
	if err == nil {
		u.t.Errorf("it did not stay: %v", u.pods())
	}
}

// sequence records the order in which pods were created, and in which their deletion began.
type sequence struct {
	mu         sync.Mutex
	made, gone []string
}

func (s *sequence) names(of *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*of)
}

// follow records the creations and deletions of pods from now on.
func (u *updating) follow() *sequence {
	u.t.Helper()
	known := u.pods()
	events, err := pair.East.Client.CoreV1().Pods(u.app.namespace).Watch(u.ctx, metav1.ListOptions{})
	u.must(err)
	s := &sequence{}
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				s.note(pod, known)
			}
		}
	}()
	return s
}

func (s *sequence) note(pod *corev1.Pod, known map[string]corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former, was := known[pod.Name]; (!was || former.UID != pod.UID) && !slices.Contains(s.made, pod.Name) {
		s.made = append(s.made, pod.Name)
	}
	if pod.DeletionTimestamp != nil && !slices.Contains(s.gone, pod.Name) {
		s.gone = append(s.gone, pod.Name)
	}
}
