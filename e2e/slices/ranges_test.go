package slices

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestStartOrdinal: the pods are those of the range from ordinals.start, when it is set, raised, lowered and removed.
func TestStartOrdinal(t *testing.T) {
	eachManagement(t, "R-009 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := slice(2)
		set.Spec.PodManagementPolicy = policy
		p := begin(t, set)
		for _, step := range []struct {
			name     string
			ordinals *sliceapi.Ordinals
			want     string
		}{
			{"set", &sliceapi.Ordinals{Start: 2}, "web-2 web-3"},
			{"K-111 raised", &sliceapi.Ordinals{Start: 4}, "web-4 web-5"},
			{"K-112 lowered", &sliceapi.Ordinals{Start: 3}, "web-3 web-4"},
			{"K-113 removed", nil, "web-0 web-1"},
		} {
			p.step(step.name, func(*testing.T) {
				p.change(func(s *sliceapi.StatefulSetSpec) { s.Ordinals = step.ordinals })
				p.podsAre(step.want)
				p.complete()
			})
		}
	})
}

// TestPhases: as the partition is lowered, the pods above it are updated. Deleted pods are recreated at their previous
// revision.
func TestPhases(t *testing.T) {
	t.Parallel()
	t.Run("K-053, R-018: from 3 to 0", func(t *testing.T) {
		set := slice(3)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(3)) })
		p := begin(t, set)
		first := p.read().Status.UpdateRevision
		p.image("web:2")
		p.eventually("the new revision is known", func() bool { return p.read().Status.UpdateRevision != first })
		for partition := int32(3); partition >= 0; partition-- {
			before := p.uids()
			p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = &partition })
			want := map[string]string{}
			for ordinal := range int32(3) {
				want[fmt.Sprintf("web-%d", ordinal)] = map[bool]string{true: "web:2", false: "web:1"}[ordinal >= partition]
			}
			p.phase(want, 3-partition)
			for name, uid := range p.uids() {
				if changed := name == fmt.Sprintf("web-%d", partition); (uid != before[name]) != changed {
					t.Errorf("partition %d: %s is another pod: %t", partition, name, !changed)
				}
			}
			if partition == 2 {
				before = p.uids()
				for _, pod := range p.pods() {
					p.must(api.Delete(p.ctx, &pod))
				}
				p.eventually("all are others", func() bool {
					now := p.uids()
					return len(now) == 3 && now["web-0"] != before["web-0"] && now["web-1"] != before["web-1"] && now["web-2"] != before["web-2"]
				})
				p.phase(want, 1)
			}
		}
		if s := p.read().Status; s.CurrentRevision != s.UpdateRevision {
			t.Errorf("status %+v", s)
		}
	})
}

// phase waits until the pods have their images and are available, with updated pods at the update revision.
func (p *play) phase(images map[string]string, updated int32) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the images are %v", images), func() bool {
		set := p.read()
		return equality.Semantic.DeepEqual(p.images(), images) && set.Status.ObservedGeneration == set.Generation &&
			set.Status.UpdatedReplicas == updated && set.Status.AvailableReplicas == 3
	})
}
