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

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// stuck is an image whose pods never become ready: see block.
const stuck = "web:stuck"

// TestIdentity: names, hostnames, labels and claims are the same as with apps/v1.
func TestIdentity(t *testing.T) {
	t.Parallel()
	t.Run("K-002, K-012, K-029, S-013: three replicas, counted from 1", func(t *testing.T) {
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
		if status := p.read().Status; status.Replicas != 3 || status.ReadyReplicas != 3 || status.CurrentReplicas != 3 || status.UpdatedReplicas != 3 || status.LabelSelector != "app=web" {
			t.Errorf("status %+v", status)
		}
	})
}

// TestScale: a set scales up and down, and shifts its range.
func TestScale(t *testing.T) {
	for name, policy := range map[string]appsv1.PodManagementPolicyType{"ordered": appsv1.OrderedReadyPodManagement, "parallel": appsv1.ParallelPodManagement} {
		t.Run("K-028 "+name, func(t *testing.T) {
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
			before := p.read().Generation
			p.change(func(s *sliceapi.StatefulSetSpec) { s.Template.Annotations = map[string]string{"edited": "yes"} })
			p.complete()
			if now := p.read().Generation; now != before+1 {
				t.Errorf("generation %d after an edit of the template, before %d", now, before)
			}
		})
	}
}

// TestReplaced: a deleted or failed pod is recreated with its claim.
func TestReplaced(t *testing.T) {
	t.Parallel()
	t.Run("D-015: one that is deleted, and one that has failed", func(t *testing.T) {
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
	})
}

// TestRollingUpdate: an update proceeds in descending order, and back to the same revision.
func TestRollingUpdate(t *testing.T) {
	p := begin(t, slice(3))
	first := p.read().Status.UpdateRevision
	p.step("K-062, D-012: another template is another revision, which all pods get", func(t *testing.T) {
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
	})
	p.step("K-051: the former template has its former revision", func(t *testing.T) {
		p.image("web:1")
		p.complete()
		if back := p.read().Status.UpdateRevision; back != first {
			t.Errorf("the former template has revision %s, want %s", back, first)
		}
		if all := p.revisions(); len(all) != 2 || all[first].Revision != 3 {
			t.Errorf("revisions %v", all)
		}
	})
	p.settled()
}

// settled checks that the controller no longer writes to a complete set.
func (p *play) settled() {
	p.t.Helper()
	version := p.read().ResourceVersion
	p.must(api.Patch(p.ctx, p.pod(0), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"touched":"yes"}}}`))))
	p.eventually("the controller has seen the pod", func() bool { return p.pod(0).Annotations["touched"] == "yes" })
	if now := p.read().ResourceVersion; now != version {
		p.t.Errorf("a settled set was written: %s, then %s", version, now)
	}
}

// TestPartition: only pods at or above the partition are updated. A pod below it is recreated at the current revision.
func TestPartition(t *testing.T) {
	set := slice(3)
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(3)) })
	p := begin(t, set)
	before := p.uids()
	p.step("S-005: a canary while the set is scaled up", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image, s.Replicas = "web:2", new(int32(4))
		})
		p.imagesAre("web:1", "web:1", "web:1", "web:2")
		after := p.uids()
		delete(after, "web-3")
		if !equality.Semantic.DeepEqual(after, before) {
			p.t.Errorf("pods below the partition were made anew: %v, before %v", after, before)
		}
	})
	p.step("S-005: phased", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(1)) })
		p.imagesAre("web:1", "web:2", "web:2", "web:2")
	})
	p.step("one below it is made again as it was", func(*testing.T) {
		gone := p.pod(0)
		p.must(api.Delete(p.ctx, gone))
		p.eventually("web-0 is back", func() bool { pod := p.pod(0); return pod != nil && pod.UID != gone.UID })
		p.imagesAre("web:1", "web:2", "web:2", "web:2")
	})
	p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
	p.complete()
}

// imagesAre waits until the pods from ordinal 0 on have these images.
func (p *play) imagesAre(images ...string) {
	p.t.Helper()
	want := map[string]string{}
	for ordinal, image := range images {
		want["web-"+strconv.Itoa(ordinal)] = image
	}
	p.eventually("the images are those", func() bool { return equality.Semantic.DeepEqual(p.images(), want) })
}

// TestWindow: of the pods at or above the partition, as many are updated at once as may be unavailable. The next pod
// follows as soon as one of them is available.
func TestWindow(t *testing.T) {
	set := slice(5)
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) {
		r.Partition, r.MaxUnavailable = new(int32(4)), new(intstr.FromInt32(3))
	})
	p := begin(t, set)
	for ordinal := range int32(4) {
		p.hold(p.pod(ordinal))
	}
	goes := func(want ...string) {
		p.eventually("those go", func() bool {
			var going []string
			for _, pod := range p.pods() {
				if pod.DeletionTimestamp != nil {
					going = append(going, pod.Name)
				}
			}
			return slices.Equal(going, want)
		})
	}
	p.step("S-001: no more than the partition lets", func(t *testing.T) {
		p.image("web:2")
		p.imagesAre("web:1", "web:1", "web:1", "web:1", "web:2")
		p.eventually("web-4 is available", func() bool { s := p.read().Status; return s.UpdatedReplicas == 1 && s.AvailableReplicas == 5 })
		p.settled()
		if s := p.read().Status; s.UpdatedReplicas != 1 {
			t.Errorf("status %+v", s)
		}
	})
	p.step("S-002: three at once", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
		goes("web-1", "web-2", "web-3")
	})
	p.step("S-003: the last one when one of them is back", func(*testing.T) {
		p.letGo(3)
		goes("web-0", "web-1", "web-2")
		p.imagesAre("web:1", "web:1", "web:1", "web:2", "web:2")
	})
	for ordinal := range int32(3) {
		p.letGo(ordinal)
	}
	p.complete()
}

// TestOvertaken: a third template is set while the rollout of the second is half done.
func TestOvertaken(t *testing.T) {
	p := begin(t, slice(4))
	p.hold(p.pod(1))
	p.image("web:2")
	p.eventually("two are updated, and the third goes", func() bool {
		images := p.images()
		return images["web-3"] == "web:2" && images["web-2"] == "web:2" && p.pod(1).DeletionTimestamp != nil
	})
	p.step("S-017: the second stops, and all get the third", func(*testing.T) {
		p.image("web:3")
		p.letGo(1)
		for !p.isComplete() {
			if image := p.images()["web-0"]; image == "web:2" {
				p.t.Fatalf("web-0 runs %s", image)
			}
			p.must(p.ctx.Err())
		}
		p.imagesAre("web:3", "web:3", "web:3", "web:3")
	})
}

// TestMadeAnewInMidRollout: the set is deleted without its pods during a rollout, and recreated.
func TestMadeAnewInMidRollout(t *testing.T) {
	p := begin(t, slice(3))
	p.hold(p.pod(1))
	p.image("web:2")
	p.eventually("web-2 is updated, and web-1 goes", func() bool { return p.images()["web-2"] == "web:2" && p.pod(1).DeletionTimestamp != nil })
	updated := p.pod(2).UID
	p.step("S-018: the roll-out goes on, and no pod that is through is made anew", func(t *testing.T) {
		spec := p.read().Spec
		p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		p.eventually("the set is gone", func() bool { return api.Get(p.ctx, client.ObjectKeyFromObject(p.set), &sliceapi.StatefulSet{}) != nil })
		p.set = &sliceapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: p.set.Name}, Spec: spec}
		p.must(api.Create(p.ctx, p.set))
		p.letGo(1)
		p.complete()
		p.imagesAre("web:2", "web:2", "web:2")
		if now := p.pod(2).UID; now != updated {
			t.Error("web-2 was made anew")
		}
	})
}

func rolling(edit func(*sliceapi.RollingUpdateStrategy)) sliceapi.StatefulSetUpdateStrategy {
	r := &sliceapi.RollingUpdateStrategy{}
	edit(r)
	return sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate, RollingUpdate: r}
}

// TestNoHistory: a revision without pods is deleted.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	t.Run("D-045: limit 0", func(t *testing.T) {
		set := slice(2)
		set.Spec.RevisionHistoryLimit = new(int32(0))
		p := begin(t, set)
		p.image("web:2")
		p.complete()
		p.eventually("only the revision in use is left", func() bool {
			_, found := p.revisions()[p.read().Status.UpdateRevision]
			return found && len(p.revisions()) == 1
		})
	})
}

// TestOnDelete: a pod is updated only when a user deletes it.
func TestOnDelete(t *testing.T) {
	set := slice(2)
	set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.OnDelete}
	p := begin(t, set)
	p.step("K-059: without another template they come back as they were", func(t *testing.T) {
		before, revision := p.uids(), p.read().Status.CurrentRevision
		for _, pod := range p.pods() {
			p.must(api.Delete(p.ctx, &pod))
		}
		p.eventually("both are others", func() bool {
			now := p.uids()
			return len(now) == 2 && now["web-0"] != before["web-0"] && now["web-1"] != before["web-1"]
		})
		p.complete()
		for _, pod := range p.pods() {
			if label := pod.Labels[appsv1.StatefulSetRevisionLabel]; label != revision {
				t.Errorf("%s is labelled %s, want %s", pod.Name, label, revision)
			}
		}
	})
	p.step("D-013: another template waits for who deletes them", func(t *testing.T) {
		p.image("web:2")
		p.eventually("the new revision is known", func() bool { s := p.read().Status; return s.UpdateRevision != s.CurrentRevision })
		if s := p.read().Status; p.revisions()[s.UpdateRevision].Revision != 2 || p.pod(0).Labels[appsv1.StatefulSetRevisionLabel] != s.CurrentRevision {
			t.Errorf("status %+v, revisions %v", s, p.revisions())
		}
		p.must(api.Delete(p.ctx, p.pod(1)))
		p.imagesAre("web:1", "web:2")
	})
}

// TestRecreate: no new pod starts while an old pod exists.
func TestRecreate(t *testing.T) {
	t.Parallel()
	t.Run("D-044: three pods, Parallel", func(t *testing.T) {
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
	})
}

// TestBudget: never more pods are down than maxUnavailable allows.
func TestBudget(t *testing.T) {
	for name, policy := range map[string]appsv1.PodManagementPolicyType{"ordered": appsv1.OrderedReadyPodManagement, "parallel": appsv1.ParallelPodManagement} {
		t.Run("K-065 "+name, func(t *testing.T) {
			set := slice(6)
			set.Spec.PodManagementPolicy = policy
			set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.MaxUnavailable = new(intstr.FromString("30%")) })
			p := begin(t, set)
			p.image("web:2")
			for p.read().Status.UpdatedReplicas < 6 {
				ready := 0
				for _, pod := range p.pods() {
					if pod.DeletionTimestamp == nil && fixture.IsReady(&pod) {
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

// TestStuckRollout: a rollout whose pods never become ready is rolled back, and forward, without a pod deletion by a
// user (kubernetes issue 67250).
func TestStuckRollout(t *testing.T) {
	for way, name := range map[string]string{"web:1": "K-070 S-006 D-014 back", "web:3": "K-070 S-007 forward"} {
		eachManagement(t, name+" ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
			set := slice(3)
			set.Spec.PodManagementPolicy = policy
			p := begin(t, set)
			before := p.uids()
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
			p.imagesAre(way, way, way)
			if now := p.uids(); way == "web:1" && (now["web-0"] != before["web-0"] || now["web-1"] != before["web-1"]) {
				t.Errorf("pods that never changed were made anew: %v, before %v", now, before)
			}
		})
	}
}

// TestPaused: paused stops updates and nothing else.
func TestPaused(t *testing.T) {
	t.Parallel()
	t.Run("S-019: paused, and scaled up", func(t *testing.T) {
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
	})
}

// TestTerminationReason: a pod gets its termination reason before it is deleted.
func TestTerminationReason(t *testing.T) {
	set := slice(2)
	set.Spec.TerminationReasonPolicy = sliceapi.AnnounceAlways
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

// TestAdoption: the pods of an apps/v1 StatefulSet are adopted without a restart, and returned.
func TestAdoption(t *testing.T) {
	p := newPlay(t, withClaim(slice(3)))
	native := p.native()
	p.must(api.Create(p.ctx, native))
	p.eventually("the native set is ready", func() bool {
		_ = api.Get(p.ctx, client.ObjectKeyFromObject(native), native)
		return native.Status.AvailableReplicas == 3
	})
	before := p.uids()
	p.step("S-004: the same manifest under our apiVersion", func(*testing.T) {
		p.must(api.Delete(p.ctx, native, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		p.eventually("the native set is gone", func() bool { return api.Get(p.ctx, client.ObjectKeyFromObject(native), native) != nil })
		p.must(api.Create(p.ctx, p.set))
		p.complete()
		p.kept(before)
	})
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

// native returns the same StatefulSet as apps/v1.
func (p *play) native() *appsv1.StatefulSet {
	spec := p.set.Spec
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: p.set.Name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: spec.Replicas, ServiceName: spec.ServiceName, Selector: spec.Selector, Template: *spec.Template.DeepCopy(), VolumeClaimTemplates: spec.VolumeClaimTemplates,
		},
	}
}

// TestDeletion: a deleted set leaves its pods to the garbage collector, and creates none.
func TestDeletion(t *testing.T) {
	t.Parallel()
	t.Run("K-031: with its pods", func(t *testing.T) {
		p := begin(t, slice(2))
		p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationForeground)))
		p.eventually("pods and set are gone", func() bool {
			return len(p.pods()) == 0 && api.Get(p.ctx, client.ObjectKeyFromObject(p.set), &sliceapi.StatefulSet{}) != nil
		})
	})
}

// readsReason lets the pods of a set read their termination reason.
func readsReason(set *sliceapi.StatefulSet) *sliceapi.StatefulSet {
	set.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "podinfo", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "reason", FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.annotations['" + sliceapi.TerminationReasonAnnotationKey + "']",
		}}},
	}}}}
	return set
}

// TestNobodyWaits: pods that cannot read their termination reason do not get one. A set of such pods is removed as
// soon as it is deleted, alone or with others.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	t.Run("X-26: DELETE of the collection, and LIST", func(t *testing.T) {
		p := begin(t, slice(2))
		p.step("a pod goes without a write before", func(t *testing.T) {
			p.hold(p.pod(1))
			p.scale(1)
			p.eventually("web-1 goes", func() bool { return p.pod(1).DeletionTimestamp != nil })
			if reason, told := p.pod(1).Annotations[sliceapi.TerminationReasonAnnotationKey]; told {
				t.Errorf("web-1 is told %q", reason)
			}
			p.letGo(1)
			p.complete()
		})
		p.step("a set from before, which has the finalizer", func(*testing.T) {
			p.must(api.Patch(p.ctx, p.read(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["`+sliceapi.Finalizer+`"],"annotations":{"touched":"yes"}}}`))))
			p.eventually("it is taken off", func() bool { return len(p.read().Finalizers) == 0 })
		})
		p.must(api.DeleteAllOf(p.ctx, &sliceapi.StatefulSet{}, client.InNamespace(p.set.Namespace)))
		var left sliceapi.StatefulSetList
		p.must(api.List(p.ctx, &left, client.InNamespace(p.set.Namespace)))
		if len(left.Items) > 0 {
			t.Errorf("it is still listed, with finalizers %v", left.Items[0].Finalizers)
		}
		p.podsAre("")
	})
}

// TestDeletionIsTold: each pod of a deleted set has the reason before the garbage collector deletes it.
func TestDeletionIsTold(t *testing.T) {
	set := readsReason(slice(4))
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
