package slices

import (
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// stuck is an image whose pods never become ready: see block.
const stuck = "web:stuck"

// TestIdentity: names, hostnames, labels and claims are those that apps/v1 makes.
// K-002, K-012, K-029, S-013.
func TestIdentity(t *testing.T) {
	set := withClaim(slice(3))
	set.Spec.Ordinals = &sliceapi.Ordinals{Start: 1}
	p := begin(t, set)
	for ordinal := int32(1); ordinal <= 3; ordinal++ {
		pod := p.pod(ordinal)
		if pod == nil {
			t.Fatalf("web-%d does not exist", ordinal)
		}
		for key, want := range map[string]string{
			appsv1.StatefulSetPodNameLabel: pod.Name, appsv1.PodIndexLabel: strconv.Itoa(int(ordinal)), appsv1.StatefulSetRevisionLabel: p.read().Status.UpdateRevision,
		} {
			if pod.Labels[key] != want {
				t.Errorf("label %s of %s is %q, want %q", key, pod.Name, pod.Labels[key], want)
			}
		}
		if pod.Spec.Hostname != pod.Name || pod.Spec.Subdomain != "web" {
			t.Errorf("%s has hostname %s.%s", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
		}
		claim := &corev1.PersistentVolumeClaim{}
		p.must(api.Get(p.ctx, client.ObjectKey{Namespace: set.Namespace, Name: "data-" + pod.Name}, claim))
		if claim.Labels["app"] != "web" || len(claim.OwnerReferences) > 0 {
			t.Errorf("claim %s has labels %v and owners %v", claim.Name, claim.Labels, claim.OwnerReferences)
		}
	}
	if status := p.read().Status; status.Replicas != 3 || status.ReadyReplicas != 3 || status.CurrentReplicas != 3 || status.LabelSelector != "app=web" {
		t.Errorf("status %+v", status)
	}
}

// TestScale goes up and down, and shifts the range. K-003, K-028, S-012, S-014.
func TestScale(t *testing.T) {
	for name, policy := range map[string]appsv1.PodManagementPolicyType{"ordered": appsv1.OrderedReadyPodManagement, "parallel": appsv1.ParallelPodManagement} {
		t.Run(name, func(t *testing.T) {
			set := withClaim(slice(2))
			set.Spec.PodManagementPolicy = policy
			p := begin(t, set)
			for _, to := range []struct{ start, replicas int32 }{{0, 4}, {0, 1}, {2, 3}, {0, 3}, {0, 0}, {0, 2}} {
				p.change(func(s *sliceapi.StatefulSetSpec) {
					s.Replicas, s.Ordinals = &to.replicas, &sliceapi.Ordinals{Start: to.start}
				})
				p.complete()
				p.eventually("the pods are those of the range", func() bool {
					pods := p.pods()
					if len(pods) != int(to.replicas) {
						return false
					}
					for ordinal := to.start; ordinal < to.start+to.replicas; ordinal++ {
						if p.pod(ordinal) == nil {
							return false
						}
					}
					return true
				})
			}
		})
	}
}

// TestReplaced: a pod that is deleted or given up comes again, with its claim. K-015,
// K-016, K-017, K-036, D-015.
func TestReplaced(t *testing.T) {
	p := begin(t, withClaim(slice(3)))
	before := p.uids()
	p.must(api.Delete(p.ctx, p.pod(1)))
	failed := p.pod(2)
	failed.Status.Phase = corev1.PodFailed
	p.must(api.Status().Update(p.ctx, failed))
	p.eventually("both are replaced", func() bool {
		now := p.uids()
		return len(now) == 3 && now["web-1"] != before["web-1"] && now["web-2"] != before["web-2"]
	})
	p.complete()
	if p.uids()["web-0"] != before["web-0"] {
		t.Error("web-0 was replaced, too")
	}
}

// TestRollingUpdate rolls in descending order, and back to the same revision. K-050,
// K-051, K-062, S-006, D-012.
func TestRollingUpdate(t *testing.T) {
	p := begin(t, slice(3))
	first := p.read().Status.UpdateRevision
	p.image("web:2")
	p.complete()
	for name, image := range p.images() {
		if image != "web:2" {
			t.Errorf("%s runs %s", name, image)
		}
	}
	second := p.read().Status.UpdateRevision
	if number := p.revisions()[second].Revision; second == first || number != 2 {
		t.Errorf("another template is revision %d, %s; the first was %s", number, second, first)
	}
	for _, pod := range p.pods() {
		if label := pod.Labels[appsv1.StatefulSetRevisionLabel]; label != second {
			t.Errorf("%s is labelled %s, want %s", pod.Name, label, second)
		}
	}
	p.image("web:1")
	p.complete()
	if back := p.read().Status.UpdateRevision; back != first {
		t.Errorf("the former template has revision %s, want %s", back, first)
	}
	p.settled()
}

// settled checks that a complete set is not written to any more.
func (p *play) settled() {
	p.t.Helper()
	version := p.read().ResourceVersion
	p.must(api.Patch(p.ctx, p.pod(0), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"touched":"yes"}}}`))))
	p.eventually("the controller has seen the pod", func() bool { return p.pod(0).Annotations["touched"] == "yes" })
	if now := p.read().ResourceVersion; now != version {
		p.t.Errorf("a settled set was written: %s, then %s", version, now)
	}
}

// TestPartition updates only what is not below it; a pod below is made at the current
// revision again. K-053, K-056, S-001, S-005.
func TestPartition(t *testing.T) {
	set := slice(4)
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(2)) })
	p := begin(t, set)
	p.image("web:2")
	want := map[string]string{"web-0": "web:1", "web-1": "web:1", "web-2": "web:2", "web-3": "web:2"}
	p.eventually("2 and 3 are updated", func() bool { return equality.Semantic.DeepEqual(p.images(), want) })
	gone := p.pod(0)
	p.must(api.Delete(p.ctx, gone))
	p.eventually("web-0 is back", func() bool { pod := p.pod(0); return pod != nil && pod.UID != gone.UID })
	if images := p.images(); !equality.Semantic.DeepEqual(images, want) {
		t.Errorf("images %v, want %v", images, want)
	}
	p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
	p.complete()
}

func rolling(edit func(*sliceapi.RollingUpdateStrategy)) sliceapi.StatefulSetUpdateStrategy {
	r := &sliceapi.RollingUpdateStrategy{}
	edit(r)
	return sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate, RollingUpdate: r}
}

// TestNoHistory keeps no revision that no pod is of. D-045.
func TestNoHistory(t *testing.T) {
	set := slice(2)
	set.Spec.RevisionHistoryLimit = new(int32(0))
	p := begin(t, set)
	p.image("web:2")
	p.complete()
	p.eventually("only the revision in use is left", func() bool {
		_, found := p.revisions()[p.read().Status.UpdateRevision]
		return found && len(p.revisions()) == 1
	})
}

// TestOnDelete leaves it to whoever deletes a pod. K-059, K-061, D-013.
func TestOnDelete(t *testing.T) {
	set := slice(2)
	set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.OnDelete}
	p := begin(t, set)
	p.image("web:2")
	p.eventually("the new revision is known", func() bool { s := p.read().Status; return s.UpdateRevision != s.CurrentRevision })
	if s := p.read().Status; p.revisions()[s.UpdateRevision].Revision != 2 || p.pod(0).Labels[appsv1.StatefulSetRevisionLabel] != s.CurrentRevision {
		t.Errorf("status %+v, revisions %v", s, p.revisions())
	}
	p.must(api.Delete(p.ctx, p.pod(1)))
	p.eventually("only web-1 is updated", func() bool {
		return equality.Semantic.DeepEqual(p.images(), map[string]string{"web-0": "web:1", "web-1": "web:2"})
	})
}

// TestRecreate starts no new pod while an old one is there. S-017.
func TestRecreate(t *testing.T) {
	set := slice(3)
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.Recreate}
	p := begin(t, set)
	p.image("web:2")
	for done := false; !done; {
		images := map[string]bool{}
		for _, image := range p.images() {
			images[image] = true
		}
		if len(images) > 1 {
			t.Fatalf("old and new pods run at once: %v", p.images())
		}
		s := p.read().Status
		done = s.CurrentRevision == s.UpdateRevision && s.UpdatedReplicas == 3 && images["web:2"]
		p.must(p.ctx.Err())
	}
	p.complete()
}

// TestBudget: never more pods are down than maxUnavailable allows. K-065, K-067, S-002,
// S-003.
func TestBudget(t *testing.T) {
	for name, policy := range map[string]appsv1.PodManagementPolicyType{"ordered": appsv1.OrderedReadyPodManagement, "parallel": appsv1.ParallelPodManagement} {
		t.Run(name, func(t *testing.T) {
			set := slice(6)
			set.Spec.PodManagementPolicy = policy
			set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.MaxUnavailable = new(intstr.FromString("30%")) })
			p := begin(t, set)
			p.image("web:2")
			for p.read().Status.UpdatedReplicas < 6 {
				ready := 0
				for _, pod := range p.pods() {
					if pod.DeletionTimestamp == nil && isReady(&pod) {
						ready++
					}
				}
				if ready < 4 {
					t.Fatalf("only %d of 6 are ready\n%s", ready, p)
				}
				p.must(p.ctx.Err())
			}
			p.complete()
		})
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestStuckRollout: a roll-out whose pods never become ready is rolled back, and
// forward, and nobody deletes a pod (kubernetes issue 67250). K-070, S-007.
func TestStuckRollout(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement} {
		for _, way := range []string{"web:1", "web:3"} {
			t.Run(string(policy)+" to "+way, func(t *testing.T) {
				set := slice(3)
				set.Spec.PodManagementPolicy = policy
				p := begin(t, set)
				p.change(func(s *sliceapi.StatefulSetSpec) {
					s.Template.Spec.Containers[0].Image = stuck
					s.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
				})
				p.eventually("web-2 is stuck", func() bool { return p.images()["web-2"] == stuck })
				p.change(func(s *sliceapi.StatefulSetSpec) {
					s.Template.Spec.Containers[0].Image = way
					s.Template.Annotations = nil
				})
				p.complete()
				for name, image := range p.images() {
					if image != way {
						t.Errorf("%s runs %s", name, image)
					}
				}
			})
		}
	}
}

// TestPaused stops updates and nothing else. S-019.
func TestPaused(t *testing.T) {
	set := slice(2)
	set.Spec.Paused = true
	p := begin(t, set)
	p.image("web:2")
	p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(3)) })
	p.eventually("a third pod is made", func() bool { return len(p.pods()) == 3 })
	if images := p.images(); images["web-0"] != "web:1" || images["web-1"] != "web:1" {
		t.Errorf("images %v", images)
	}
	p.change(func(s *sliceapi.StatefulSetSpec) { s.Paused = false })
	p.complete()
}

// TestTerminationReason: a pod knows why it goes before it is deleted.
func TestTerminationReason(t *testing.T) {
	set := slice(2)
	set.Spec.Template.Finalizers = nil
	p := begin(t, set)
	hold := func(ordinal int32) {
		p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
	}
	expect := func(ordinal int32, want sliceapi.TerminationReason) {
		p.eventually("the pod is Terminating", func() bool { pod := p.pod(ordinal); return pod != nil && pod.DeletionTimestamp != nil })
		if got := p.pod(ordinal).Annotations[sliceapi.TerminationReasonAnnotationKey]; got != string(want) {
			t.Errorf("web-%d goes for %q, want %q", ordinal, got, want)
		}
		p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	}
	hold(1)
	p.image("web:2")
	expect(1, sliceapi.TerminationUpdate)
	p.complete()
	hold(1)
	p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = new(int32(1)) })
	expect(1, sliceapi.TerminationScaleDown)
	p.complete()
}

// TestAdoption takes the pods of an apps/v1 StatefulSet over with no restart, and gives
// them back. K-131, S-004, S-018.
func TestAdoption(t *testing.T) {
	p := newPlay(t, withClaim(slice(3)))
	native := p.native()
	p.must(api.Create(p.ctx, native))
	p.eventually("the native set is ready", func() bool {
		_ = api.Get(p.ctx, client.ObjectKeyFromObject(native), native)
		return native.Status.AvailableReplicas == 3
	})
	before := p.uids()
	p.must(api.Delete(p.ctx, native, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	p.eventually("the native set is gone", func() bool { return api.Get(p.ctx, client.ObjectKeyFromObject(native), native) != nil })
	p.must(api.Create(p.ctx, p.set))
	p.complete()
	if now := p.uids(); !equality.Semantic.DeepEqual(now, before) {
		t.Errorf("pods were made anew: %v, before %v", now, before)
	}
	p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	p.eventually("ours is gone", func() bool { return api.Get(p.ctx, client.ObjectKeyFromObject(p.set), &sliceapi.StatefulSet{}) != nil })
	again := p.native()
	p.must(api.Create(p.ctx, again))
	p.eventually("the native set has them again", func() bool {
		_ = api.Get(p.ctx, client.ObjectKeyFromObject(again), again)
		return again.Status.AvailableReplicas == 3 && again.Status.UpdatedReplicas == 3 && again.Status.CurrentRevision == again.Status.UpdateRevision
	})
	if now := p.uids(); !equality.Semantic.DeepEqual(now, before) {
		t.Errorf("pods were made anew on the way back: %v, before %v", now, before)
	}
}

// native is the same StatefulSet as apps/v1.
func (p *play) native() *appsv1.StatefulSet {
	spec := p.set.Spec
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: p.set.Name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: spec.Replicas, ServiceName: spec.ServiceName, Selector: spec.Selector, Template: *spec.Template.DeepCopy(), VolumeClaimTemplates: spec.VolumeClaimTemplates,
		},
	}
}

// TestDeletion leaves the pods to the garbage collector, and makes none. K-031.
func TestDeletion(t *testing.T) {
	p := begin(t, slice(2))
	p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	p.eventually("pods and set are gone", func() bool {
		return len(p.pods()) == 0 && api.Get(p.ctx, client.ObjectKeyFromObject(p.set), &sliceapi.StatefulSet{}) != nil
	})
}

// TestDeletionIsTold: each pod of a set that is deleted carries the reason before the
// garbage collector deletes it.
func TestDeletionIsTold(t *testing.T) {
	set := slice(4)
	set.Spec.Template.Finalizers = []string{"e2e.sliceshift.io/hold"}
	p := begin(t, set)
	p.must(api.Delete(p.ctx, p.read()))
	p.eventually("all pods are Terminating", func() bool {
		return !slices.ContainsFunc(p.pods(), func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	})
	pods := p.pods()
	if len(pods) != 4 {
		t.Errorf("%d pods are left of 4", len(pods))
	}
	for i := range pods {
		if got := pods[i].Annotations[sliceapi.TerminationReasonAnnotationKey]; got != string(sliceapi.TerminationDeletion) {
			t.Errorf("%s goes for %q", pods[i].Name, got)
		}
		p.must(api.Patch(p.ctx, &pods[i], client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	}
	p.eventually("pods and set are gone", func() bool {
		return len(p.pods()) == 0 && api.Get(p.ctx, client.ObjectKeyFromObject(p.set), &sliceapi.StatefulSet{}) != nil
	})
}
