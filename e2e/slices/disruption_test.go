package slices

import (
	"fmt"
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

	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// budget protects the pods of the set.
func (p *play) budget(name string, edit func(*policyv1.PodDisruptionBudgetSpec)) {
	p.t.Helper()
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: p.set.Spec.Selector},
	}
	edit(&pdb.Spec)
	p.must(api.Create(p.ctx, pdb))
}

// counts are those of a budget, in short.
type counts struct{ expected, desired, healthy, allowed int32 }

// judged waits until the disruption controller has counted so.
func (p *play) judged(name string, want counts) {
	p.t.Helper()
	pdb := &policyv1.PodDisruptionBudget{}
	p.eventually(fmt.Sprintf("budget %s says %+v", name, want), func() bool {
		p.must(api.Get(p.ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: name}, pdb))
		s := pdb.Status
		return s.ObservedGeneration == pdb.Generation && counts{s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed} == want
	})
}

// evict asks for a pod to be evicted.
func (p *play) evict(pod *corev1.Pod, conditions *metav1.Preconditions) error {
	return api.SubResource("eviction").Create(p.ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: conditions},
	})
}

// TestBudgets: the disruption controller counts our pods by the scale subresource, as it
// counts those of apps/v1. K-203, K-252, K-263, K-264, K-268.
func TestBudgets(t *testing.T) {
	for _, tc := range []struct {
		name          string
		value         intstr.IntOrString
		min           bool
		at4, at7, at0 counts
	}{
		{"maxUnavailable 2", intstr.FromInt32(2), false, counts{4, 2, 4, 2}, counts{7, 5, 7, 2}, counts{0, 0, 0, 0}},
		{"maxUnavailable 30%", intstr.FromString("30%"), false, counts{4, 2, 4, 2}, counts{7, 4, 7, 3}, counts{0, 0, 0, 0}},
		{"minAvailable 3", intstr.FromInt32(3), true, counts{4, 3, 4, 1}, counts{7, 3, 7, 4}, counts{0, 3, 0, 0}},
		{"minAvailable 34%", intstr.FromString("34%"), true, counts{4, 2, 4, 2}, counts{7, 3, 7, 4}, counts{0, 0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := slice(4)
			set.Spec.PodManagementPolicy = "Parallel"
			p := begin(t, set)
			p.budget("one", func(s *policyv1.PodDisruptionBudgetSpec) {
				if tc.min {
					s.MinAvailable = &tc.value
				} else {
					s.MaxUnavailable = &tc.value
				}
			})
			p.judged("one", tc.at4)
			p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(7)) })
			p.judged("one", tc.at7)
			p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(0)) })
			p.judged("one", tc.at0)
		})
	}
}

// TestPodsToCome: a budget counts pods that do not exist yet, so that none is evicted
// while a set grows. K-263, K-264.
func TestPodsToCome(t *testing.T) {
	set := slice(2)
	set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
	p := newPlay(t, set)
	p.must(api.Create(p.ctx, set))
	p.budget("half", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromString("50%")) })
	p.judged("half", counts{expected: 2, desired: 1})
}

// TestEvictions are granted and refused by the budget, the set heals what was evicted,
// and preconditions keep a successor safe. K-244, K-245, K-246, K-262.
func TestEvictions(t *testing.T) {
	p := begin(t, slice(3))
	if err := p.evict(p.pod(0), &metav1.Preconditions{UID: new(types.UID("another"))}); !apierrors.IsConflict(err) {
		t.Errorf("evicting a pod with another UID: %v", err)
	}
	p.must(p.evict(p.pod(0), nil)) // no budget says otherwise
	p.complete()
	p.eventually("web-0 is back", func() bool { return p.pod(0) != nil && len(p.pods()) == 3 })
	p.budget("two", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromInt32(2)) })
	p.judged("two", counts{3, 2, 3, 1})

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

	p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(2)) })
	p.judged("two", counts{2, 2, 2, 0})
	if err := p.evict(p.pod(1), nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("evicting one of two: %v", err)
	}
}

// hold gives a pod a finalizer, so that it stays when it is deleted; letGo takes it.
func (p *play) hold(pod *corev1.Pod) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
}

func (p *play) letGo(ordinal int32) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}

// TestUnhealthyEvictions: a pod that is not Ready may be evicted only as the policy
// says. K-249, K-251, K-261.
func TestUnhealthyEvictions(t *testing.T) {
	for policy, granted := range map[policyv1.UnhealthyPodEvictionPolicyType]bool{policyv1.IfHealthyBudget: false, policyv1.AlwaysAllow: true} {
		t.Run(string(policy), func(t *testing.T) {
			set := slice(2)
			set.Spec.PodManagementPolicy = "Parallel"
			set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
			p := newPlay(t, set)
			p.must(api.Create(p.ctx, set))
			p.eventually("both pods are there", func() bool { return p.read().Status.Replicas == 2 })
			for _, pod := range p.pods() {
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
				p.must(api.Status().Update(p.ctx, &pod))
			}
			p.budget("one", func(s *policyv1.PodDisruptionBudgetSpec) {
				s.MaxUnavailable, s.UnhealthyPodEvictionPolicy = new(intstr.FromInt32(1)), &policy
			})
			p.judged("one", counts{expected: 2, desired: 1})
			err := p.evict(p.pod(0), nil)
			if granted && err != nil || !granted && !apierrors.IsTooManyRequests(err) {
				t.Errorf("evicting a pod that is not Ready: %v", err)
			}
		})
	}
}

// TestOneBudgetForTwo: one budget over two sets counts the pods of both. K-269.
func TestOneBudgetForTwo(t *testing.T) {
	p := begin(t, slice(3))
	other := slice(3)
	other.Namespace, other.Name = p.set.Namespace, "other"
	p.must(api.Create(p.ctx, other))
	p.budget("both", func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromString("28%")) })
	p.judged("both", counts{6, 2, 6, 4})
}

// TestHorizontalPodAutoscaler: a HorizontalPodAutoscaler scales the set; it selects the
// pods by what the scale subresource says. K-200, K-201, K-203.
func TestHorizontalPodAutoscaler(t *testing.T) {
	p := begin(t, slice(1))
	scale := &autoscalingv1.Scale{}
	p.must(api.SubResource("scale").Get(p.ctx, p.read(), scale))
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 || scale.Status.Selector != "app=web" {
		t.Errorf("scale %+v %+v", scale.Spec, scale.Status)
	}
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: sliceapi.GroupVersion.String(), Kind: "StatefulSet", Name: p.set.Name},
			MinReplicas:    new(int32(3)), MaxReplicas: 5,
		},
	}
	p.must(api.Create(p.ctx, scaler))
	p.eventually("the autoscaler has scaled up", func() bool { return *p.read().Spec.Replicas == 3 })
	p.complete()
}
