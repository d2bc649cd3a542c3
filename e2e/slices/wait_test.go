package slices

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// waits runs kubectl wait until the set has a condition, and says whether kstatus agrees.
func (p *play) waits(condition string, want status.Status) {
	p.t.Helper()
	out, err := embedded.Kubectl(p.ctx, "wait", "--for=condition="+condition, "slice/web", "-n", p.set.Namespace, "--timeout=30s").CombinedOutput()
	if err != nil {
		p.t.Fatalf("kubectl wait for %s: %v\n%s\n%s", condition, err, out, p)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(sliceapi.GroupVersion.WithKind("StatefulSet"))
	p.must(api.Get(p.ctx, client.ObjectKeyFromObject(p.set), object))
	if got, err := status.Compute(object); err != nil || got.Status != want {
		p.t.Errorf("%+v, want %s: %v", got, want, err)
	}
}

// TestKubectlWait: who waits for a set goes on when it is as it was asked for, and not before.
func TestKubectlWait(t *testing.T) {
	set := slice(3)
	set.Spec.ProgressDeadlineSeconds = new(int32(2))
	p := newPlay(t, set)
	asAsked := func(t *testing.T) {
		p.waits(sliceapi.ConditionReady, status.CurrentStatus)
		if !p.isComplete() {
			t.Errorf("it is not: %s", p)
		}
	}
	p.step("U-01: a new set", func(t *testing.T) {
		p.must(api.Create(p.ctx, set))
		asAsked(t)
	})
	p.step("U-01: a change that never gets Ready", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = stuck
			s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}
		})
		p.waits(sliceapi.ConditionStalled, status.FailedStatus)
	})
	p.step("U-01: one that mends it", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = "web:2"
			s.Template.Annotations = nil
		})
		asAsked(t)
	})
	p.step("U-01: a scale-up, and a scale-down", func(t *testing.T) {
		p.scale(4)
		asAsked(t)
		p.scale(1)
		asAsked(t)
	})
}
