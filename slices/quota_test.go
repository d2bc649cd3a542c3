package slices

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// quota refuses to create a pod while the maximum number of pods exists.
func (s *stage) quota(most int) {
	s.refuse = func(verb string, o client.Object) error {
		if _, is := o.(*corev1.Pod); is && verb == "create" && len(s.pods()) >= most {
			return errQuota
		}
		return nil
	}
}

// available counts the Ready pods of the set, whichever ordinals they have.
func (s *stage) available() (count int) {
	s.t.Helper()
	for _, pod := range s.pods() {
		if is, _ := observe.Readiness(pod); is {
			count++
		}
	}
	return count
}

// arrived reports whether the pods of a range are available, and no others exist.
func (s *stage) arrived(start, replicas int32) bool {
	s.t.Helper()
	pods := s.pods()
	for ordinal := start; ordinal < start+replicas; ordinal++ {
		if pods[observe.PodName("web", ordinal)] == nil {
			return false
		}
	}
	return len(pods) == int(replicas) && s.available() == len(pods)
}

// TestY5DeletesFirstWhereCreationsAreRefused: a range changes under a full quota. Where the API server refuses new pods, the
// pods that the slice no longer owns make room for them, and no more pods are unavailable than the budget allows.
func TestY5DeletesFirstWhereCreationsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas, to, start int32
		quota               int
		lost                []string
		most                int32
	}{
		"kubernetes#140858: a scale-down, and pods that stay are lost": {replicas: 5, to: 3, quota: 3, lost: []string{"web-0", "web-1"}, most: 1},
		"a scale-down, and all that stay are lost":                     {replicas: 6, to: 3, quota: 3, lost: []string{"web-0", "web-1", "web-2"}, most: 2},
		"a range that moves by more than it has":                       {replicas: 6, to: 6, start: 20, quota: 6, most: 1},
		"a range that moves, four at a time":                           {replicas: 12, to: 12, start: 20, quota: 12, most: 4},
		"a range that moves by half":                                   {replicas: 6, to: 6, start: 3, quota: 6, most: 1},
		"a range that moves and shrinks":                               {replicas: 6, to: 2, start: 9, quota: 3, most: 1},
	} {
		for _, policy := range []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement} {
			t.Run(fmt.Sprintf("%s, %s", name, policy), func(t *testing.T) {
				s := newStage(t, tc.replicas)
				s.change(func(spec *api.StatefulSetSpec) {
					spec.PodManagementPolicy, spec.UpdateStrategy.RollingUpdate.MaxUnavailable = policy, new(intstr.FromInt32(tc.most))
				})
				if err := s.passes(40); err != nil || s.available() != int(tc.replicas) {
					t.Fatalf("%d pods serve: %v", s.available(), err)
				}
				for _, name := range tc.lost {
					s.happen("lost", name)
				}
				s.quota(tc.quota)
				least := min(s.available(), int(tc.to-tc.most))
				s.change(func(spec *api.StatefulSetSpec) {
					spec.Replicas, spec.Ordinals = new(tc.to), &api.Ordinals{Start: tc.start}
				})
				for range 80 {
					if _ = s.passes(1); s.arrived(tc.start, tc.to) {
						break
					}
					if got := s.available(); got < least {
						t.Fatalf("%d pods are available, of at least %d", got, least)
					}
				}
				if !s.arrived(tc.start, tc.to) {
					t.Errorf("%d of %d pods are available: %s", s.available(), len(s.pods()), s.condition(api.ConditionHeld).Message)
				}
			})
		}
	}
}

// TestY5CreatesFirst: pods are deleted first only where creations are refused, and only within the budget.
func TestY5CreatesFirst(t *testing.T) {
	s := newStage(t, 3)
	s.change(func(spec *api.StatefulSetSpec) { spec.PodManagementPolicy = appsv1.ParallelPodManagement })
	if err := s.passes(10); err != nil || s.available() != 3 {
		t.Fatalf("%d pods serve: %v", s.available(), err)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.Ordinals = &api.Ordinals{Start: 10} })
	for range 20 {
		_ = s.passes(1)
		if got := s.available(); got < 3 {
			t.Fatalf("%d pods are available while none is refused", got)
		}
	}
	s.refuse = refusesImage("a:1")
	s.change(func(spec *api.StatefulSetSpec) { spec.Ordinals = &api.Ordinals{Start: 20} })
	_ = s.passes(50)
	if got := s.available(); got != 2 {
		t.Errorf("%d pods are available, with a budget of one and no pod that is created", got)
	}
}
