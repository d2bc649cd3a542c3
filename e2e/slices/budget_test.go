package slices

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// keeping returns a set that keeps its PodDisruptionBudget in a roll-out, with a maxUnavailable of all its pods.
func keeping(replicas int32, policy sliceapi.PodUpdatePolicy) *sliceapi.StatefulSet {
	set := inPlace(replicas, policy)
	set.Spec.PodManagementPolicy = "Parallel"
	// A pod that is Terminating for less time than the disruption controller needs to see it counts as disrupted for two
	// minutes, because the next pod has its name. No kubelet stops a pod so fast.
	metav1.SetMetaDataAnnotation(&set.Spec.Template.ObjectMeta, cluster.DeleteDelayAnnotationKey, "1s")
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	rolling.Budget, rolling.MaxUnavailable = sliceapi.BudgetPodDisruptionBudget, new(intstr.FromString("100%"))
	return set
}

// allows sets the maxUnavailable of a budget.
func (p *play) allows(name string, most int32) {
	p.t.Helper()
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: name}}
	p.must(api.Patch(p.ctx, pdb, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"maxUnavailable":%d}}`, most))))
}

// allowing creates a budget of the set's pods.
func (p *play) allowing(name string, most int32) {
	p.t.Helper()
	p.budget(name, func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromInt32(most)) })
}

// down returns the pods of the namespace that are Terminating or not Ready, and the missing ones of a number.
func (p *play) down(of int) int {
	for _, pod := range p.pods() {
		if pod.DeletionTimestamp == nil && fixture.IsReady(&pod) {
			of--
		}
	}
	return of
}

// TestBudgetOverSeveralSets: two sets under one PodDisruptionBudget roll out at the same time. Together they never have
// more pods down than it allows, whether the pods are evicted or updated in place, and no charge is left.
func TestBudgetOverSeveralSets(t *testing.T) {
	for _, policy := range []sliceapi.PodUpdatePolicy{sliceapi.ReCreate, sliceapi.InPlaceIfPossible} {
		t.Run(fmt.Sprintf("kubernetes#89820 kubernetes#58146 kubernetes#91808 %s", policy), func(t *testing.T) {
			both := map[string]string{"tier": "db"}
			set := keeping(3, policy)
			set.Spec.Template.Labels = map[string]string{"app": "web", "tier": "db"}
			p := begin(t, set)
			other := keeping(3, policy)
			other.Namespace, other.Name = set.Namespace, "other"
			other.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			other.Spec.Template.Labels = map[string]string{"app": "other", "tier": "db"}
			p.must(api.Create(p.ctx, other))
			second := &play{t: p.t, ctx: p.ctx, set: other}
			second.complete()
			p.budget("both", func(s *policyv1.PodDisruptionBudgetSpec) {
				s.Selector, s.MaxUnavailable = &metav1.LabelSelector{MatchLabels: both}, new(intstr.FromInt32(1))
			})
			p.judged("both", counts{6, 5, 6, 1})
			p.image("web:2")
			second.image("web:2")
			for !p.isComplete() || !second.isComplete() {
				if down := p.down(6); down > 1 {
					t.Fatalf("%d of 6 pods are down\n%s\n%s", down, p, second)
				}
				if p.ctx.Err() != nil {
					t.Fatalf("the roll-outs do not end\n%s\n%s", p, second)
				}
			}
			p.judged("both", counts{6, 5, 6, 1})
			pdb := &policyv1.PodDisruptionBudget{}
			p.must(api.Get(p.ctx, client.ObjectKey{Namespace: set.Namespace, Name: "both"}, pdb))
			if len(pdb.Status.DisruptedPods) > 0 {
				t.Errorf("%v are charged for ever", pdb.Status.DisruptedPods)
			}
		})
	}
}

// TestBudgetOfZero: a PodDisruptionBudget that never allows a disruption holds the roll-out and is named with the remedy.
// Neither a scale-down nor a pod that has ended needs it. When it is raised, the roll-out continues.
func TestBudgetOfZero(t *testing.T) {
	for _, policy := range []sliceapi.PodUpdatePolicy{sliceapi.ReCreate, sliceapi.InPlaceOnly} {
		t.Run(fmt.Sprintf("kubernetes#89820 %s", policy), func(t *testing.T) {
			p := begin(t, keeping(3, policy))
			before := p.uids()
			p.allowing("none", 0)
			p.judged("none", counts{3, 3, 3, 0})
			p.image("web:2")
			p.held("PodDisruptionBudget none allows 0 disruptions")
			p.held("it never allows one; raise its maxUnavailable")
			p.kept(before)
			p.imagesAre("web:1", "web:1", "web:1")
			p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(2)) })
			p.eventually("web-2 is scaled away", func() bool { return p.pod(2) == nil })
			p.allows("none", 1)
			p.complete()
			p.imagesAre("web:2", "web:2")
		})
	}
}

// TestBudgetTwoOfOnePod: two budgets that select a pod hold it, as the API server evicts no such pod, and are named.
func TestBudgetTwoOfOnePod(t *testing.T) {
	p := begin(t, keeping(2, sliceapi.ReCreate))
	before := p.uids()
	for _, name := range []string{"one", "two"} {
		p.allowing(name, 1)
		p.judged(name, counts{2, 1, 2, 1})
	}
	p.step("kubernetes#89820: both are named", func(*testing.T) {
		p.image("web:2")
		p.held("PodDisruptionBudgets one and two select it")
		p.kept(before)
	})
	p.step("kubernetes#89820: one of them is deleted", func(*testing.T) {
		p.must(api.Delete(p.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "two"}}))
		p.complete()
		p.imagesAre("web:2", "web:2")
	})
}

// TestBudgetUnhealthy: pods that are not Ready are evicted as the policy of their PodDisruptionBudget says, and the policy is
// named.
func TestBudgetUnhealthy(t *testing.T) {
	set := keeping(3, sliceapi.ReCreate)
	set.Spec.UpdateStrategy.RollingUpdate.UnhealthyPodEvictionPolicy = sliceapi.AlwaysAllow
	p := begin(t, set)
	before := p.uids()
	p.allowing("one", 1)
	p.judged("one", counts{3, 2, 3, 1})
	p.areReady(corev1.ConditionFalse)
	p.judged("one", counts{3, 2, 0, 0})
	p.step("kubernetes#89820: IfHealthyBudget", func(*testing.T) {
		p.image("web:2")
		p.held("it needs 2 healthy pods and has 0; to let it replace a pod that is not Ready, set its unhealthyPodEvictionPolicy: AlwaysAllow")
		p.kept(before)
	})
	p.step("kubernetes#89820: AlwaysAllow", func(*testing.T) {
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "one"}}
		p.must(api.Patch(p.ctx, pdb, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`))))
		p.complete()
		p.imagesAre("web:2", "web:2", "web:2")
	})
}

// TestBudgetSpecifiedDelete: a deletion on request is an eviction too.
func TestBudgetSpecifiedDelete(t *testing.T) {
	p := begin(t, keeping(2, sliceapi.ReCreate))
	p.allowing("none", 0)
	p.judged("none", counts{2, 2, 2, 0})
	former := p.pod(1)
	p.must(api.Patch(p.ctx, former.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`))))
	p.held("PodDisruptionBudget none allows 0 disruptions")
	p.allows("none", 1)
	p.eventually("web-1 is another", func() bool { pod := p.pod(1); return pod != nil && pod.UID != former.UID })
	p.complete()
}

// TestBudgetDuringMigration: beside a migration the share and the PodDisruptionBudget count, whichever is smaller.
func TestBudgetDuringMigration(t *testing.T) {
	set := keeping(3, sliceapi.ReCreate)
	set.Annotations = map[string]string{sliceapi.MigratingAnnotationKey: "yes", sliceapi.MaxUnavailableAnnotationKey: "0"}
	p := begin(t, set)
	before := p.uids()
	p.allowing("share", 0)
	p.judged("share", counts{3, 3, 3, 0})
	p.step("kubernetes#89820: neither allows any", func(*testing.T) {
		p.image("web:2")
		p.held("it waits for a migration")
		p.kept(before)
	})
	p.step("kubernetes#89820: the budget allows none yet", func(*testing.T) {
		p.must(api.Patch(p.ctx, p.read(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+sliceapi.MaxUnavailableAnnotationKey+`":"1"}}}`))))
		p.held("PodDisruptionBudget share allows 0 disruptions")
		p.kept(before)
	})
	p.step("kubernetes#89820: both allow one", func(t *testing.T) {
		p.allows("share", 1)
		for !p.isComplete() {
			if down := p.down(3); down > 1 {
				t.Fatalf("%d of 3 pods are down\n%s", down, p)
			}
			if p.ctx.Err() != nil {
				t.Fatalf("the roll-out does not end\n%s", p)
			}
		}
		p.imagesAre("web:2", "web:2", "web:2")
	})
}
