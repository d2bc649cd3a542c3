package slices

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestSurge: ordinals above the range run the new revision during an update, so that never
// fewer pods than replicas serve, and leave at its end.
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
					if isReady(&pod) && pod.DeletionTimestamp == nil {
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

// TestSurgeClaims: the claims of ordinals that stand in for others go with them, or stay, as
// those of ordinals that are scaled away.
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
}
