package slices

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// annotate sets or removes an annotation of a pod.
func (p *play) annotate(ordinal int32, key, value string) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+key+`":`+value+`}}}`))))
}

// TestInPlaceTakenBack: an image is changed and changed back at once. Whatever the kubelet did in between, the update
// of the pod completes.
func TestInPlaceTakenBack(t *testing.T) {
	t.Parallel()
	t.Run("X-04: to another image and back", func(t *testing.T) {
		p := begin(t, inPlace(1, sliceapi.InPlaceOnly))
		before := p.uids()
		p.image("web:2")
		p.eventually("the pod is patched", func() bool { return p.images()["web-0"] == "web:2" })
		p.image("web:1")
		p.imagesAre("web:1")
		p.complete()
		p.kept(before)
		if status := p.pod(0).Status.ContainerStatuses[0]; status.RestartCount > 2 {
			t.Errorf("its container was restarted %d times", status.RestartCount)
		}
		p.image("web:2")
		p.complete()
		p.kept(before)
	})
}

// TestInPlaceUnseen: a change that is reverted before the kubelet has seen it restarts nothing and blocks nothing.
func TestInPlaceUnseen(t *testing.T) {
	p := begin(t, inPlace(2, sliceapi.InPlaceOnly))
	before, container := p.uids(), p.pod(1).Status.ContainerStatuses[0].ContainerID
	p.step("X-04: it is not done before the kubelet has seen it", func(t *testing.T) {
		p.annotate(1, cluster.UnseenAnnotationKey, `"yes"`)
		p.image("web:2")
		p.eventually("the pod is patched", func() bool { return p.images()["web-1"] == "web:2" })
		p.image("web:1")
		p.imagesAre("web:1", "web:1")
		p.held("web-1: its containers do not run the update yet")
		if gateOf(p.pod(1)) != corev1.ConditionFalse {
			t.Error("its gate is open")
		}
	})
	p.step("X-04: it is, and its container is the one that it was", func(t *testing.T) {
		p.annotate(1, cluster.UnseenAnnotationKey, "null")
		p.complete()
		p.kept(before)
		if now := p.pod(1).Status.ContainerStatuses[0]; now.ContainerID != container || gateOf(p.pod(1)) != corev1.ConditionTrue {
			t.Errorf("container %s, before %s; gate %s", now.ContainerID, container, gateOf(p.pod(1)))
		}
	})
}

// TestInPlaceVariable: a container reads a label when it starts. If the update does not restart the container, the pod
// is recreated.
func TestInPlaceVariable(t *testing.T) {
	set := inPlace(2, sliceapi.InPlaceIfPossible)
	set.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}
	p := begin(t, set)
	tier := func(value string) func(*sliceapi.StatefulSetSpec) {
		return func(s *sliceapi.StatefulSetSpec) { s.Template.Labels["tier"] = value }
	}
	before := p.uids()
	p.step("X-09: with another image, in place", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { tier("middle")(s); s.Template.Spec.Containers[0].Image = "web:2" })
		p.complete()
		p.kept(before)
	})
	p.step("X-09: alone, the pods are made anew", func(*testing.T) {
		p.change(tier("back"))
		p.complete()
		p.madeAnew(before)
	})
	p.step("X-09: InPlaceOnly holds it, and names the variable", func(*testing.T) {
		before = p.heldInPlace(tier("front"), "containers[web].env[TIER] cannot be changed in place, and the policy is InPlaceOnly; revert the change, or set updateStrategy.rollingUpdate.podUpdatePolicy to InPlaceIfPossible")
		p.change(tier("back"))
		p.complete()
		p.kept(before)
	})
}

// madeAnew checks that every pod was recreated.
func (p *play) madeAnew(before map[string]types.UID) {
	p.t.Helper()
	for name, uid := range p.uids() {
		if uid == before[name] {
			p.t.Errorf("%s was not made anew", name)
		}
	}
}

// heldInPlace makes a change together with the policy InPlaceOnly, and waits until it is held. It returns the pods,
// which are unchanged.
func (p *play) heldInPlace(change func(*sliceapi.StatefulSetSpec), says string) map[string]types.UID {
	p.t.Helper()
	before := p.uids()
	p.change(func(s *sliceapi.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = sliceapi.InPlaceOnly
		change(s)
	})
	p.held(says)
	p.kept(before)
	return before
}

// TestInPlaceRestart: a restart of a set recreates the pods, even if they could be updated in place.
func TestInPlaceRestart(t *testing.T) {
	restart := func(at string) func(*sliceapi.StatefulSetSpec) {
		return func(s *sliceapi.StatefulSetSpec) {
			s.Template.Annotations = map[string]string{sliceapi.RestartedAtAnnotationKey: at}
		}
	}
	p := begin(t, inPlace(2, sliceapi.InPlaceIfPossible))
	before := p.uids()
	p.step("X-09: the pods are made anew", func(*testing.T) {
		p.change(restart("2026-01-01T12:00:00Z"))
		p.complete()
		p.madeAnew(before)
	})
	p.step("X-09: InPlaceOnly holds it", func(*testing.T) {
		p.heldInPlace(restart("2026-01-01T13:00:00Z"), "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt] cannot be changed in place")
	})
}

// resizable returns a set whose pods can be resized, on nodes that answer a resize with a reason for not doing it. A
// real node gives that answer to a request that exceeds every node.
func resizable(policy sliceapi.PodUpdatePolicy, reason string) *sliceapi.StatefulSet {
	set := inPlace(2, policy)
	set.Spec.Template.Annotations = map[string]string{cluster.ResizeAnnotationKey: reason}
	set.Spec.Template.Spec.Containers[0].Resources = resources("10m", "20m")
	return set
}

func cpu(request, limit string) func(*sliceapi.StatefulSetSpec) {
	return func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Resources = resources(request, limit) }
}

func (p *play) asksFor(ordinal int32, request string) bool {
	pod := p.pod(ordinal)
	return pod != nil && pod.Spec.Containers[0].Resources.Requests.Cpu().Equal(resource.MustParse(request))
}

// TestResizeInfeasible: a request that no node can satisfy is reported by the API server (Kubernetes 1.36) or by the
// kubelet. The rollout stops at the first pod, which keeps serving.
func TestResizeInfeasible(t *testing.T) {
	p := begin(t, resizable(sliceapi.InPlaceOnly, corev1.PodReasonInfeasible))
	before := p.uids()
	p.step("X-05: the first pod is held, and serves", func(t *testing.T) {
		p.change(cpu("500", "500"))
		p.held("web-1: spec.template.spec.containers[].resources cannot be changed in place, and the policy is InPlaceOnly, and its node says: ")
		p.eventually("its gate is open", func() bool { return gateOf(p.pod(1)) == corev1.ConditionTrue && fixture.IsReady(p.pod(1)) })
		if !p.asksFor(0, "10m") || p.isComplete() {
			t.Errorf("the roll-out went on: %s", p)
		}
	})
	p.step("X-05: it is taken back", func(*testing.T) {
		p.change(cpu("10m", "20m"))
		p.complete()
		p.kept(before)
	})
}

// TestResizeMadeAnew: where the policy allows another pod, a pod that its node cannot resize is recreated.
func TestResizeMadeAnew(t *testing.T) {
	t.Parallel()
	t.Run("X-05: InPlaceIfPossible", func(t *testing.T) {
		p := begin(t, resizable(sliceapi.InPlaceIfPossible, corev1.PodReasonInfeasible))
		before := p.uids()
		p.change(cpu("500", "500"))
		p.eventually("web-1 is made anew", func() bool { pod := p.pod(1); return pod != nil && pod.UID != before["web-1"] && p.asksFor(1, "500") })
		p.change(cpu("10m", "20m"))
		p.complete()
	})
}

// TestResizeDeferred: a node without room blocks the rollout until it has room; meanwhile the pod serves.
func TestResizeDeferred(t *testing.T) {
	p := begin(t, resizable(sliceapi.InPlaceIfPossible, corev1.PodReasonDeferred))
	before := p.uids()
	p.step("X-05: the first pod waits, and serves", func(t *testing.T) {
		p.change(cpu("20m", "40m"))
		p.held("web-1: its node does not resize it: Node didn't have enough capacity")
		p.eventually("its gate is open", func() bool { return gateOf(p.pod(1)) == corev1.ConditionTrue && fixture.IsReady(p.pod(1)) })
		if !p.asksFor(1, "20m") || !p.asksFor(0, "10m") || p.isComplete() {
			t.Errorf("the roll-out went on: %s", p)
		}
	})
	p.step("X-05: there is room", func(*testing.T) {
		p.annotate(1, cluster.ResizeAnnotationKey, "null")
		p.eventually("the next one is resized", func() bool { return p.asksFor(0, "20m") })
		p.annotate(0, cluster.ResizeAnnotationKey, "null")
		p.complete()
		p.kept(before)
	})
}
