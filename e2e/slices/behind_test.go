package slices

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestClaimsBehind: under OnDelete another class and a smaller size change no pod and no claim, and the status counts the
// claims that differ. A pod is created again only when its deleted claim no longer exists, with a claim of the new template.
func TestClaimsBehind(t *testing.T) {
	p := growing(t, slice(3), sliceapi.OnClaimDelete, true)
	before, class := p.uids(), p.class("second", true)
	p.step("the templates change", func(t *testing.T) {
		p.eventually("no claim is behind", func() bool {
			return meta.IsStatusConditionFalse(p.read().Status.Conditions, sliceapi.ConditionClaimsBehind)
		})
		p.ask("512Mi", func(s *sliceapi.StatefulSetSpec) { s.VolumeClaimTemplates[0].Spec.StorageClassName = &class })
		p.condition(sliceapi.ConditionClaimsBehind, "claims of 3 of 3 ordinals differ from their templates, first those of web-0")
		p.condition(sliceapi.ConditionClaimsBehind, "kubectl migrate storage web -n "+p.set.Namespace)
		p.complete()
		p.kept(before)
		if got := p.claim(1); got.Spec.Resources.Requests.Storage().String() == "512Mi" || *got.Spec.StorageClassName == class {
			t.Errorf("the claim was changed: %+v", got.Spec)
		}
	})
	p.step("no pod is created while its claim is being deleted", func(*testing.T) {
		claim := p.claim(1)
		p.must(api.Patch(p.ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
		p.must(api.Delete(p.ctx, claim))
		p.must(api.Delete(p.ctx, p.pod(1)))
		p.held("web-1: a claim of its former pod must be deleted first")
		p.eventually("the pod has ended", func() bool { return p.pod(1) == nil })
		p.condition(sliceapi.ConditionClaimsBehind, "claims of 2 of 3 ordinals")
		if p.pod(1) != nil {
			p.t.Error("the pod was created")
		}
	})
	p.step("it gets a claim of the new template", func(t *testing.T) {
		former := p.claim(1).UID
		p.must(api.Patch(p.ctx, p.claim(1), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		p.complete()
		if got := p.claim(1); got.UID == former || got.Spec.Resources.Requests.Storage().Cmp(resource.MustParse("512Mi")) != 0 || *got.Spec.StorageClassName != class {
			t.Errorf("the claim is %s: %+v", got.UID, got.Spec)
		}
		p.condition(sliceapi.ConditionClaimsBehind, "claims of 2 of 3 ordinals differ from their templates, first those of web-0")
	})
	p.step("a strategy that grows claims has no condition", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.VolumeClaimUpdateStrategy.Type = sliceapi.OnPodRollingUpdate })
		p.healthy(sliceapi.ConditionClaimsBehind)
	})
}
