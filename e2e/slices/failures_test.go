package slices

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// healthy waits until the set reports no failure of that kind.
func (p *play) healthy(kind string) {
	p.t.Helper()
	p.eventually("no condition "+kind, func() bool { return meta.FindStatusCondition(p.read().Status.Conditions, kind) == nil })
}

// TestQuota: while the API server refuses pods, the status counts the existing pods and reports the refusal. The
// remaining pods are created once they are admitted.
func TestQuota(t *testing.T) {
	eachManagement(t, "K-019 K-027 D-020 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := slice(4)
		set.Spec.PodManagementPolicy = policy
		p := newPlay(t, set)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "pods"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
		}
		p.must(api.Create(p.ctx, quota))
		p.eventually("the quota counts", func() bool {
			_ = api.Get(p.ctx, client.ObjectKeyFromObject(quota), quota)
			return len(quota.Status.Used) > 0
		})
		p.must(api.Create(p.ctx, set))
		p.condition(sliceapi.ConditionFailedCreatePod, "exceeded quota")
		p.eventually("two pods are counted", func() bool { s := p.read().Status; return s.Replicas == 2 && s.AvailableReplicas == 2 })
		p.event("FailedCreate", "exceeded quota")
		before := quota.DeepCopy()
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}
		p.must(api.Patch(p.ctx, quota, client.MergeFrom(before)))
		p.complete()
		p.healthy(sliceapi.ConditionFailedCreatePod)
	})
}

// TestRangeUnderQuota: a range moves under a quota that has room for its pods only. Pods that leave make room for new ones,
// one at a time.
func TestRangeUnderQuota(t *testing.T) {
	eachManagement(t, "Y5 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := slice(3)
		set.Spec.PodManagementPolicy = policy
		p := begin(t, set)
		p.must(api.Create(p.ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "pods"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}},
		}))
		p.eventually("the quota counts", func() bool {
			quota := &corev1.ResourceQuota{}
			_ = api.Get(p.ctx, client.ObjectKey{Namespace: set.Namespace, Name: "pods"}, quota)
			return len(quota.Status.Used) > 0
		})
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Ordinals = &sliceapi.Ordinals{Start: 20} })
		p.condition(sliceapi.ConditionFailedCreatePod, "exceeded quota")
		p.complete()
		p.eventually("the former range has no pods", func() bool { return len(p.pods()) == 3 && p.pod(20) != nil })
	})
}

// TestRefusedTemplate: a template whose pods the API server refuses can be corrected, both at creation and in an
// update.
func TestRefusedTemplate(t *testing.T) {
	broken := func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.PriorityClassName = "missing" }
	whole := func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.PriorityClassName = "" }
	set := slice(2)
	broken(&set.Spec)
	p := newPlay(t, set)
	p.step("K-019: the first one", func(*testing.T) {
		p.must(api.Create(p.ctx, set))
		p.condition(sliceapi.ConditionFailedCreatePod, "no PriorityClass with name missing")
		p.change(whole)
		p.complete()
		p.healthy(sliceapi.ConditionFailedCreatePod)
	})
	p.step("S-007: one of an update", func(t *testing.T) {
		p.change(broken)
		p.condition(sliceapi.ConditionFailedCreatePod, "web-1")
		if p.pod(0) == nil {
			t.Error("web-0 was deleted though web-1 could not be made")
		}
		p.change(whole)
		p.complete()
	})
}

// TestTerminating: a terminating pod is not replaced before it is deleted; finished pods are replaced.
func TestTerminating(t *testing.T) {
	t.Parallel()
	t.Run("K-026, D-017: one that is held, one that failed, one that succeeded", func(t *testing.T) {
		set := slice(3)
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		p := begin(t, set)
		before := p.uids()
		p.hold(p.pod(0))
		p.must(api.Delete(p.ctx, p.pod(0)))
		for ordinal, phase := range map[int32]corev1.PodPhase{1: corev1.PodFailed, 2: corev1.PodSucceeded} {
			pod := p.pod(ordinal)
			pod.Status.Phase = phase
			p.must(api.Status().Update(p.ctx, pod))
		}
		p.eventually("1 and 2 are replaced", func() bool {
			now := p.uids()
			return len(now) == 3 && now["web-1"] != before["web-1"] && now["web-2"] != before["web-2"]
		})
		p.held("web-0: it is Terminating")
		if p.pod(0).UID != before["web-0"] {
			t.Error("web-0 was replaced while it was on its way out")
		}
		p.letGo(0)
		p.complete()
		p.eventually("web-0 is replaced", func() bool { pod := p.pod(0); return pod != nil && pod.UID != before["web-0"] })
	})
}

// TestOrphans: a pod without a controller is adopted. A pod whose labels no longer match is released and keeps
// running.
func TestOrphans(t *testing.T) {
	p := begin(t, slice(2))
	before := p.uids()
	adopted := func() bool { return metav1.IsControlledBy(p.pod(1), p.set) }
	p.step("K-130: the set controls its pods", func(t *testing.T) {
		for _, pod := range p.pods() {
			owner := metav1.GetControllerOf(&pod)
			if owner == nil || owner.UID != p.set.UID || owner.Kind != "StatefulSet" || owner.Name != "web" || owner.APIVersion != sliceapi.GroupVersion.String() {
				t.Errorf("%s is controlled by %v", pod.Name, owner)
			}
		}
	})
	p.step("K-131: one without an owner is adopted", func(*testing.T) {
		p.patch(1, `{"metadata":{"ownerReferences":null}}`)
		p.eventually("web-1 is adopted", adopted)
	})
	p.step("D-037: a plain owner becomes the controller", func(*testing.T) {
		loose := *metav1.NewControllerRef(p.set, sliceapi.GroupVersion.WithKind("StatefulSet"))
		loose.Controller = nil
		pod := p.pod(1)
		pod.OwnerReferences = []metav1.OwnerReference{loose}
		p.must(api.Update(p.ctx, pod))
		p.eventually("web-1 is adopted once more", func() bool { return adopted() && len(p.pod(1).OwnerReferences) == 1 })
	})
	p.step("K-132, K-135, D-038: one with other labels is let go", func(*testing.T) {
		p.patch(1, `{"metadata":{"labels":{"app":null}}}`)
		p.eventually("web-1 is released", func() bool { return len(p.pod(1).OwnerReferences) == 0 })
		p.condition(sliceapi.ConditionFailedCreatePod, "already exists")
		p.kept(before)
	})
	p.step("K-133, D-038: with its labels it is adopted again", func(*testing.T) {
		p.patch(1, `{"metadata":{"labels":{"app":"web"}}}`)
		p.eventually("web-1 is adopted again", adopted)
		p.complete()
		p.healthy(sliceapi.ConditionFailedCreatePod)
		p.kept(before)
	})
	p.step("K-134: neither one of another name, nor one that others control", func(t *testing.T) {
		foreignPod, ward := p.pod(0).DeepCopy(), p.pod(0).DeepCopy()
		foreignPod.ObjectMeta = metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "foreign-pod", Labels: map[string]string{"app": "web"}}
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "owner"}}
		p.must(api.Create(p.ctx, owner))
		ward.ObjectMeta = metav1.ObjectMeta{
			Namespace: p.set.Namespace, Name: "web-7", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		}
		p.must(api.Create(p.ctx, foreignPod))
		p.must(api.Create(p.ctx, ward))
		p.settled()
		for _, pod := range []*corev1.Pod{foreignPod, ward} {
			p.must(api.Get(p.ctx, client.ObjectKeyFromObject(pod), pod))
			if metav1.IsControlledBy(pod, p.set) {
				t.Errorf("%s was adopted: %v", pod.Name, pod.OwnerReferences)
			}
		}
	})
}

// TestDeletedSetAdoptsNothing: a set that is being deleted neither adopts nor creates a pod, and its pods get the
// termination reason.
func TestDeletedSetAdoptsNothing(t *testing.T) {
	t.Parallel()
	t.Run("K-031, K-035, D-050: a pod without an owner, and one that is missing", func(t *testing.T) {
		set := readsReason(slice(2))
		set.Finalizers = []string{"e2e.sliceshift.io/hold"}
		p := begin(t, set)
		p.patch(1, `{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`)
		p.must(api.Delete(p.ctx, p.read()))
		p.eventually("web-0 is told", func() bool {
			return p.pod(0).Annotations[sliceapi.TerminationReasonAnnotationKey] == string(sliceapi.TerminationDeletion)
		})
		p.patch(1, `{"metadata":{"ownerReferences":null}}`)
		p.must(api.Delete(p.ctx, p.pod(0)))
		p.eventually("web-0 is gone", func() bool { return p.pod(0) == nil })
		p.must(api.Patch(p.ctx, p.read(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"touched":"yes"}}}`))))
		p.eventually("the status counts", func() bool { return p.read().Status.Replicas == 0 })
		if p.pod(0) != nil || len(p.pod(1).OwnerReferences) > 0 {
			t.Errorf("a set that is being deleted went on\n%s", p)
		}
		p.must(api.Patch(p.ctx, p.read(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
		p.letGo(1)
	})
}

// TestOverlap: sets with the same selector keep to their own pods. A set with the name of an apps/v1 set reports that
// its pods exist already, and adopts them when they are orphaned.
func TestOverlap(t *testing.T) {
	p := begin(t, slice(2))
	other := slice(2)
	other.Namespace, other.Name = p.set.Namespace, "web-1"
	p.step("D-034: each keeps to its own", func(*testing.T) {
		before := p.uids()
		p.must(api.Create(p.ctx, other))
		p.podsAre("web-0 web-1 web-1-0 web-1-1")
		changed := other.DeepCopy()
		changed.Spec.Template.Spec.Containers[0].Image = "web:2"
		p.must(api.Patch(p.ctx, changed, client.MergeFrom(other)))
		p.eventually("the other's pods are updated", func() bool {
			images := p.images()
			return images["web-1-0"] == "web:2" && images["web-1-1"] == "web:2"
		})
		p.complete()
		p.must(api.Delete(p.ctx, other))
		p.podsAre("web-0 web-1")
		p.kept(before)
	})

	q := p.set.DeepCopy()
	native := p.native()
	native.Name = "same"
	p.must(api.Create(p.ctx, native))
	p.podsAre("same-0 same-1 web-0 web-1")
	q.ObjectMeta = metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "same"}
	p.must(api.Create(p.ctx, q))
	former := p.set
	p.set = q
	p.condition(sliceapi.ConditionFailedCreatePod, `pods "same-0" already exists`)
	before := p.uids()
	p.must(api.Delete(p.ctx, native, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	p.complete()
	p.kept(before)
	p.set = former
	p.complete()
}

// TestLongNames: the longest accepted name works up to the largest ordinal. A longer name is refused with a reason.
func TestLongNames(t *testing.T) {
	set := withClaim(slice(2))
	set.Name = strings.Repeat("n", 52)
	set.Spec.Ordinals = &sliceapi.Ordinals{Start: 2147483640}
	p := begin(t, set)
	p.image("web:2")
	p.complete()
	longer := slice(1)
	longer.Namespace, longer.Name = set.Namespace, set.Name+"n"
	if err := api.Create(p.ctx, longer); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "at most 52 characters") {
		t.Errorf("a name of 53 characters: %v", err)
	}
}

// TestDeadline: a rollout without progress is reported. It continues when it can. If onFailure requests that, its
// revision is remembered as failed, and its pods return.
func TestDeadline(t *testing.T) {
	for _, onFailure := range []sliceapi.OnFailure{sliceapi.Halt, sliceapi.Rollback} {
		t.Run("D-033 "+string(onFailure), func(t *testing.T) {
			set := slice(2)
			set.Spec.ProgressDeadlineSeconds = new(int32(2))
			set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.OnFailure = onFailure })
			p := begin(t, set)
			before := p.uids()
			first := p.read().Status.CurrentRevision
			p.change(neverReady)
			p.eventually("web-1 is stuck", func() bool { return p.images()["web-1"] == stuck })
			if onFailure == sliceapi.Rollback {
				p.tookBack(first)
				if now := p.uids(); now["web-0"] != before["web-0"] {
					t.Error("web-0 was replaced")
				}
				p.failedUntilChanged(first)
				return
			}
			p.eventually("the deadline has passed", func() bool {
				c := meta.FindStatusCondition(p.read().Status.Conditions, sliceapi.ConditionProgressing)
				return c.Status == metav1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
			})
			p.makeReady(1)
			p.eventually("the roll-out goes on", func() bool {
				pod := p.pod(0)
				return pod != nil && pod.UID != before["web-0"] && pod.Spec.NodeName != ""
			})
			p.makeReady(0)
			p.complete()
		})
	}
}

// neverReady changes the template so that its pods never become Ready.
func neverReady(s *sliceapi.StatefulSetSpec) {
	s.Template.Spec.Containers[0].Image = stuck
	s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}
}

// tookBack waits until all pods serve at a former revision, because that of the template has failed. The template stays.
func (p *play) tookBack(former string) {
	p.t.Helper()
	p.event("RolledBack", former)
	p.eventually("the pods are back", func() bool {
		set := p.read()
		s, want := set.Status, *set.Spec.Replicas
		return s.FailedRevision != "" && s.FailedRevision == s.UpdateRevision && s.CurrentRevision == former &&
			s.CurrentReplicas == want && s.AvailableReplicas == want && s.Replicas == want
	})
	p.waits(sliceapi.ConditionStalled, status.FailedStatus)
	set := p.read()
	stalled := meta.FindStatusCondition(set.Status.Conditions, sliceapi.ConditionStalled)
	if stalled == nil || stalled.Reason != sliceapi.ReasonRevisionFailed || set.Spec.Template.Spec.Containers[0].Image != stuck {
		p.t.Errorf("%+v, image %s", stalled, set.Spec.Template.Spec.Containers[0].Image)
	}
}

// failedUntilChanged checks that applying the failed template again changes nothing, and that another template is rolled
// out.
func (p *play) failedUntilChanged(former string) {
	p.t.Helper()
	before, generation := p.uids(), p.read().Generation
	for range 3 {
		stored, applied := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		for _, object := range []*unstructured.Unstructured{stored, applied} {
			object.SetGroupVersionKind(sliceapi.GroupVersion.WithKind("StatefulSet"))
			object.SetNamespace(p.set.Namespace)
			object.SetName(p.set.Name)
		}
		p.must(api.Get(p.ctx, client.ObjectKeyFromObject(stored), stored))
		template, _, err := unstructured.NestedMap(stored.Object, "spec", "template")
		p.must(err)
		p.must(unstructured.SetNestedMap(applied.Object, template, "spec", "template"))
		p.must(api.Apply(p.ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("repository"), client.ForceOwnership))
	}
	p.scale(3)
	p.eventually("the third pod has the former revision", func() bool {
		pod := p.pod(2)
		return pod != nil && pod.Labels[appsv1.StatefulSetRevisionLabel] == former
	})
	p.tookBack(former)
	now := p.uids()
	delete(now, "web-2")
	if !equality.Semantic.DeepEqual(now, before) || p.read().Generation != generation+1 {
		p.t.Errorf("pods %v became %v, and generation %d became %d", before, now, generation, p.read().Generation)
	}
	p.change(func(s *sliceapi.StatefulSetSpec) {
		s.Template.Spec.Containers[0].Image, s.Template.Annotations = "web:2", nil
	})
	p.complete()
	if failed := p.read().Status.FailedRevision; failed != "" {
		p.t.Errorf("revision %s is still said to have failed", failed)
	}
}

// TestRecreateIsTakenBack: with Recreate, all pods were deleted at once, and those of the new template do not become
// Ready: the pods return to the former template.
func TestRecreateIsTakenBack(t *testing.T) {
	t.Parallel()
	t.Run("U-04: at its deadline", func(t *testing.T) {
		set := slice(2)
		set.Spec.ProgressDeadlineSeconds = new(int32(2))
		set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.Recreate, Recreate: &sliceapi.RecreateStrategy{OnFailure: sliceapi.Rollback}}
		p := begin(t, set)
		before, first := p.uids(), p.read().Status.CurrentRevision
		p.change(neverReady)
		p.tookBack(first)
		if p.uids()["web-0"] == before["web-0"] {
			t.Errorf("web-0 was never replaced: %s", p)
		}
	})
}

// TestCollision: a revision of the same name with other content is not adopted: another name is chosen.
func TestCollision(t *testing.T) {
	t.Parallel()
	t.Run("K-223, D-018: a planted revision", func(t *testing.T) {
		p := begin(t, slice(1))
		name := p.read().Status.UpdateRevision
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.set.Namespace + "-b"}}
		p.must(api.Create(p.ctx, namespace))
		p.must(api.Create(p.ctx, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name}, Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		}))
		p.eventually("the namespace has its ServiceAccount", func() bool {
			return api.Get(p.ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{}) == nil
		})
		set := slice(1)
		set.Namespace = namespace.Name
		p.set = set
		p.must(api.Create(p.ctx, set))
		p.complete()
		if s := p.read().Status; s.CollisionCount == nil || *s.CollisionCount != 1 || s.UpdateRevision == name {
			t.Errorf("status %+v", s)
		}
		if labels := p.pod(0).Labels; !equality.Semantic.DeepEqual(labels[appsv1.StatefulSetRevisionLabel], p.read().Status.UpdateRevision) {
			t.Errorf("labels %v", labels)
		}
	})
}
