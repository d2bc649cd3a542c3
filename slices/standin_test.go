package slices

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// marked is a claim of ordinal 1, made for a pod that stands in, with the pods that own it.
// marked is the claim of ordinal 1 as it is made for a pod that stands in: one of pods, if any.
func marked(pods ...types.UID) *corev1.PersistentVolumeClaim {
	claim := sized("data-web-1", "1Gi")
	claim.Namespace, claim.Annotations = "shop", map[string]string{api.SurgeAnnotationKey: "true"}
	for _, uid := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: uid}}
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod")))
	}
	return claim
}

// TestStandInClaims: which claims nobody may stand in with, and which are as they shall be.
func TestStandInClaims(t *testing.T) {
	retained := marked()
	retained.Annotations = nil
	for name, tc := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		// alone and beside are whether it is taken without a pod and beside one; as is whether it is
		// as it shall be of a pod that stands in, and of an ordinal's.
		alone, beside bool
		as            [2]bool
	}{
		"none":                             {nil, false, false, [2]bool{true, true}},
		"one of a former ordinal":          {retained, true, true, [2]bool{true, true}},
		"its own":                          {marked("u"), false, false, [2]bool{true, false}},
		"that of a former one, on its way": {marked("former"), false, false, [2]bool{true, true}},
		"one whose owner was taken off":    {marked(), true, false, [2]bool{false, false}},
	} {
		t.Run("X-12 "+name, func(t *testing.T) {
			s := seen{set: namedSet("web", nil), claims: map[string]*corev1.PersistentVolumeClaim{}}
			s.set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized("data", "1Gi")}
			if tc.claim != nil {
				s.claims[tc.claim.Name] = tc.claim
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u"}}
			if alone, beside := s.taken(1, nil), s.taken(1, pod); alone != tc.alone || beside != tc.beside {
				t.Errorf("taken without a pod: %t, beside one: %t", alone, beside)
			}
			if got := [2]bool{s.claimsMatch(pod, 1, false), s.claimsMatch(pod, 1, true)}; got != tc.as {
				t.Errorf("as it shall be: %v", got)
			}
		})
	}
}

// isMarked says whether a claim was made for a pod that stands in.
func isMarked(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[api.SurgeAnnotationKey] != ""
}

func get(t *testing.T, h *PodControl, o client.Object) error {
	t.Helper()
	return h.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
}

func podOne() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
}

// TestCreateStandIn: its claims are its own, and it is not made where there are others.
func TestCreateStandIn(t *testing.T) {
	create := []Action{{Verb: Create, Ordinal: 1, Revision: "r1"}}
	t.Run("X-12 its claims are its own", func(t *testing.T) {
		h, _ := newControl(t, interceptor.Funcs{})
		h.set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		if err := h.all(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		pod, claim := podOne(), marked()
		if err := get(t, h, pod); err != nil {
			t.Fatal(err)
		}
		if err := get(t, h, claim); err != nil || claim.Annotations["note"] != "kept" || claim.Annotations[api.SurgeAnnotationKey] == "" || len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].Kind != "Pod" {
			t.Errorf("claim %+v, %v", claim.ObjectMeta, err)
		}
	})
	t.Run("X-12 a claim that the cache does not show", func(t *testing.T) {
		claim := marked()
		claim.Annotations = nil
		h, ears := newControl(t, interceptor.Funcs{}, claim)
		if err := h.all(t.Context(), create); !apierrors.IsConflict(err) || len(ears.lines) > 0 {
			t.Errorf("error %v, events %v", err, ears.lines)
		}
		if err := get(t, h, podOne()); !apierrors.IsNotFound(err) {
			t.Errorf("it stands in with somebody's data: %v", err)
		}
	})
}

// TestClaimsOfAStandIn: those that it lacks are made beside it, and they become the ordinal's with it.
func TestClaimsOfAStandIn(t *testing.T) {
	t.Run("X-12 a claim that cannot be made is tried again beside the pod", func(t *testing.T) {
		pod := podOne()
		pod.UID, pod.Labels = "u", identityLabels("web", 1)
		h, _ := newControl(t, interceptor.Funcs{}, pod)
		h.pods[1] = pod
		if err := h.all(t.Context(), []Action{{Verb: CreateClaims, Ordinal: 1, UID: "u"}}); err != nil {
			t.Fatal(err)
		}
		if claim := marked(); get(t, h, claim) != nil || !metav1.IsControlledBy(claim, pod) || !isMarked(claim) {
			t.Errorf("claim %+v", claim.ObjectMeta)
		}
	})
	t.Run("X-12 the ordinal comes to be the set's: its claims do, too", func(t *testing.T) {
		pod := podOne()
		pod.UID, pod.Labels = "u", identityLabels("web", 1)
		h, _ := newControl(t, interceptor.Funcs{}, pod, marked("u"))
		h.set.Spec.Replicas = new(int32(2))
		claim := marked()
		if err := get(t, h, claim); err != nil {
			t.Fatal(err)
		}
		h.pods[1], h.claims[claim.Name] = pod, claim
		if claimMatches(h.set, claim, pod, true) {
			t.Error("nothing is to be done")
		}
		if err := h.all(t.Context(), []Action{{Verb: OwnClaims, Ordinal: 1, UID: "u"}}); err != nil {
			t.Fatal(err)
		}
		if err := get(t, h, claim); err != nil || len(claim.OwnerReferences) > 0 || isMarked(claim) {
			t.Errorf("claim %+v: %v", claim.ObjectMeta, err)
		}
	})
}

// TestNextStandIn: the next pod that stands in waits until the claims of the one before it are gone.
func TestNextStandIn(t *testing.T) {
	t.Run("X-12 it is held", func(t *testing.T) {
		s := newStage(t, 2)
		s.change(func(spec *api.StatefulSetSpec) {
			spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized("data", "1Gi")}
			spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}
		})
		if err := s.passes(10); err != nil || s.serves("a:1") != 2 {
			t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
		}
		s.image("stuck")
		if err := s.passes(5); err != nil || s.pods()["web-2"] == nil {
			t.Fatalf("no pod stands in: %v", err)
		}
		s.happen("lost", "web-2")
		observed, err := s.r.observe(s.ctx, s.set())
		if err != nil || observed.control == nil {
			t.Fatalf("nothing is observed: %v", err)
		}
		d := Decide(observed.in)
		if got := heldAs(d, 2); got != HeldStaleClaim || short(d) != "" {
			t.Errorf("decided %q, and ordinal 2 is held for %q", short(d), got)
		}
		(&disks{stage: s}).collect()
		if s.passes(5) != nil || s.pods()["web-2"] == nil {
			t.Error("no other one stands in")
		}
	})
}

// disks are the claims of a stage as its test knows them, by UID.
type disks struct {
	*stage
	// real are those of an ordinal of the set; spoilt were written by a pod that stood in.
	real   map[types.UID]string
	spoilt map[types.UID]bool
	// marked were made for a pod that stood in: without the mark they have become an ordinal's.
	marked map[types.UID]bool
	// owned are pods that were the set's while they ran; stoodIn those that were not at first.
	owned, stoodIn map[types.UID]bool
}

func (d *disks) claims() []corev1.PersistentVolumeClaim {
	d.t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := d.server.List(d.ctx, &list); err != nil {
		d.t.Fatalf("%v", err)
	}
	return list.Items
}

// collect deletes the claims whose pods are gone, as the garbage collector does.
func (d *disks) collect() {
	d.t.Helper()
	pods := d.pods()
	for _, claim := range d.claims() {
		gone := func(r metav1.OwnerReference) bool {
			return r.Kind == "Pod" && (pods[r.Name] == nil || pods[r.Name].UID != r.UID)
		}
		if len(claim.OwnerReferences) > 0 && !slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return !gone(r) }) {
			if err := d.server.Delete(d.ctx, &claim); err != nil {
				d.t.Fatalf("%v", err)
			}
		}
	}
}

// write has the pods that run write to their claims, and checks whose they are.
func (d *disks) write() {
	d.t.Helper()
	spec, err := SpecOf(d.set())
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	pods, there := d.pods(), map[types.UID]bool{}
	for _, claim := range d.claims() {
		there[claim.UID] = true
		ordinal, _ := ordinalOf("data-web", claim.Name)
		if pod := pods[podName("web", ordinal)]; pod != nil && pod.Status.Phase == corev1.PodRunning {
			d.writes(pod, &claim, spec.Owns(ordinal))
		}
	}
	for uid, name := range d.real {
		if !there[uid] {
			d.t.Fatalf("claim %s is gone, and with it the data of an ordinal", name)
		}
	}
}

func (d *disks) writes(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, owned bool) {
	d.t.Helper()
	d.owned[pod.UID] = d.owned[pod.UID] || owned
	d.marked[claim.UID] = d.marked[claim.UID] || isMarked(claim)
	becameOrdinals := d.marked[claim.UID] && !isMarked(claim)
	switch {
	case !d.owned[pod.UID] && d.real[claim.UID] != "":
		d.t.Fatalf("pod %s stands in with the data of a former ordinal", pod.Name)
	case owned && d.spoilt[claim.UID] && !d.stoodIn[pod.UID] && !becameOrdinals:
		d.t.Fatalf("pod %s runs with what another one wrote that stood in", pod.Name)
	case !d.owned[pod.UID]:
		d.spoilt[claim.UID], d.stoodIn[pod.UID] = true, true
	case owned && !isMarked(claim):
		d.real[claim.UID] = claim.Name
		delete(d.spoilt, claim.UID)
	}
}

// go on: everybody does their part that often, the garbage collector seldom.
func (d *disks) goOn(rt *rapid.T, passes int) {
	d.t.Helper()
	for range passes {
		_ = d.passes(1)
		d.write()
		if rapid.IntRange(0, 2).Draw(rt, "collects") == 0 {
			d.collect()
		}
	}
}

// TestDisksOfStandIns: whatever is rolled out, scaled and lost, with Retain no data of an ordinal is
// lost, or shown to a pod that stands in; what such a pod writes no ordinal sees but its own.
func TestDisksOfStandIns(t *testing.T) {
	t.Parallel()
	t.Run("X-12 random roll-outs, scalings and losses", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			d := &disks{stage: newStage(t, 2), real: map[types.UID]string{}, spoilt: map[types.UID]bool{}, marked: map[types.UID]bool{}, owned: map[types.UID]bool{}, stoodIn: map[types.UID]bool{}}
			d.t = rt
			d.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy = rapid.SampledFrom([]appsv1.PodManagementPolicyType{appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement}).Draw(rt, "management")
				spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized("data", "1Gi")}
				spec.UpdateStrategy.RollingUpdate.MaxSurge, spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(1)), new(intstr.FromInt32(0))
				spec.UpdateStrategy.RollingUpdate.OnFailure = api.Halt
			})
			for i := range rapid.IntRange(2, 6).Draw(rt, "events") {
				switch rapid.SampledFrom([]string{"image", "image", "scale", "scale", "surge", "lost", "failed"}).Draw(rt, "event") {
				case "image":
					d.image(fmt.Sprintf("a:%d", i+2))
				case "scale":
					d.change(func(spec *api.StatefulSetSpec) { spec.Replicas = new(rapid.Int32Range(1, 4).Draw(rt, "replicas")) })
				case "surge":
					d.change(func(spec *api.StatefulSetSpec) {
						spec.UpdateStrategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(rapid.Int32Range(1, 2).Draw(rt, "surge")))
					})
				case "lost":
					d.happen("lost", podName("web", rapid.Int32Range(0, 5).Draw(rt, "of")))
				case "failed":
					d.happen("failed", podName("web", rapid.Int32Range(0, 5).Draw(rt, "of")))
				}
				d.goOn(rt, rapid.IntRange(0, 6).Draw(rt, "passes"))
			}
			d.goOn(rt, 25)
			d.collect()
			d.goOn(rt, 10)
			if fault := d.fault(*d.set().Spec.Replicas, ""); fault != "" {
				rt.Fatalf("%s; %+v", fault, d.set().Status.Conditions)
			}
			for _, claim := range d.claims() {
				if isMarked(&claim) {
					rt.Fatalf("claim %s is left of a pod that stood in", claim.Name)
				}
			}
		})
	})
}
