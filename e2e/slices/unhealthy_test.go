package slices

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// areReady sets Ready of all pods, like kubelets whose probes depend on a quorum.
func (p *play) areReady(status corev1.ConditionStatus) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`, status, time.Now().UTC().Format(time.RFC3339))
	for _, pod := range p.pods() {
		p.must(api.Status().Patch(p.ctx, &pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
	}
}

// mortalSet gives a set its own controllers, each of which lives until a condition holds.
func mortalSet(set *sliceapi.StatefulSet) *sliceapi.StatefulSet {
	set.Labels = map[string]string{mortalKey: "yes"}
	return set
}

// aged reports whether all pods began so long ago that their status shows a loss of Ready to a process that has not seen
// them Ready.
func (p *play) aged() bool {
	for _, pod := range p.pods() {
		if pod.Status.StartTime == nil || time.Since(pod.Status.StartTime.Time) < 3*time.Second {
			return false
		}
	}
	return true
}

const forTheBudget = "it is not Ready, and may have been available at the current revision"

// TestY2UnhealthyPodsStay: all pods lose Ready for a moment, and the template changes meanwhile. As with the native
// controller, none is deleted, even if another process takes over. Once they are Ready again, they are updated one by
// one.
func TestY2UnhealthyPodsStay(t *testing.T) {
	eachManagement(t, "Y2 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := mortalSet(slice(5))
		set.Spec.PodManagementPolicy = policy
		p := newPlay(t, set)
		p.must(api.Create(p.ctx, set))
		p.lives(life{}, func() bool { return p.isComplete() && p.aged() })
		before := p.uids()
		p.areReady(corev1.ConditionFalse)
		p.image("web:2")
		p.lives(life{}, func() bool {
			p.held(forTheBudget)
			return p.read().Status.ReadyReplicas == 0
		})
		p.kept(before)
		p.areReady(corev1.ConditionTrue)
		p.lives(life{}, func() bool {
			sick := 5
			for _, pod := range p.pods() {
				if fixture.IsReady(&pod) && pod.DeletionTimestamp == nil {
					sick--
				}
			}
			if sick > 1 {
				t.Fatalf("%d of 5 are unavailable\n%s", sick, p)
			}
			return p.isComplete()
		})
		p.imagesAre("web:2", "web:2", "web:2", "web:2", "web:2")
	})
}

// TestY2UnhealthyPodsStayAsNative: the native controller deletes none of them.
func TestY2UnhealthyPodsStayAsNative(t *testing.T) {
	p := newPlay(t, slice(5))
	native := p.native()
	p.must(api.Create(p.ctx, native))
	observed := func() bool {
		p.must(api.Get(p.ctx, client.ObjectKeyFromObject(native), native))
		return native.Status.ObservedGeneration == native.Generation
	}
	p.eventually("its pods are Ready", func() bool { return observed() && native.Status.ReadyReplicas == 5 })
	before := p.uids()
	p.areReady(corev1.ConditionFalse)
	change := native.DeepCopy()
	change.Spec.Template.Spec.Containers[0].Image = "web:2"
	p.must(api.Patch(p.ctx, change, client.MergeFrom(native)))
	p.eventually("it has seen the change", func() bool {
		return observed() && native.Status.UpdateRevision != native.Status.CurrentRevision && native.Status.ReadyReplicas == 0
	})
	p.kept(before)
}

// TestY2AlwaysAllow: with this policy they are replaced at once.
func TestY2AlwaysAllow(t *testing.T) {
	set := slice(5)
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.UnhealthyPodEvictionPolicy = sliceapi.AlwaysAllow })
	p := begin(t, set)
	p.areReady(corev1.ConditionFalse)
	p.image("web:2")
	p.complete()
	p.imagesAre("web:2", "web:2", "web:2", "web:2", "web:2")
}

// TestY2ShareOfNothing: the share that a migration grants limits this too.
func TestY2ShareOfNothing(t *testing.T) {
	set := slice(3)
	set.Annotations = map[string]string{sliceapi.MigratingAnnotationKey: "yes", sliceapi.MaxUnavailableAnnotationKey: "0"}
	p := begin(t, set)
	before := p.uids()
	p.areReady(corev1.ConditionFalse)
	p.image("web:2")
	p.held(forTheBudget)
	p.kept(before)
	p.areReady(corev1.ConditionTrue)
	p.eventually("all are Ready", func() bool { return p.read().Status.ReadyReplicas == 3 })
	p.kept(before)
}

// TestY2NeverAvailable: pods that were never available are replaced at once, even if another process takes over.
func TestY2NeverAvailable(t *testing.T) {
	eachManagement(t, "Y2 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := mortalSet(slice(3))
		set.Spec.PodManagementPolicy = policy
		set.Spec.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}
		p := newPlay(t, set)
		p.must(api.Create(p.ctx, set))
		made := map[appsv1.PodManagementPolicyType]int32{appsv1.OrderedReadyPodManagement: 1, appsv1.ParallelPodManagement: 3}[policy]
		p.lives(life{}, func() bool { return p.read().Status.Replicas == made })
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Template.Annotations = nil })
		p.lives(life{}, p.isComplete)
	})
}
