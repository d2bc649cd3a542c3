package slices

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// budget creates a budget for the pods of the set.
func (p *play) budget(name string, edit func(*policyv1.PodDisruptionBudgetSpec)) {
	p.t.Helper()
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: p.set.Spec.Selector},
	}
	edit(&pdb.Spec)
	p.must(api.Create(p.ctx, pdb))
}

// counts are the fields of a budget's status.
type counts struct{ expected, desired, healthy, allowed int32 }

// judged waits until the disruption controller has these counts.
func (p *play) judged(name string, want counts) {
	p.t.Helper()
	pdb := &policyv1.PodDisruptionBudget{}
	p.eventually(fmt.Sprintf("budget %s says %+v", name, want), func() bool {
		p.must(api.Get(p.ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: name}, pdb))
		s := pdb.Status
		return s.ObservedGeneration == pdb.Generation && counts{s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed} == want
	})
}

// evict requests the eviction of a pod.
func (p *play) evict(pod *corev1.Pod, conditions *metav1.Preconditions) error {
	return api.SubResource("eviction").Create(p.ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: conditions},
	})
}

// TestBudgets: the disruption controller counts our pods by the scale subresource, as it
// counts those of apps/v1.
func TestBudgets(t *testing.T) {
	type at struct {
		replicas int32
		counts   counts
	}
	for _, tc := range []struct {
		name  string
		value intstr.IntOrString
		min   bool
		at    []at
	}{
		{"K-252 K-268 maxUnavailable 2", intstr.FromInt32(2), false, []at{{4, counts{4, 2, 4, 2}}, {7, counts{7, 5, 7, 2}}, {5, counts{5, 3, 5, 2}}, {0, counts{}}}},
		{"K-268 maxUnavailable 30%", intstr.FromString("30%"), false, []at{{4, counts{4, 2, 4, 2}}, {7, counts{7, 4, 7, 3}}, {3, counts{3, 2, 3, 1}}, {0, counts{}}}},
		{"minAvailable 3", intstr.FromInt32(3), true, []at{{4, counts{4, 3, 4, 1}}, {7, counts{7, 3, 7, 4}}, {0, counts{0, 3, 0, 0}}}},
		{"K-263 minAvailable 34%", intstr.FromString("34%"), true, []at{{0, counts{}}, {3, counts{3, 2, 3, 1}}, {7, counts{7, 3, 7, 4}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := slice(tc.at[0].replicas)
			set.Spec.PodManagementPolicy = "Parallel"
			p := begin(t, set)
			p.budget("one", func(s *policyv1.PodDisruptionBudgetSpec) {
				if tc.min {
					s.MinAvailable = &tc.value
				} else {
					s.MaxUnavailable = &tc.value
				}
			})
			for _, at := range tc.at {
				p.scale(at.replicas)
				p.judged("one", at.counts)
			}
		})
	}
}

// TestPodsToCome: a budget counts pods that do not exist yet, so that no pod is evicted while a set grows.
func TestPodsToCome(t *testing.T) {
	set := slice(2)
	set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
	p := newPlay(t, set)
	p.must(api.Create(p.ctx, set))
	p.budget("half", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromString("50%")) })
	p.judged("half", counts{expected: 2, desired: 1})
}

// TestEvictions: the budget grants and refuses evictions, the set replaces evicted pods, and preconditions protect a
// successor.
func TestEvictions(t *testing.T) {
	p := begin(t, slice(3))
	p.step("K-262: another UID, another version", func(t *testing.T) {
		for name, conditions := range map[string]*metav1.Preconditions{"UID": {UID: new(types.UID("another"))}, "version": {ResourceVersion: new("1")}} {
			if err := p.evict(p.pod(0), conditions); !apierrors.IsConflict(err) {
				t.Errorf("evicting a pod with another %s: %v", name, err)
			}
		}
	})
	p.step("K-244: no budget says otherwise", func(*testing.T) {
		gone := p.pod(0)
		p.must(p.evict(gone, nil))
		p.eventually("web-0 is another", func() bool { pod := p.pod(0); return pod != nil && pod.UID != gone.UID })
		p.complete()
	})
	p.budget("two", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromInt32(2)) })
	p.judged("two", counts{3, 2, 3, 1})
	p.step("K-246, K-262: one of three, by its UID, and no other", func(t *testing.T) {
		former := p.pod(2)
		p.hold(former)
		p.must(p.evict(former, &metav1.Preconditions{UID: &former.UID}))
		p.judged("two", counts{3, 2, 2, 0})
		if err := p.evict(p.pod(1), nil); !apierrors.IsTooManyRequests(err) {
			t.Errorf("the second eviction: %v", err)
		}
		p.letGo(2)
		p.eventually("web-2 is another", func() bool { pod := p.pod(2); return pod != nil && pod.UID != former.UID })
		p.judged("two", counts{3, 2, 3, 1})
	})
	p.step("K-245: one of two", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(2)) })
		p.judged("two", counts{2, 2, 2, 0})
		if err := p.evict(p.pod(1), nil); !apierrors.IsTooManyRequests(err) {
			t.Errorf("evicting one of two: %v", err)
		}
	})
}

// hold gives a pod a finalizer, so that it remains when it is deleted; letGo removes it.
func (p *play) hold(pod *corev1.Pod) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
}

func (p *play) letGo(ordinal int32) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}

// TestUnhealthyEvictions: a pod that is not Ready may be evicted only as the policy allows.
func TestUnhealthyEvictions(t *testing.T) {
	always, healthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	for name, tc := range map[string]struct {
		policy *policyv1.UnhealthyPodEvictionPolicyType
		ready  bool
		want   int
	}{
		"Ready":                      {nil, true, 1},
		"Ready, IfHealthyBudget":     {&healthy, true, 1},
		"Ready, AlwaysAllow":         {&always, true, 1},
		"not Ready":                  {nil, false, 0},
		"not Ready, IfHealthyBudget": {&healthy, false, 0},
		"not Ready, AlwaysAllow":     {&always, false, 3},
	} {
		t.Run("K-249 K-251 K-261 "+name, func(t *testing.T) {
			set := slice(3)
			set.Spec.PodManagementPolicy = "Parallel"
			if !tc.ready {
				set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
			}
			p := newPlay(t, set)
			p.must(api.Create(p.ctx, set))
			p.eventually("the pods are there", func() bool { return p.read().Status.Replicas == 3 })
			if !tc.ready {
				p.allSick()
			}
			p.budget("one", func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MaxUnavailable, s.UnhealthyPodEvictionPolicy = new(intstr.FromInt32(1)), tc.policy
			})
			p.judged("one", map[bool]counts{true: {3, 2, 3, 1}, false: {expected: 3, desired: 2}}[tc.ready])
			evicted := 0
			for ordinal := range int32(3) {
				pod := p.pod(ordinal)
				p.hold(pod)
				if err := p.evict(pod, nil); err == nil {
					evicted++
				} else if !apierrors.IsTooManyRequests(err) {
					t.Error(err)
				}
			}
			if evicted != tc.want {
				t.Errorf("%d of 3 were evicted, want %d", evicted, tc.want)
			}
			for ordinal := range int32(3) {
				p.letGo(ordinal)
			}
		})
	}
}

// allSick makes every pod running but not Ready.
func (p *play) allSick() {
	p.t.Helper()
	for _, pod := range p.pods() {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
		p.must(api.Status().Update(p.ctx, &pod))
	}
}

// TestOneBudgetForTwo: one budget over two sets counts the pods of both.
func TestOneBudgetForTwo(t *testing.T) {
	p := begin(t, slice(3))
	p.budget("both", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromString("28%")) })
	p.judged("both", counts{3, 1, 3, 2})
	p.step("K-269: the second", func(*testing.T) {
		other := slice(3)
		other.Namespace, other.Name = p.set.Namespace, "other"
		p.must(api.Create(p.ctx, other))
		p.judged("both", counts{6, 2, 6, 4})
	})
}

// TestHorizontalPodAutoscaler: a HorizontalPodAutoscaler scales the set. It selects the pods by the selector of the
// scale subresource.
func TestHorizontalPodAutoscaler(t *testing.T) {
	p := begin(t, slice(1))
	p.step("K-200, K-203: its scale", func(t *testing.T) {
		scale := &autoscalingv1.Scale{}
		p.must(api.SubResource("scale").Get(p.ctx, p.read(), scale))
		if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 || scale.Status.Selector != "app=web" {
			t.Errorf("scale %+v %+v", scale.Spec, scale.Status)
		}
	})
	p.autoscale(3, 5)
	p.eventually("the autoscaler has scaled up", func() bool { return *p.read().Spec.Replicas == 3 })
	p.complete()
}

// autoscale creates an autoscaler with a minimum and a maximum.
func (p *play) autoscale(least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	p.t.Helper()
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: sliceapi.GroupVersion.String(), Kind: "StatefulSet", Name: p.set.Name},
			MinReplicas:    &least, MaxReplicas: most,
		},
	}
	p.must(api.Create(p.ctx, scaler))
	return scaler
}

// TestBadAutoscaler: a replica count that no set may have is refused, the autoscaler reports why, and it scales again
// after it is corrected.
func TestBadAutoscaler(t *testing.T) {
	p := begin(t, slice(1))
	scaler := p.autoscale(1000001, 1000001)
	p.step("U-11: it hears that it asks for too many", func(t *testing.T) {
		p.eventually("the autoscaler is refused", func() bool {
			_ = api.Get(p.ctx, client.ObjectKeyFromObject(scaler), scaler)
			return slices.ContainsFunc(scaler.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
				return c.Type == autoscalingv2.AbleToScale && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "less than or equal to 1000000")
			})
		})
		if replicas := *p.read().Spec.Replicas; replicas != 1 || len(p.pods()) != 1 {
			t.Errorf("scaled to %d", replicas)
		}
	})
	p.step("U-11: it is mended", func(*testing.T) {
		before := scaler.DeepCopy()
		scaler.Spec.MinReplicas, scaler.Spec.MaxReplicas = new(int32(2)), 3
		p.must(api.Patch(p.ctx, scaler, client.MergeFrom(before)))
		p.eventually("the autoscaler has scaled up", func() bool { return *p.read().Spec.Replicas == 2 })
		p.complete()
	})
}
