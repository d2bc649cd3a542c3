package slices

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestY10AdoptedClaimsGrowInTurn: the claims of adopted pods are smaller than the template. They grow one after the other,
// although every pod has the revision already, and no pod restarts.
func TestY10AdoptedClaimsGrowInTurn(t *testing.T) {
	p := newPlay(t, withClaim(slice(3)))
	claims := p.set.Spec.VolumeClaimTemplates
	class := p.class("only", true)
	claims[0].Spec.StorageClassName = &class
	native := p.native()
	p.must(api.Create(p.ctx, native))
	p.eventually("the native set is ready", func() bool {
		_ = api.Get(p.ctx, client.ObjectKeyFromObject(native), native)
		return native.Status.AvailableReplicas == 3
	})
	before := p.uids()
	p.must(api.Delete(p.ctx, native, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	p.eventually("the native set is gone", func() bool { return api.Get(p.ctx, client.ObjectKeyFromObject(native), native) != nil })

	claims[0].Spec.Resources.Requests["storage"] = resource.MustParse("2Gi")
	p.set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: sliceapi.OnPodRollingUpdate}
	p.must(api.Create(p.ctx, p.set))
	p.step("Y10: one is asked for more, and the others wait for the budget", func(t *testing.T) {
		p.held("web-0: it waits until fewer than maxUnavailable (1) pods are unavailable")
		p.held("web-2: its claims grow")
		for ordinal, want := range []string{"1Gi", "1Gi", "2Gi"} {
			if size := p.claim(int32(ordinal)).Spec.Resources.Requests.Storage().String(); size != want {
				t.Errorf("claim %d asks for %s, want %s", ordinal, size, want)
			}
		}
	})
	p.step("Y10: in the end all have grown", func(*testing.T) {
		p.grows(3)
		p.kept(before)
	})
}
