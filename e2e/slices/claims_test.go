package slices

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

const (
	retainClaims = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	deleteClaims = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
)

// retention returns a set with claims and a retention policy.
func retention(replicas int32, deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) *sliceapi.StatefulSet {
	set := withClaim(slice(replicas))
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
	return set
}

// claims returns the claims of the namespace with their owners: "data-web-0: StatefulSet".
func (p *play) claims() string {
	var list corev1.PersistentVolumeClaimList
	_ = api.List(p.ctx, &list, client.InNamespace(p.set.Namespace))
	var all []string
	for _, claim := range list.Items {
		var owners []string
		for _, owner := range claim.OwnerReferences {
			owners = append(owners, owner.Kind)
		}
		all = append(all, claim.Name+":"+strings.Join(owners, "+"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (p *play) claimsAre(want string) {
	p.t.Helper()
	p.eventually("the claims are "+want, func() bool { return p.claims() == want })
}

func (p *play) claim(ordinal int32) *corev1.PersistentVolumeClaim {
	p.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	p.must(api.Get(p.ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: fmt.Sprintf("data-web-%d", ordinal)}, claim))
	return claim
}

func (p *play) scale(replicas int32) {
	p.t.Helper()
	p.change(func(s *sliceapi.StatefulSetSpec) { s.Replicas = &replicas })
}

// TestWhenDeleted: claims are deleted with their set, or retained.
func TestWhenDeleted(t *testing.T) {
	p := begin(t, retention(3, deleteClaims, retainClaims))
	const owned, free = "data-web-0:StatefulSet data-web-1:StatefulSet data-web-2:StatefulSet", "data-web-0: data-web-1: data-web-2:"
	p.claimsAre(owned)
	when := func(deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.PersistentVolumeClaimRetentionPolicy.WhenDeleted, s.PersistentVolumeClaimRetentionPolicy.WhenScaled = deleted, scaled
		})
	}
	p.step("K-179, K-188: the owner goes and comes with the policy", func(*testing.T) {
		when(retainClaims, retainClaims)
		p.claimsAre(free)
		when(deleteClaims, deleteClaims)
		p.claimsAre(owned)
		when(retainClaims, deleteClaims)
		p.claimsAre(free)
		when(deleteClaims, retainClaims)
		p.claimsAre(owned)
	})
	p.step("the claim of a scaled-down ordinal stays the set's", func(*testing.T) {
		p.scale(1)
		p.complete()
		p.claimsAre(owned)
	})
	p.step("K-174: they go with the set", func(*testing.T) {
		p.must(api.Delete(p.ctx, p.read()))
		p.claimsAre("")
	})
}

// TestWhenScaled: claims are deleted with their ordinal. Claims that another owner controls remain, and an event
// reports it.
func TestWhenScaled(t *testing.T) {
	p := begin(t, retention(3, retainClaims, deleteClaims))
	p.claimsAre("data-web-0: data-web-1: data-web-2:")
	otherOwner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "other-owner"}}
	p.must(api.Create(p.ctx, otherOwner))
	p.step("K-176, K-182: one that others control stays, and is told of", func(*testing.T) {
		p.own(1, *metav1.NewControllerRef(otherOwner, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
		p.scale(0)
		p.complete()
		p.claimsAre("data-web-1:ConfigMap")
		p.event("ConflictingController", "data-web-1")
	})
	p.step("K-176: then it is nobody's, and goes", func(*testing.T) {
		p.own(1)
		p.scale(2)
		p.complete()
		p.scale(1)
		p.claimsAre("data-web-0:")
	})
	p.step("K-175: from three to one", func(*testing.T) {
		p.scale(3)
		p.complete()
		p.scale(1)
		p.claimsAre("data-web-0:")
	})
}

// own sets the owners of a claim.
func (p *play) own(ordinal int32, owners ...metav1.OwnerReference) {
	p.t.Helper()
	claim := p.claim(ordinal)
	before := claim.DeepCopy()
	claim.OwnerReferences = owners
	p.must(api.Patch(p.ctx, claim, client.MergeFrom(before)))
}

// event waits for an event of the set.
func (p *play) event(reason, says string) {
	p.t.Helper()
	p.eventually("event "+reason, func() bool {
		var list corev1.EventList
		p.must(api.List(p.ctx, &list, client.InNamespace(p.set.Namespace)))
		for _, event := range list.Items {
			if event.Reason == reason && strings.Contains(event.Message, says) {
				return true
			}
		}
		return false
	})
}

// TestClaimOwners: foreign owners of a claim remain, and our own reference is corrected. A claim of a former set is
// left to the garbage collector.
func TestClaimOwners(t *testing.T) {
	p := begin(t, retention(4, deleteClaims, retainClaims))
	p.claimsAre("data-web-0:StatefulSet data-web-1:StatefulSet data-web-2:StatefulSet data-web-3:StatefulSet")
	friend := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "friend"}}
	p.must(api.Create(p.ctx, friend))
	ours := *metav1.NewControllerRef(p.read(), sliceapi.GroupVersion.WithKind("StatefulSet"))
	ours.Controller = new(false)
	former := *metav1.NewControllerRef(p.read(), sliceapi.GroupVersion.WithKind("StatefulSet"))
	former.UID = "former"
	p.step("K-178, K-180: a friend stays beside the set", func(*testing.T) {
		p.own(1, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: friend.Name, UID: friend.UID})
		p.eventually("both own claim 1", func() bool { return p.ownersOf(1) == "ConfigMap+StatefulSet" })
	})
	p.step("K-178, K-181: the set becomes the controller", func(*testing.T) {
		p.own(0, ours)
		p.eventually("the set is the controller of claim 0", func() bool { return metav1.GetControllerOf(p.claim(0)) != nil })
	})
	p.step("K-181: beside another owner that controls it the set does not stay", func(*testing.T) {
		p.own(2, ours, *metav1.NewControllerRef(friend, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
		p.eventually("the other owner has claim 2", func() bool { return p.ownersOf(2) == "ConfigMap" })
		p.own(2)
		p.eventually("the set owns claim 2", func() bool { return p.ownersOf(2) == "StatefulSet" })
	})
	p.step("K-178, K-181, K-184: one of a former set is left to the garbage collector", func(t *testing.T) {
		p.must(api.Patch(p.ctx, p.claim(3), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
		p.own(3, former)
		p.eventually("claim 3 is being deleted", func() bool { return p.claim(3).DeletionTimestamp != nil })
		p.settled()
		if owners := p.claim(3).OwnerReferences; len(owners) != 1 || owners[0].UID != former.UID {
			t.Errorf("claim 3 is owned by %v", owners)
		}
	})
	p.step("K-178: with the set go those that it alone owns", func(*testing.T) {
		p.must(api.Delete(p.ctx, p.read()))
		p.eventually("the claims are 1 and 3", func() bool {
			claims := p.claims()
			return !strings.Contains(claims, "data-web-0") && !strings.Contains(claims, "data-web-2") &&
				strings.Contains(claims, "data-web-1:ConfigMap") && strings.Contains(claims, "data-web-3")
		})
	})
	p.must(api.Patch(p.ctx, p.claim(3), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}

// ownersOf returns the kinds of the owners of a claim.
func (p *play) ownersOf(ordinal int32) string {
	p.t.Helper()
	var owners []string
	for _, owner := range p.claim(ordinal).OwnerReferences {
		owners = append(owners, owner.Kind)
	}
	return strings.Join(owners, "+")
}

// TestAdoptedClaims: the claims of adopted pods follow the policy too.
func TestAdoptedClaims(t *testing.T) {
	p := begin(t, retention(3, deleteClaims, deleteClaims))
	for _, ordinal := range []int32{0, 2} {
		p.must(api.Patch(p.ctx, p.pod(ordinal), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))))
		p.eventually("it is adopted", func() bool { return metav1.IsControlledBy(p.pod(ordinal), p.read()) })
	}
	p.step("K-177, K-190: when it is scaled down", func(*testing.T) {
		p.scale(1)
		p.complete()
		p.claimsAre("data-web-0:StatefulSet")
	})
	p.step("K-177, K-190: when the set is deleted", func(*testing.T) {
		p.must(api.Delete(p.ctx, p.read()))
		p.claimsAre("")
	})
}

// TestClaimsOfFormerPods: a claim that is deleted with a scaled-down pod is not used for a new pod of that ordinal.
func TestClaimsOfFormerPods(t *testing.T) {
	eachManagement(t, "K-186 K-187 ", func(t *testing.T, policy appsv1.PodManagementPolicyType) {
		set := retention(3, retainClaims, deleteClaims)
		set.Spec.PodManagementPolicy = policy
		p := begin(t, set)
		former := p.claim(2)
		p.must(api.Patch(p.ctx, p.claim(2), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.sliceshift.io/hold"]}}`))))
		p.scale(2)
		p.eventually("claim 2 is being deleted", func() bool { return p.claim(2).DeletionTimestamp != nil && p.pod(2) == nil })
		p.scale(3)
		p.held("web-2: a claim of its former pod")
		if p.pod(2) != nil {
			t.Error("web-2 was made with the claim of its predecessor")
		}
		p.must(api.Patch(p.ctx, former, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		p.complete()
		if p.claim(2).UID == former.UID {
			t.Error("web-2 has the claim of its predecessor")
		}
	})
}

// TestReservedClaims: scaling down with reserved ordinals deletes exactly the claims of the removed ordinals.
func TestReservedClaims(t *testing.T) {
	t.Parallel()
	t.Run("R-103, R-104: three of the ordinals from 0, and one", func(t *testing.T) {
		set := retention(3, retainClaims, deleteClaims)
		set.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromString("2-5")}
		p := begin(t, set)
		p.claimsAre("data-web-1: data-web-6: data-web-7:")
		p.scale(1)
		p.claimsAre("data-web-1:")
	})
}

// TestLostClaim: the claim of a Pending pod is recreated, and the pod stays.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	t.Run("K-036: the pod is Pending", func(t *testing.T) {
		set := withClaim(slice(1))
		set.Spec.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
		p := newPlay(t, set)
		p.must(api.Create(p.ctx, set))
		p.eventually("the pod is there", func() bool { return p.pod(0) != nil })
		before, lost := p.uids(), p.claim(0)
		p.must(api.Patch(p.ctx, lost.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		p.must(api.Delete(p.ctx, lost))
		p.eventually("another claim is there", func() bool {
			_ = api.Patch(p.ctx, lost.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			claim := &corev1.PersistentVolumeClaim{}
			return api.Get(p.ctx, client.ObjectKeyFromObject(lost), claim) == nil && claim.UID != lost.UID
		})
		p.kept(before)
	})
}

// class creates a StorageClass whose volumes may or may not be expanded.
func (p *play) class(name string, expand bool) string {
	p.t.Helper()
	return p.classOf(name, "kubernetes.io/host-path", expand)
}

// unprovided creates a StorageClass whose volumes can be expanded and are created by hand.
func (p *play) unprovided(name string) string {
	p.t.Helper()
	return p.classOf(name, "kubernetes.io/no-provisioner", true)
}

func (p *play) classOf(name, provisioner string, expand bool) string {
	p.t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.set.Namespace + "-" + name}, Provisioner: provisioner, AllowVolumeExpansion: &expand,
	}
	p.must(api.Create(p.ctx, class))
	return class.Name
}

// growing returns a complete set whose claims may grow. They have none of the labels of its selector.
func growing(t *testing.T, set *sliceapi.StatefulSet, when sliceapi.VolumeClaimUpdateStrategyType, expand bool) *play {
	t.Helper()
	p := newPlay(t, withClaim(set))
	return p.growingOf(p.class("only", expand), when)
}

// growingOf returns such a set with claims of a given StorageClass.
func (p *play) growingOf(class string, when sliceapi.VolumeClaimUpdateStrategyType) *play {
	p.t.Helper()
	set := p.set
	set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class
	set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: when}
	p.must(api.Create(p.ctx, set))
	p.complete()
	return p
}

// resize stands in for a resizer: it sets the capacity of every claim to its request.
func (p *play) resize() {
	if p.disks == nil {
		resizeClaims(p.ctx, p.set.Namespace)
	}
}

func resizeClaims(ctx context.Context, namespace string) {
	var list corev1.PersistentVolumeClaimList
	_ = api.List(ctx, &list, client.InNamespace(namespace))
	for _, claim := range list.Items {
		if equality.Semantic.DeepEqual(claim.Status.Capacity, claim.Spec.Resources.Requests) {
			continue
		}
		claim.Status.Capacity = claim.Spec.Resources.Requests
		_ = api.Status().Update(ctx, &claim)
	}
}

// grows waits until the set is complete and all claims have their requested size.
func (p *play) grows(claims int32) {
	p.t.Helper()
	p.eventually("all have grown", func() bool {
		p.resize()
		return p.isComplete() && p.claimsGrown().CompatibleReadyReplicas == claims
	})
}

// ask sets the size of the claim template.
func (p *play) ask(size string, edit func(*sliceapi.StatefulSetSpec)) {
	p.t.Helper()
	p.change(func(s *sliceapi.StatefulSetSpec) {
		s.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
		if edit != nil {
			edit(s)
		}
	})
}

// claimsGrown returns the status of the claims that follow their template.
func (p *play) claimsGrown() sliceapi.VolumeClaimStatus {
	if all := p.read().Status.VolumeClaims; len(all) == 1 {
		return all[0]
	}
	return sliceapi.VolumeClaimStatus{}
}

// TestGrowth: the claims of a pod grow before the pod is updated, one pod after the other.
func TestGrowth(t *testing.T) {
	for name, set := range map[string]*sliceapi.StatefulSet{"anew": slice(3), "in place": inPlace(3, sliceapi.InPlaceIfPossible)} {
		t.Run("R-090 R-093 R-099 "+name, func(t *testing.T) {
			growing(t, set, sliceapi.OnPodRollingUpdate, true).growsInTurn()
		})
	}
}

// growsInTurn requests a larger size with a new image, and then a larger size alone.
func (p *play) growsInTurn() {
	p.t.Helper()
	before := p.uids()
	p.eventually("all claims are as they were asked for", func() bool {
		return p.claimsGrown() == sliceapi.VolumeClaimStatus{VolumeClaimName: "data", CompatibleReplicas: 3, CompatibleReadyReplicas: 3}
	})
	free := p.stall()
	p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
	p.held("web-2: its claims grow")
	p.eventually("one claim asks for more", func() bool {
		return p.claimsGrown() == sliceapi.VolumeClaimStatus{VolumeClaimName: "data", CompatibleReplicas: 1}
	})
	p.kept(before)
	free()
	p.grows(3)
	p.ask("3Gi", nil)
	p.grows(3)
}

// TestGrowthOnDelete: with this strategy a claim never grows.
func TestGrowthOnDelete(t *testing.T) {
	p := growing(t, slice(2), sliceapi.OnClaimDelete, true)
	p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
	p.complete()
	p.eventually("no claim follows", func() bool { return p.claimsGrown() == sliceapi.VolumeClaimStatus{VolumeClaimName: "data"} })
}

// TestGrowthRefused: a StorageClass that cannot expand its volumes stops the rollout, and the set reports it. Another
// strategy lets the rollout continue.
func TestGrowthRefused(t *testing.T) {
	p := growing(t, slice(2), sliceapi.OnPodRollingUpdate, false)
	before := p.uids()
	p.step("R-091, R-099, R-101: the roll-out stops before the first pod", func(*testing.T) {
		p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
		p.condition(sliceapi.ConditionFailedUpdatePod, "does its StorageClass allow volume expansion?")
		p.event("FailedUpdatePVC", "data-web-1")
		p.kept(before)
	})
	p.step("R-098: another strategy lets it go on, and no claim grows", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) { s.VolumeClaimUpdateStrategy.Type = sliceapi.OnClaimDelete })
		p.complete()
		p.healthy(sliceapi.ConditionFailedUpdatePod)
		if got, want := p.claimsGrown(), (sliceapi.VolumeClaimStatus{VolumeClaimName: "data"}); got != want {
			t.Errorf("status.volumeClaims %+v, want %+v", got, want)
		}
	})
}

// TestGrowthPartition: claims below the partition do not grow.
func TestGrowthPartition(t *testing.T) {
	set := slice(3)
	set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(2)) })
	growing(t, set, sliceapi.OnPodRollingUpdate, true).growsAtPartition()
}

// growsAtPartition requests a larger size at the partition of a set of three, and then for all.
func (p *play) growsAtPartition() {
	p.t.Helper()
	p.step("R-094: only the claim at the partition grows", func(*testing.T) {
		p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
		p.eventually("one pod is updated", func() bool { p.resize(); return p.images()["web-2"] == "web:2" })
		p.eventually("one claim follows", func() bool {
			return p.claimsGrown() == sliceapi.VolumeClaimStatus{VolumeClaimName: "data", CompatibleReplicas: 1, CompatibleReadyReplicas: 1}
		})
	})
	p.step("R-095: the image is taken back, the size is not, and all grow", func(*testing.T) {
		p.image("web:1")
		p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
		p.grows(3)
		p.imagesAre("web:1", "web:1", "web:1")
	})
	p.step("R-095: and grow once more", func(t *testing.T) {
		p.ask("3Gi", nil)
		p.grows(3)
		for ordinal := range int32(3) {
			if size := p.claim(ordinal).Spec.Resources.Requests.Storage().String(); size != "3Gi" {
				t.Errorf("claim %d asks for %s", ordinal, size)
			}
		}
	})
}

// TestGrowthOfSome: of two claims, only the claim whose class can expand volumes gets a larger request.
func TestGrowthOfSome(t *testing.T) {
	for name, set := range map[string]*sliceapi.StatefulSet{"anew": slice(2), "in place": inPlace(2, sliceapi.InPlaceIfPossible)} {
		t.Run("R-092 R-099 "+name, func(t *testing.T) {
			p := newPlay(t, withClaim(set))
			grows, fixed := p.class("grows", true), p.class("fixed", false)
			logs := *set.Spec.VolumeClaimTemplates[0].DeepCopy()
			logs.Name, logs.Spec.StorageClassName = "logs", &fixed
			set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &grows
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, logs)
			set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: sliceapi.OnPodRollingUpdate}
			p.must(api.Create(p.ctx, set))
			p.eventually("it is complete", func() bool { p.resize(); return p.read().Status.AvailableReplicas == 2 })
			p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
			want := []sliceapi.VolumeClaimStatus{
				{VolumeClaimName: "data", CompatibleReplicas: 2, CompatibleReadyReplicas: 2},
				{VolumeClaimName: "logs", CompatibleReplicas: 2, CompatibleReadyReplicas: 2},
			}
			p.eventually("the claims follow", func() bool {
				p.resize()
				now := p.read()
				return now.Status.ObservedGeneration == now.Generation && now.Status.UpdatedReplicas == 2 && equality.Semantic.DeepEqual(now.Status.VolumeClaims, want)
			})
			p.complete()
			var claims corev1.PersistentVolumeClaimList
			p.must(api.List(p.ctx, &claims, client.InNamespace(set.Namespace)))
			for _, claim := range claims.Items {
				size := map[string]string{grows: "2Gi", fixed: "1Gi"}[*claim.Spec.StorageClassName]
				if got := claim.Status.Capacity.Storage().String(); got != size {
					t.Errorf("claim %s has %s, want %s", claim.Name, got, size)
				}
			}
		})
	}
}

// TestGrowthAlone: a change of size alone is a rollout: one claim after the other. The set is complete when all have
// grown, and nothing restarts.
func TestGrowthAlone(t *testing.T) {
	p := growing(t, slice(3), sliceapi.OnPodRollingUpdate, true)
	before := p.uids()
	write := func(ordinal int32, edit func(*corev1.PersistentVolumeClaim)) {
		claim := p.claim(ordinal)
		edit(claim)
		p.must(api.Status().Update(p.ctx, claim))
	}
	grow := func(claim *corev1.PersistentVolumeClaim) {
		claim.Status.Capacity, claim.Status.Conditions = claim.Spec.Resources.Requests, nil
	}
	asks := func(ordinal int32, size string) {
		p.eventually(fmt.Sprintf("claim %d asks for %s", ordinal, size), func() bool { return p.claim(ordinal).Spec.Resources.Requests.Storage().String() == size })
	}
	p.step("X-10, X-11: the highest ordinal first, the others wait, and it is not complete", func(t *testing.T) {
		p.ask("2Gi", nil)
		asks(2, "2Gi")
		p.held("web-2: its claims grow")
		if progressing := meta.FindStatusCondition(p.read().Status.Conditions, sliceapi.ConditionProgressing); progressing == nil || progressing.Reason == "StatefulSetComplete" {
			t.Errorf("Progressing %+v", progressing)
		}
		p.settled()
		for _, ordinal := range []int32{0, 1} {
			if size := p.claim(ordinal).Spec.Resources.Requests.Storage().String(); size != "1Gi" {
				t.Errorf("claim %d asks for %s before claim 2 has grown", ordinal, size)
			}
		}
	})
	p.step("X-10: the next one follows", func(*testing.T) {
		write(2, grow)
		asks(1, "2Gi")
		p.kept(before)
	})
	p.step("X-02: a file system that the kubelet makes larger while it is mounted: it is waited for", func(*testing.T) {
		write(1, func(claim *corev1.PersistentVolumeClaim) {
			claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
				Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(time.Second)),
			}}
		})
		p.held("the file system of claim data-web-1 has not grown yet")
		write(1, grow)
		asks(0, "2Gi")
		p.kept(before)
	})
	p.step("X-10: one that cannot grow, says its driver, is told, and it is not complete", func(*testing.T) {
		write(0, func(claim *corev1.PersistentVolumeClaim) {
			claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible}
		})
		p.held("claim data-web-0 cannot grow")
		write(0, func(claim *corev1.PersistentVolumeClaim) { grow(claim); claim.Status.AllocatedResourceStatuses = nil })
		p.complete()
	})
}

// TestUnboundClaim: a pod that cannot run has an unbound claim, which cannot grow. A corrected template still replaces
// the pod.
func TestUnboundClaim(t *testing.T) {
	t.Run("X-02: the class binds with the first consumer, and nothing makes volumes", func(t *testing.T) {
		set := withClaim(slice(1))
		p := newPlay(t, set)
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: set.Namespace + "-late"}, Provisioner: "kubernetes.io/no-provisioner",
			AllowVolumeExpansion: new(true), VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		}
		p.must(api.Create(p.ctx, class))
		set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class.Name
		set.Spec.VolumeClaimUpdateStrategy = &sliceapi.VolumeClaimUpdateStrategy{Type: sliceapi.OnPodRollingUpdate}
		set.Spec.Template.Spec.NodeSelector = map[string]string{"e2e.sliceshift.io/is": "nowhere"}
		p.must(api.Create(p.ctx, set))
		p.eventually("the pod is there", func() bool { return p.pod(0) != nil })
		p.ask("2Gi", func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.NodeSelector = nil })
		p.eventually("another pod is there", func() bool { pod := p.pod(0); return pod != nil && pod.Spec.NodeSelector == nil })
		p.held("claim data-web-0 does when it is bound")
		p.healthy(sliceapi.ConditionFailedUpdatePod)
	})
}
