package slices

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestNextStandIn: the next surge pod waits until the claims of the former one are deleted.
func TestNextStandIn(t *testing.T) {
	t.Run("X-12 it is held", func(t *testing.T) {
		s := newStage(t, 2)
		s.change(func(spec *api.StatefulSetSpec) {
			spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
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
		d := decide.Decide(observed.in)
		if got := slicetest.HeldAs(d, 2); got != decide.HeldStaleClaim || slicetest.Short(d) != "" {
			t.Errorf("decided %q, and ordinal 2 is held for %q", slicetest.Short(d), got)
		}
		(&disks{stage: s}).collect()
		if s.passes(5) != nil || s.pods()["web-2"] == nil {
			t.Error("no other one stands in")
		}
	})
}

// disks are the claims of a stage according to its test, by UID.
type disks struct {
	*stage
	// real are the claims of the set's ordinals. spoilt were written by a surge pod.
	real   map[types.UID]string
	spoilt map[types.UID]bool
	// marked were created for a surge pod. Without the mark, they have become an ordinal's.
	marked map[types.UID]bool
	// owned are pods that belonged to the set while they ran. stoodIn are those that did not at first.
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

// collect deletes the claims of deleted pods, like the garbage collector.
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

// write makes the running pods write to their claims, and checks the owners of the data.
func (d *disks) write() {
	d.t.Helper()
	spec, err := decide.SpecOf(d.set())
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	pods, there := d.pods(), map[types.UID]bool{}
	for _, claim := range d.claims() {
		there[claim.UID] = true
		ordinal, _ := observe.OrdinalOf("data-web", claim.Name)
		if pod := pods[observe.PodName("web", ordinal)]; pod != nil && pod.Status.Phase == corev1.PodRunning {
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
	d.marked[claim.UID] = d.marked[claim.UID] || slicetest.IsMarked(claim)
	becameOrdinals := d.marked[claim.UID] && !slicetest.IsMarked(claim)
	switch {
	case !d.owned[pod.UID] && d.real[claim.UID] != "":
		d.t.Fatalf("pod %s stands in with the data of a former ordinal", pod.Name)
	case owned && d.spoilt[claim.UID] && !d.stoodIn[pod.UID] && !becameOrdinals:
		d.t.Fatalf("pod %s runs with what another one wrote that stood in", pod.Name)
	case !d.owned[pod.UID]:
		d.spoilt[claim.UID], d.stoodIn[pod.UID] = true, true
	case owned && !slicetest.IsMarked(claim):
		d.real[claim.UID] = claim.Name
		delete(d.spoilt, claim.UID)
	}
}

// goOn runs all participants several times, and the garbage collector rarely.
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

// TestDisksOfStandIns: with any roll-outs, scaling and losses, and the policy Retain, no data of an ordinal is lost or
// visible to a surge pod. Data of a surge pod is visible only to its own ordinal.
func TestDisksOfStandIns(t *testing.T) {
	t.Parallel()
	t.Run("X-12 random roll-outs, scalings and losses", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			d := &disks{stage: newStage(t, 2), real: map[types.UID]string{}, spoilt: map[types.UID]bool{}, marked: map[types.UID]bool{}, owned: map[types.UID]bool{}, stoodIn: map[types.UID]bool{}}
			d.t = rt
			d.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy = rapid.SampledFrom([]appsv1.PodManagementPolicyType{appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement}).Draw(rt, "management")
				spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
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
					d.happen("lost", observe.PodName("web", rapid.Int32Range(0, 5).Draw(rt, "of")))
				case "failed":
					d.happen("failed", observe.PodName("web", rapid.Int32Range(0, 5).Draw(rt, "of")))
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
				if slicetest.IsMarked(&claim) {
					rt.Fatalf("claim %s is left of a pod that stood in", claim.Name)
				}
			}
		})
	})
}
