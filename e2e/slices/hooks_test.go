package slices

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

const (
	hookLabel     = "e2e.sliceshift.io/hook"
	hookFinalizer = "e2e.sliceshift.io/hook"
)

// patch applies a merge patch to a pod.
func (p *play) patch(ordinal int32, text string) {
	p.t.Helper()
	p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch(types.MergePatchType, []byte(text))))
}

// unlabel removes a label from a pod.
func (p *play) unlabel(ordinal int32, key string) {
	p.t.Helper()
	p.patch(ordinal, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key))
}

// TestPreDelete: a pod with the labels of the hook gets the termination reason. It is not Ready meanwhile if the hook
// requires it, and it remains until the labels are removed.
func TestPreDelete(t *testing.T) {
	t.Parallel()
	t.Run("R-073, R-074: by a label", func(t *testing.T) {
		set := inPlace(2, sliceapi.ReCreate)
		set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{}
		set.Spec.Template.Labels = map[string]string{"app": "web", hookLabel: "yes"}
		set.Spec.Lifecycle = &sliceapi.Lifecycle{PreDelete: &sliceapi.LifecycleHook{LabelsHandler: map[string]string{hookLabel: "yes"}, MarkPodNotReady: true}}
		p := begin(t, set)
		before := p.uids()
		p.image("web:2")
		p.held("web-1: lifecycle.preDelete holds it back")
		p.eventually("web-1 is not Ready", func() bool { return !fixture.IsReady(p.pod(1)) })
		if reason := p.pod(1).Annotations[sliceapi.TerminationReasonAnnotationKey]; reason != string(sliceapi.TerminationUpdate) {
			t.Errorf("web-1 is told %q", reason)
		}
		p.image("web:1") // it must not be deleted after all
		p.eventually("web-1 is Ready again", func() bool {
			_, told := p.pod(1).Annotations[sliceapi.TerminationReasonAnnotationKey]
			return fixture.IsReady(p.pod(1)) && !told
		})
		p.kept(before)
		p.image("web:2")
		for _, ordinal := range []int32{1, 0} {
			p.held(fmt.Sprintf("web-%d: lifecycle.preDelete holds it back", ordinal))
			p.unlabel(ordinal, hookLabel)
			p.eventually("it is another", func() bool {
				pod := p.pod(ordinal)
				return pod != nil && pod.UID != before[pod.Name]
			})
		}
		p.complete()
		p.scale(1)
		p.held("web-1: lifecycle.preDelete holds it back")
		p.unlabel(1, hookLabel)
		p.eventually("web-1 is gone", func() bool { return p.pod(1) == nil })
	})
}

// TestPreDeleteFinalizer: the hook may be a finalizer, which the owner of the hook removes.
func TestPreDeleteFinalizer(t *testing.T) {
	t.Parallel()
	t.Run("R-074: by a finalizer", func(t *testing.T) {
		set := slice(1)
		set.Spec.Lifecycle = &sliceapi.Lifecycle{PreDelete: &sliceapi.LifecycleHook{FinalizersHandler: []string{hookFinalizer}}}
		p := begin(t, set)
		p.patch(0, `{"metadata":{"finalizers":["`+hookFinalizer+`"]}}`)
		p.image("web:2")
		p.held("web-0: lifecycle.preDelete holds it back")
		if p.pod(0).DeletionTimestamp != nil {
			t.Error("web-0 was deleted, and only its finalizer keeps it")
		}
		p.patch(0, `{"metadata":{"finalizers":null}}`)
		p.complete()
	})
}

// TestInPlaceHook: a hook holds a pod back before its update in place.
func TestInPlaceHook(t *testing.T) {
	t.Parallel()
	t.Run("R-072, R-073: by a label", func(t *testing.T) {
		set := inPlace(2, sliceapi.InPlaceIfPossible)
		set.Spec.Lifecycle = &sliceapi.Lifecycle{InPlaceUpdate: &sliceapi.LifecycleHook{LabelsHandler: map[string]string{hookLabel: "yes"}, MarkPodNotReady: true}}
		p := begin(t, set)
		p.patch(1, fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, hookLabel))
		before := p.uids()
		p.image("web:2")
		p.held("web-1: lifecycle.inPlaceUpdate holds it back")
		p.eventually("web-1 is not Ready", func() bool { return !fixture.IsReady(p.pod(1)) })
		if images := p.images(); images["web-1"] != "web:1" || images["web-0"] != "web:1" {
			t.Errorf("images %v", images)
		}
		p.unlabel(1, hookLabel)
		p.complete()
		p.kept(before)
	})
}

// TestSpecifiedDelete: a pod with a request for deletion, by label or annotation, is replaced as the budget allows and
// at the revision of its ordinal.
func TestSpecifiedDelete(t *testing.T) {
	set := slice(4)
	p := begin(t, set)
	p.step("R-075: by its label", func(*testing.T) {
		before := p.uids()
		p.patch(1, `{"metadata":{"labels":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`)
		p.eventually("web-1 is another", func() bool { pod := p.pod(1); return pod != nil && pod.UID != before["web-1"] })
		p.complete()
		before["web-1"] = p.pod(1).UID
		p.kept(before)
	})
	p.change(func(s *sliceapi.StatefulSetSpec) {
		s.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(2)) })
		s.Template.Spec.Containers[0].Image = "web:2"
	})
	p.eventually("2 and 3 are updated", func() bool { s := p.read().Status; return s.UpdatedReplicas == 2 && s.AvailableReplicas == 4 })
	before := p.uids()
	p.step("R-076, R-078: as the budget allows, and at the revision of their ordinals", func(t *testing.T) {
		p.hold(p.pod(1))
		p.patch(1, `{"metadata":{"labels":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`)
		p.eventually("web-1 goes", func() bool { return p.pod(1).DeletionTimestamp != nil })
		p.patch(3, `{"metadata":{"annotations":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`)
		p.held("web-3: it waits until fewer than maxUnavailable (1) pods are unavailable")
		p.letGo(1)
		p.eventually("both are others", func() bool {
			now := p.uids()
			return len(now) == 4 && now["web-1"] != before["web-1"] && now["web-3"] != before["web-3"]
		})
		p.imagesAre("web:1", "web:1", "web:2", "web:2")
		if now := p.uids(); now["web-0"] != before["web-0"] || now["web-2"] != before["web-2"] {
			t.Errorf("others were replaced: %v, before %v", now, before)
		}
		if s := p.read().Status; s.CurrentRevision == s.UpdateRevision {
			t.Errorf("status %+v", s)
		}
	})
}

// TestPausedHeals: a paused rollout replaces pods, scales, reports that it is paused, and can continue.
func TestPausedHeals(t *testing.T) {
	p := begin(t, slice(2))
	p.step("R-043, D-031: its pods are left alone", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Paused = true })
			s.Template.Spec.Containers[0].Image = "web:2"
		})
		p.held("the update is paused")
		p.imagesAre("web:1", "web:1")
		if s := p.read().Status; s.CurrentRevision == s.UpdateRevision {
			t.Errorf("status %+v", s)
		}
	})
	p.step("R-044, D-031: it is scaled up", func(*testing.T) {
		p.scale(3)
		p.imagesAre("web:1", "web:1", "web:2")
	})
	p.step("R-045, D-031: it goes on", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Paused = false })
		p.complete()
		p.imagesAre("web:2", "web:2", "web:2")
	})
}

// TestTerminationGrace: a pod has time to read its termination reason, and keeps running if the deletion is cancelled.
func TestTerminationGrace(t *testing.T) {
	set := slice(1)
	set.Spec.TerminationReasonGraceSeconds = 60 // long enough to see it and to cancel it
	p := begin(t, set)
	before := p.uids()
	p.image("web:2")
	p.held("it is notified of its deletion: Update")
	p.image("web:1")
	p.complete()
	p.eventually("nothing is announced any more", func() bool {
		_, told := p.pod(0).Annotations[sliceapi.TerminationReasonAnnotationKey]
		_, since := p.pod(0).Annotations[sliceapi.TerminationTimeAnnotationKey]
		return !told && !since
	})
	p.kept(before)
	p.hold(p.pod(0))
	p.change(func(s *sliceapi.StatefulSetSpec) {
		s.TerminationReasonGraceSeconds, s.Template.Spec.Containers[0].Image = 2, "web:3"
	})
	p.eventually("web-0 goes", func() bool { return p.pod(0).DeletionTimestamp != nil })
	told, err := time.Parse(time.RFC3339Nano, p.pod(0).Annotations[sliceapi.TerminationTimeAnnotationKey])
	p.must(err)
	// A deletion timestamp is the end of the pod's grace period, truncated to seconds.
	gone := p.pod(0).DeletionTimestamp.Add(-time.Duration(*p.pod(0).DeletionGracePeriodSeconds) * time.Second)
	if gone.Sub(told) < time.Second {
		t.Errorf("told at %s, deleted at %s", told, gone)
	}
	p.letGo(0)
	p.complete()
}

// TestUnorderedUpdate: labels decide which pods are updated first.
func TestUnorderedUpdate(t *testing.T) {
	for name, strategy := range map[string]*sliceapi.PriorityStrategy{
		"weight": {WeightPriority: []sliceapi.WeightTerm{
			{Weight: 50, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"rank": "1"}}},
			{Weight: 20, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"rank": "0"}}},
		}},
		"order": {OrderPriority: []sliceapi.OrderTerm{{OrderedKey: "order"}}},
	} {
		t.Run("R-036 R-037 "+name, func(t *testing.T) {
			set := slice(4)
			set.Spec.PodManagementPolicy = "Parallel"
			set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) {
				r.UnorderedUpdate = &sliceapi.UnorderedUpdate{PriorityStrategy: strategy}
			})
			p := begin(t, set)
			p.patch(0, `{"metadata":{"labels":{"rank":"1","order":"a-20"}}}`)
			p.patch(1, `{"metadata":{"labels":{"rank":"0","order":"a-3"}}}`)
			var order []string
			p.eventually("the controller has seen the labels", func() bool { return p.pod(1).Labels["rank"] == "0" })
			p.image("web:2")
			for len(order) < 4 {
				for _, pod := range p.pods() {
					if pod.Spec.Containers[0].Image == "web:2" && !strings.Contains(strings.Join(order, " "), pod.Name) {
						order = append(order, pod.Name)
					}
				}
				p.must(p.ctx.Err())
			}
			if got := strings.Join(order, " "); got != "web-0 web-1 web-3 web-2" {
				t.Errorf("updated in the order %s", got)
			}
		})
	}
}

// TestReserveOrdinals: a reserved ordinal is removed, and the next one above is used, in any order of edits.
func TestReserveOrdinals(t *testing.T) {
	p := begin(t, slice(4))
	for _, step := range []struct {
		name            string
		start, replicas int32
		reserve         []intstr.IntOrString
		want            string
	}{
		{"R-002 one is reserved", 0, 4, []intstr.IntOrString{intstr.FromInt32(1)}, "web-0 web-2 web-3 web-4"},
		{"R-002 another one, too", 0, 4, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromInt32(3)}, "web-0 web-2 web-4 web-5"},
		{"scaled down", 0, 3, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromInt32(3)}, "web-0 web-2 web-4"},
		{"R-008 from 1", 1, 4, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("3-4")}, "web-2 web-5 web-6 web-7"},
		{"R-005 none is reserved", 2, 3, nil, "web-2 web-3 web-4"},
		{"R-007 all of the range are", 2, 3, []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("2-5")}, "web-6 web-7 web-8"},
		{"two, from 0", 0, 4, []intstr.IntOrString{intstr.FromInt32(1)}, "web-0 web-2 web-3 web-4"},
		{"R-003 one is reserved, and one less is asked for", 0, 3, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromInt32(3)}, "web-0 web-2 web-4"},
	} {
		p.step(step.name, func(*testing.T) {
			p.change(func(s *sliceapi.StatefulSetSpec) {
				s.Ordinals, s.Replicas, s.ReserveOrdinals = &sliceapi.Ordinals{Start: step.start}, &step.replicas, step.reserve
			})
			p.podsAre(step.want)
		})
	}
}

// podsAre waits until exactly these pods exist.
func (p *play) podsAre(want string) {
	p.t.Helper()
	p.eventually("the pods are "+want, func() bool {
		var names []string
		for _, pod := range p.pods() {
			names = append(names, pod.Name)
		}
		return strings.Join(names, " ") == want
	})
}

// TestScaleStrategy: no more pods than scaleStrategy allows are created at once.
func TestScaleStrategy(t *testing.T) {
	t.Parallel()
	t.Run("R-042: two of five", func(t *testing.T) {
		set := slice(5)
		set.Spec.PodManagementPolicy = "Parallel"
		set.Spec.ScaleStrategy = &sliceapi.ScaleStrategy{MaxUnavailable: new(intstr.FromInt32(2))}
		set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
		p := newPlay(t, set)
		p.must(api.Create(p.ctx, set))
		p.held("web-2: it is created when fewer than 2 pods are unavailable")
		p.podsAre("web-0 web-1")
		p.makeReady(0)
		p.podsAre("web-0 web-1 web-2")
	})
}

// makeReady sets the Ready condition as a kubelet would.
func (p *play) makeReady(ordinal int32) {
	p.t.Helper()
	pod := p.pod(ordinal)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	p.must(api.Status().Update(p.ctx, pod))
}
