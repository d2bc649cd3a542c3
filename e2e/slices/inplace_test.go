package slices

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// pullDelay is how long a container keeps its former image.
const pullDelay = cluster.PullDelayAnnotationKey

// inPlace returns a set whose pods are updated in place.
func inPlace(replicas int32, policy sliceapi.PodUpdatePolicy) *sliceapi.StatefulSet {
	set := slice(replicas)
	set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: sliceapi.InPlaceUpdateReady}}
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.PodUpdatePolicy = policy })
	return set
}

// gateOf returns the status of a pod's readiness gate.
func gateOf(pod *corev1.Pod) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == sliceapi.InPlaceUpdateReady {
			return condition.Status
		}
	}
	return ""
}

// kept checks that no pod was recreated.
func (p *play) kept(before map[string]types.UID) {
	p.t.Helper()
	if now := p.uids(); !equality.Semantic.DeepEqual(now, before) {
		p.t.Errorf("pods were made anew: %v, before %v", now, before)
	}
}

// condition waits until a condition is True and its message contains says.
func (p *play) condition(kind, says string) {
	p.t.Helper()
	p.eventually("condition "+kind+": "+says, func() bool {
		found := meta.FindStatusCondition(p.read().Status.Conditions, kind)
		return found != nil && found.Status == metav1.ConditionTrue && strings.Contains(found.Message, says)
	})
}

// held waits until the set reports why it does not touch a pod.
func (p *play) held(says string) {
	p.t.Helper()
	p.condition(sliceapi.ConditionHeld, says)
}

// pulling begins an update in place to another image, which nodes pull with that delay. It returns the previous pods.
func pulling(t *testing.T, replicas int32, delay string) (p *play, before map[string]types.UID) {
	t.Helper()
	set := inPlace(replicas, sliceapi.InPlaceIfPossible)
	set.Spec.Template.Annotations = map[string]string{pullDelay: delay}
	p = begin(t, set)
	before = p.uids()
	p.image("web:2")
	return p, before
}

// TestInPlace: the image of running pods changes one after the other. Each pod is not Ready while its container runs
// the former image.
func TestInPlace(t *testing.T) {
	t.Parallel()
	t.Run("R-060, R-064, R-065: an image", func(t *testing.T) {
		p, before := pulling(t, 3, "300ms")
		updated := map[string]bool{}
		for len(updated) < 3 {
			closed := 0
			for _, pod := range p.pods() {
				if gateOf(&pod) == corev1.ConditionFalse {
					closed++
				}
				runs := pod.Status.ContainerStatuses[0].Image
				if pod.Spec.Containers[0].Image == "web:2" && runs == "web:1" && fixture.IsReady(&pod) && pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey] == "" {
					t.Fatalf("%s is through, and runs %s", pod.Name, runs)
				}
				if runs == "web:2" && fixture.IsReady(&pod) {
					updated[pod.Name] = true
				}
			}
			if closed > 1 {
				t.Fatalf("%d pods are not Ready at once", closed)
			}
			p.must(p.ctx.Err())
		}
		p.complete()
		p.kept(before)
		for _, pod := range p.pods() {
			if _, left := pod.Annotations[sliceapi.InPlaceUpdateAnnotationKey]; left || gateOf(&pod) != corev1.ConditionTrue || pod.Labels[appsv1.StatefulSetRevisionLabel] != p.read().Status.UpdateRevision {
				t.Errorf("%s after the update: gate %s, labels %v, annotations %v", pod.Name, gateOf(&pod), pod.Labels, pod.Annotations)
			}
		}
		p.settled()
	})
}

// TestInPlaceMetadata: labels and annotations change while the pod runs. Those that others set remain, and those that
// the template no longer has are removed.
func TestInPlaceMetadata(t *testing.T) {
	t.Parallel()
	t.Run("R-064: labels and annotations", func(t *testing.T) {
		set := inPlace(2, sliceapi.InPlaceOnly)
		set.Spec.Template.Annotations = map[string]string{"old": "1", "both": "1"}
		p := begin(t, set)
		before := p.uids()
		p.must(api.Patch(p.ctx, p.pod(0), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"mine":"1"},"annotations":{"mine":"1"}}}`))))
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Labels["tier"] = "back"
			s.Template.Annotations = map[string]string{"both": "2", "new": "1"}
		})
		p.complete()
		p.kept(before)
		pod := p.pod(0)
		if pod.Labels["tier"] != "back" || pod.Labels["mine"] != "1" || !equality.Semantic.DeepEqual(pod.Annotations, map[string]string{"mine": "1", "both": "2", "new": "1"}) {
			t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
		}
	})
}

// TestInPlaceGrace: a pod is not Ready for the grace period before it is patched. The annotation of the pod is all
// that the controller needs to know about it.
func TestInPlaceGrace(t *testing.T) {
	t.Parallel()
	t.Run("R-060, R-066: 15 seconds", func(t *testing.T) {
		set := inPlace(1, sliceapi.InPlaceIfPossible)
		set.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &sliceapi.InPlaceUpdateStrategy{GracePeriodSeconds: 15} // a real kubelet of a busy machine takes more than 5 to report that the pod is not Ready
		p := begin(t, set)
		before := p.uids()
		p.image("web:2")
		p.eventually("the gate is closed", func() bool { return gateOf(p.pod(0)) == corev1.ConditionFalse && !fixture.IsReady(p.pod(0)) })
		closed := p.pod(0)
		if closed.Spec.Containers[0].Image != "web:1" || closed.Annotations[sliceapi.InPlaceUpdateAnnotationKey] == "" {
			t.Errorf("image %s and annotations %v while the gate is closed", closed.Spec.Containers[0].Image, closed.Annotations)
		}
		p.held("not Ready for inPlaceUpdateStrategy.gracePeriodSeconds")
		p.complete()
		p.kept(before)
		var at metav1.Time
		for _, condition := range closed.Status.Conditions {
			if condition.Type == sliceapi.InPlaceUpdateReady {
				at = condition.LastTransitionTime
			}
		}
		// Both are truncated to seconds.
		if started := p.pod(0).Status.ContainerStatuses[0].State.Running.StartedAt; started.Sub(at.Time).Seconds() < 1 {
			t.Errorf("the gate was closed at %s, and the container started at %s", at, started)
		}
	})
}

// TestInPlaceResumes: a readiness gate that others open or close is corrected. An update in place whose controller
// died is resumed.
func TestInPlaceResumes(t *testing.T) {
	t.Parallel()
	t.Run("R-066: a gate that others open and close", func(t *testing.T) {
		p, before := pulling(t, 2, "1h")
		p.eventually("web-1 is patched", func() bool { return p.images()["web-1"] == "web:2" })
		pod := p.pod(1)
		p.must(p.setGate(pod, corev1.ConditionTrue))
		p.eventually("the gate is closed again", func() bool { return gateOf(p.pod(1)) == corev1.ConditionFalse && !fixture.IsReady(p.pod(1)) })
		p.held("its containers do not run the update yet")
		p.annotate(1, pullDelay, "null")
		p.eventually("web-0 is patched", func() bool { return p.images()["web-0"] == "web:2" })
		p.annotate(0, pullDelay, "null")
		p.complete()
		p.kept(before)
		p.must(p.setGate(p.pod(0), corev1.ConditionFalse))
		p.eventually("the gate is open again", func() bool { return gateOf(p.pod(0)) == corev1.ConditionTrue && fixture.IsReady(p.pod(0)) })
	})
}

func (p *play) setGate(pod *corev1.Pod, status corev1.ConditionStatus) error {
	return api.Status().Patch(p.ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"`+string(status)+`"}]}}`)))
}

// TestInPlaceStuck: an image that never runs stops the rollout at the first pod; the next image needs no new pods.
func TestInPlaceStuck(t *testing.T) {
	p := begin(t, inPlace(3, sliceapi.InPlaceIfPossible))
	before := p.uids()
	p.step("R-124: the roll-out stops at what the budget allows", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = stuck
			s.Template.Annotations = map[string]string{pullDelay: "1h"}
		})
		p.imagesAre("web:1", "web:1", stuck)
		p.held("its containers do not run the update yet")
		p.imagesAre("web:1", "web:1", stuck)
	})
	p.step("another one is rolled out, and no pod is made anew", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = "web:3"
			s.Template.Annotations = nil
		})
		p.complete()
		p.kept(before)
		p.imagesAre("web:3", "web:3", "web:3")
	})
}

// TestInPlaceOnly: a change that needs another pod is refused. If the policy is set later, the change is held and the
// field is named; with InPlaceIfPossible the pod is recreated.
func TestInPlaceOnly(t *testing.T) {
	policy := func(s *sliceapi.StatefulSetSpec, policy sliceapi.PodUpdatePolicy) {
		s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = policy
	}
	env := func(s *sliceapi.StatefulSetSpec) {
		s.Template.Spec.Containers[0].Image = "web:2"
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "a", Value: "b"}}
	}
	p := begin(t, inPlace(2, sliceapi.InPlaceOnly))
	before := p.uids()
	p.step("U-05: an environment variable is refused", func(t *testing.T) {
		set := p.read()
		env(&set.Spec)
		if err := api.Update(p.ctx, set); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), notInPlace) {
			t.Errorf("got %v, want a refusal", err)
		}
	})
	p.step("R-064: it is held", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { policy(s, sliceapi.InPlaceIfPossible); s.Paused = true; env(s) })
		p.change(func(s *sliceapi.StatefulSetSpec) { policy(s, sliceapi.InPlaceOnly); s.Paused = false })
		p.held("containers[web] cannot be changed in place, and the policy is InPlaceOnly; revert the change, or set updateStrategy.rollingUpdate.podUpdatePolicy to InPlaceIfPossible")
		p.kept(before)
	})
	p.step("R-064: the pods are made anew", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { policy(s, sliceapi.InPlaceIfPossible) })
		p.complete()
		p.madeAnew(before)
	})
}

// TestInPlaceResize: an update changes CPU and memory through the resize subresource, waits for the kubelet, and
// leaves all other resources alone.
func TestInPlaceResize(t *testing.T) {
	t.Parallel()
	t.Run("R-069: more CPU", func(t *testing.T) {
		p, before := burstable(t)
		p.must(api.Status().Patch(p.ctx, p.pod(0), client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"PodResizeInProgress","status":"True"}]}}`))))
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Resources = resources("150m", "300m")
		})
		p.eventually("the pod is resized", func() bool { return p.pod(0).Spec.Containers[0].Resources.Limits.Cpu().String() == "300m" })
		p.held("its containers do not run the update yet")
		p.must(api.Status().Patch(p.ctx, p.pod(0), client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"PodResizeInProgress","status":"False"}]}}`))))
		p.complete()
		p.kept(before)

		other := p.pod(0)
		other.Spec.Containers[0].Resources = resources("170m", "400m")
		p.must(api.SubResource("resize").Update(p.ctx, other))
		p.image("web:2")
		p.complete()
		p.kept(before)
		if limit := p.pod(0).Spec.Containers[0].Resources.Limits.Cpu().String(); limit != "400m" {
			t.Errorf("an update of the image has set the CPU limit to %s", limit)
		}
	})
}

// TestQoSChange: no resize can change the QoS class, so the pod is recreated.
func TestQoSChange(t *testing.T) {
	t.Parallel()
	t.Run("R-062, R-069: Burstable becomes Guaranteed", func(t *testing.T) {
		p, before := burstable(t)
		p.change(func(s *sliceapi.StatefulSetSpec) {
			both := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
			s.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: both, Requests: both} // Guaranteed
		})
		p.complete()
		if now := p.uids(); now["web-0"] == before["web-0"] {
			t.Error("web-0 was not made anew")
		}
	})
}

// burstable runs a pod whose CPU limit is twice its request.
func burstable(t *testing.T) (p *play, before map[string]types.UID) {
	t.Helper()
	set := inPlace(1, sliceapi.InPlaceIfPossible)
	set.Spec.Template.Spec.Containers[0].Resources = resources("100m", "200m")
	p = begin(t, set)
	return p, p.uids()
}

func resources(request, limit string) corev1.ResourceRequirements {
	quantities := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return corev1.ResourceRequirements{Requests: quantities(request), Limits: quantities(limit)}
}
