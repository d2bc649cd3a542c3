package slices

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// zoneKey is the label of the zones of these tests.
const zoneKey = "e2e.sliceshift.io/zone"

// ofKey is a label and a taint of the nodes of a test.
const ofKey = "e2e.sliceshift.io/of"

// addZones adds a node in each zone, on which only pods of this test run. A node of the zone "" does not have the label.
func (p *play) addZones(zones ...string) {
	p.t.Helper()
	like := &corev1.Node{}
	p.must(api.Get(p.ctx, client.ObjectKey{Name: "node-0"}, like))
	room, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": like.Status.Capacity, "allocatable": like.Status.Allocatable}})
	p.must(err)
	for i, zone := range zones {
		name := fmt.Sprintf("%s-%d", p.set.Namespace, i)
		labels := maps.Clone(like.Labels)
		labels[corev1.LabelHostname], labels[ofKey] = name, p.set.Namespace
		if zone != "" {
			labels[zoneKey] = zone
		}
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: ofKey, Value: p.set.Namespace, Effect: corev1.TaintEffectNoSchedule}}},
		}
		p.must(api.Create(p.ctx, node))
		p.t.Cleanup(func() { _ = api.Delete(context.WithoutCancel(p.ctx), node) })
		p.must(api.Status().Patch(p.ctx, node.DeepCopy(), client.RawPatch(types.MergePatchType, room)))
	}
}

// spread returns a play whose pods are spread over nodes in these zones.
func spread(t *testing.T, set *sliceapi.StatefulSet, zones ...string) *play {
	t.Helper()
	p := newPlay(t, set)
	spec := &set.Spec.Template.Spec
	spec.NodeSelector = map[string]string{ofKey: set.Namespace}
	spec.Tolerations = []corev1.Toleration{{Key: ofKey, Operator: corev1.TolerationOpExists}}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: set.Spec.Selector,
	}}
	p.addZones(zones...)
	p.must(api.Create(p.ctx, set))
	p.complete()
	return p
}

// zones returns the zones of the pods by name; the name of the node where it does not have the label.
func (p *play) zones() map[string]string {
	p.t.Helper()
	zones := map[string]string{}
	for _, pod := range p.pods() {
		node := &corev1.Node{}
		p.must(api.Get(p.ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node))
		zone, labeled := node.Labels[zoneKey]
		if !labeled {
			zone = "of " + pod.Name
		}
		zones[pod.Name] = zone
	}
	return zones
}

// inOneZone checks until the set is complete that pods of at most one zone are down, and that at most one zone has pods of
// both images. It returns the highest number of pods that were down.
func (p *play) inOneZone(zones map[string]string, image string) (most int) {
	p.t.Helper()
	for !p.isComplete() {
		down, old, updated := map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, zone := range zones {
			down[zone]++
		}
		for _, pod := range p.pods() {
			zone, has := zones[pod.Name]
			if !has {
				continue // a surge pod
			}
			if pod.DeletionTimestamp == nil && fixture.IsReady(&pod) {
				if down[zone]--; down[zone] == 0 {
					delete(down, zone)
				}
			}
			if is := pod.Spec.Containers[0].Image == image; is {
				updated[zone] = true
			} else {
				old[zone] = true
			}
		}
		mixed := 0
		for zone := range updated {
			if old[zone] {
				mixed++
			}
		}
		if len(down) > 1 || mixed > 1 {
			p.t.Fatalf("pods are down in %v, and %d zones have pods of both images\n%s", down, mixed, p)
		}
		for _, n := range down {
			most = max(most, n)
		}
		p.must(p.ctx.Err())
	}
	return most
}

// zoned returns a set that is updated zone by zone, each zone as a whole.
func zoned(replicas int32, policy appsv1.PodManagementPolicyType, update sliceapi.PodUpdatePolicy) *sliceapi.StatefulSet {
	set := inPlace(replicas, update)
	set.Spec.PodManagementPolicy = policy
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	rolling.TopologyKey, rolling.MaxUnavailable = zoneKey, new(intstr.FromString("100%"))
	return set
}

// TestTopologyKey: a roll-out updates one zone at a time, and finishes it before it begins another.
func TestTopologyKey(t *testing.T) {
	for _, update := range []sliceapi.PodUpdatePolicy{sliceapi.ReCreate, sliceapi.InPlaceIfPossible} {
		eachManagement(t, fmt.Sprintf("kubernetes#114010 %s ", update), func(t *testing.T, policy appsv1.PodManagementPolicyType) {
			p := spread(t, zoned(6, policy, update), "a", "b", "c")
			zones := p.zones()
			p.image("web:2")
			if most := p.inOneZone(zones, "web:2"); most > 2 {
				t.Errorf("%d pods of a zone were down, and it has 2", most)
			}
			p.imagesAre("web:2", "web:2", "web:2", "web:2", "web:2", "web:2")
		})
	}
}

// TestTopologyKeySurge: surge pods do not change the order of the zones.
func TestTopologyKeySurge(t *testing.T) {
	set := zoned(4, appsv1.ParallelPodManagement, sliceapi.ReCreate)
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	rolling.MaxSurge, rolling.MaxUnavailable = new(intstr.FromInt32(1)), new(intstr.FromInt32(0))
	p := spread(t, set, "a", "b")
	p.step("kubernetes#114010: one surge pod", func(t *testing.T) {
		zones := p.zones()
		p.image("web:2")
		if most := p.inOneZone(zones, "web:2"); most > 1 {
			t.Errorf("%d pods were down at a time", most)
		}
	})
}

// TestTopologyKeyUnlabeled: each pod on a node without the label is updated alone, and an event names the node.
func TestTopologyKeyUnlabeled(t *testing.T) {
	t.Run("kubernetes#114010 no node has the label", func(t *testing.T) {
		p := spread(t, zoned(3, appsv1.ParallelPodManagement, sliceapi.ReCreate), "", "")
		zones := p.zones()
		p.image("web:2")
		if most := p.inOneZone(zones, "web:2"); most > 1 {
			t.Errorf("%d pods were down at a time", most)
		}
		p.event("TopologyKeyMissing", "no node of the pods has the label "+zoneKey)
	})
	t.Run("kubernetes#114010 one node does not have the label", func(t *testing.T) {
		p := spread(t, zoned(4, appsv1.ParallelPodManagement, sliceapi.ReCreate), "a", "")
		zones := p.zones()
		p.image("web:2")
		p.inOneZone(zones, "web:2")
		p.event("TopologyKeyMissing", "does not have the label "+zoneKey)
	})
}

// TestTopologyKeyWithBudget: with a PodDisruptionBudget as well, fewer pods of a zone go at a time.
func TestTopologyKeyWithBudget(t *testing.T) {
	set := zoned(4, appsv1.ParallelPodManagement, sliceapi.ReCreate)
	set.Spec.UpdateStrategy.RollingUpdate.Budget = sliceapi.BudgetPodDisruptionBudget
	p := spread(t, set, "a", "b")
	p.allowing("one", 1)
	p.judged("one", counts{4, 3, 4, 1})
	p.step("kubernetes#114010 kubernetes#89820: one pod at a time", func(t *testing.T) {
		zones := p.zones()
		p.image("web:2")
		if most := p.inOneZone(zones, "web:2"); most > 1 {
			t.Errorf("%d pods were down at a time", most)
		}
	})
}

// TestTopologyKeyStuck: an update that never becomes Ready stops in its zone, and the next one goes on from there.
func TestTopologyKeyStuck(t *testing.T) {
	p := spread(t, zoned(4, appsv1.ParallelPodManagement, sliceapi.ReCreate), "a", "b")
	zones := p.zones()
	before := p.uids()
	p.step("kubernetes#114010: the other zone is left alone", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = stuck
			s.Template.Annotations = map[string]string{"e2e.sliceshift.io/ready-delay": "1h"}
		})
		p.held("one value of " + zoneKey + " is updated at a time: it waits until ordinal")
		for name, uid := range p.uids() {
			if zones[name] != zones["web-3"] && uid != before[name] {
				t.Errorf("%s was deleted", name)
			}
		}
	})
	p.step("kubernetes#114010: the next image", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = "web:3"
			s.Template.Annotations = nil
		})
		p.complete()
		p.imagesAre("web:3", "web:3", "web:3", "web:3")
	})
}
