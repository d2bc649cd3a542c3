package slices

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// TestSurge: during an update, ordinals above the range run the new revision, so that at least replicas pods serve.
// They are removed at the end.
func TestSurge(t *testing.T) {
	for name, policy := range map[string]appsv1.PodManagementPolicyType{"ordered": appsv1.OrderedReadyPodManagement, "parallel": appsv1.ParallelPodManagement} {
		t.Run("S-016 "+name, func(t *testing.T) {
			set := slice(3)
			set.Spec.PodManagementPolicy = policy
			set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) {
				r.MaxSurge, r.MaxUnavailable = new(intstr.FromString("30%")), new(intstr.FromInt32(0))
			})
			p := begin(t, set)
			p.podsAre("web-0 web-1 web-2")
			p.image("web:2")
			seen := false
			for s := p.read().Status; s.CurrentRevision != s.UpdateRevision || s.UpdatedReplicas != 3 || !seen; s = p.read().Status {
				serving := 0
				for _, pod := range p.pods() {
					if fixture.IsReady(&pod) && pod.DeletionTimestamp == nil {
						serving++
					}
					if pod.Name == "web-3" {
						seen = true
						if image := pod.Spec.Containers[0].Image; image != "web:2" {
							t.Fatalf("web-3 runs %s", image)
						}
					}
				}
				if serving < 3 {
					t.Fatalf("%d of 3 serve\n%s", serving, p)
				}
				p.must(p.ctx.Err())
			}
			p.podsAre("web-0 web-1 web-2")
			p.complete()
		})
	}
}

// TestSurgeClaims: the claims of surge pods are deleted with them, whatever the retention policy. Claims of former
// ordinals are skipped and remain unchanged.
func TestSurgeClaims(t *testing.T) {
	t.Parallel()
	t.Run("K-175: of the ordinal above the range", func(t *testing.T) {
		set := retention(2, retainClaims, deleteClaims)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.MaxSurge = new(intstr.FromInt32(1)) })
		p := begin(t, set)
		p.image("web:2")
		p.complete()
		p.podsAre("web-0 web-1")
		p.claimsAre("data-web-0: data-web-1:")
		p.image("web:3")
		p.complete()
		p.claimsAre("data-web-0: data-web-1:")
	})
	t.Run("X-12: with Retain, beside the claim of a former ordinal", func(t *testing.T) {
		set := retention(3, retainClaims, retainClaims)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.MaxSurge = new(intstr.FromInt32(1)) })
		p := begin(t, set)
		p.scale(2)
		p.complete()
		former := p.claim(2)
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Lifecycle, s.Template.Spec.Containers[0].Image = heldBack(), "web:2"
		})
		p.eventually("web-3 is a surge pod with a claim of its own", func() bool { return p.pod(3) != nil && strings.Contains(p.claims(), "data-web-3:Pod") })
		p.podsAre("web-0 web-1 web-3")
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Lifecycle = nil })
		p.complete()
		p.claimsAre("data-web-0: data-web-1: data-web-2:")
		p.scale(3)
		p.complete()
		if p.claim(2).UID != former.UID {
			t.Error("ordinal 2 has lost its data")
		}
	})
	t.Run("X-12: the ordinal comes to be the set's while its surge pod runs", func(t *testing.T) {
		set := retention(2, retainClaims, retainClaims)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) {
			r.MaxSurge, r.Partition = new(intstr.FromInt32(1)), new(int32(1))
		})
		set.Spec.Lifecycle = heldBack()
		p := begin(t, set)
		p.image("web:2")
		p.eventually("web-2 is a surge pod", func() bool {
			pod := p.pod(2)
			return pod != nil && fixture.IsReady(pod) && strings.Contains(p.claims(), "data-web-2:Pod")
		})
		pod, claim := p.pod(2), p.claim(2)
		p.scale(3)
		// web-1 is still held back, so the surge pod is one ordinal higher by then.
		p.claimsAre("data-web-0: data-web-1: data-web-2: data-web-3:Pod")
		if p.pod(2).UID != pod.UID || p.claim(2).UID != claim.UID || len(p.claim(2).Annotations[sliceapi.SurgeAnnotationKey]) > 0 {
			t.Errorf("web-2 is another one, or its claim still goes with it: %+v", p.claim(2).ObjectMeta)
		}
	})
}

// heldBack returns a hook that blocks every pod, so that an update stops after its surge pods.
func heldBack() *sliceapi.Lifecycle {
	return &sliceapi.Lifecycle{PreDelete: &sliceapi.LifecycleHook{LabelsHandler: map[string]string{"app": "web"}}}
}
