package decide

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// viewZone sets the domain of a pod: the zone of its ordinal, once it is scheduled. A pod of an ordinal without a zone runs
// on a node without the label.
func (w *world) viewZone(pod *Pod) {
	if w.zones == nil || w.in.Spec.TopologyKey == "" || pod.Phase == Pending {
		return
	}
	pod.Domain = Domain{Node: fmt.Sprint("node-", pod.Ordinal)}
	pod.Domain.Value, pod.Domain.Labeled = w.zones[pod.Ordinal]
}

// zoneOf returns the zone of an ordinal, or a name of its own.
func (w *world) zoneOf(ordinal int32) string {
	if zone, labeled := w.zones[ordinal]; labeled {
		return zone
	}
	return fmt.Sprint("ordinal ", ordinal)
}

// TestOneZoneAtATime: an update never has taken down available pods of two zones at a time, and finishes a zone before it
// begins another, whatever happens to the pods. It ends.
func TestOneZoneAtATime(t *testing.T) {
	t.Run("kubernetes#114010: random zones, events and templates", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			spec := slice(rapid.Int32Range(2, 6).Draw(t, "replicas"), "", unavailable(rapid.Int32Range(1, 4).Draw(t, "maxUnavailable"))).Spec
			spec.TopologyKey, spec.Parallel = "zone", rapid.Bool().Draw(t, "parallel")
			spec.Partition = rapid.SampledFrom([]int32{0, 0, 2}).Draw(t, "partition")
			spec.MaxSurge = rapid.SampledFrom([]int32{0, 0, 1}).Draw(t, "maxSurge")
			spec.Policy = rapid.SampledFrom([]api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible}).Draw(t, "policy")
			w := newWorld(t, spec)
			w.run()
			w.zones = map[int32]string{}
			for ordinal := range int32(6) {
				if zone := rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "zone"); zone != "" {
					w.zones[ordinal] = zone
				}
			}
			z := &zoneCheck{w: w, down: map[int32]string{}}
			t.Repeat(map[string]func(*rapid.T){
				"reconcile": func(t *rapid.T) { z.reconcile(t) },
				"again":     func(t *rapid.T) { z.reconcile(t) },
				"pods": func(t *rapid.T) {
					for range rapid.IntRange(1, 6).Draw(t, "steps") {
						w.random(t)
					}
				},
				"template": func(t *rapid.T) {
					w.roll(rapid.SampledFrom([]string{"a1", "a2", "b1", "x1"}).Draw(t, "template"))
				},
				"another process": func(*rapid.T) { w.in.Topology.Current = Place{} },
				"time":            func(t *rapid.T) { w.in.Now = w.in.Now.Add(anyTime(t, "on")) },
			})
			w.roll("b2")
			for _, pod := range w.pods {
				pod.HeldForDelete, pod.HeldForUpdate = false, false
			}
			w.in.Spec.Deadline, w.in.Spec.OnFailure = 0, api.Halt
			w.run()
			w.atRest()
		})
	})
}

// zoneCheck records the pods that the update of a world has taken down.
type zoneCheck struct {
	w *world
	// down maps ordinals to the zone of the available pod that was taken down, until a pod is available there again.
	down map[int32]string
}

func (z *zoneCheck) reconcile(t *rapid.T) {
	before := z.w.observe()
	d := z.w.reconcile(1000)
	for ordinal := range z.down {
		if pod := podAt(before, ordinal); pod != nil && serves(before, pod) || !before.Spec.Owns(ordinal) {
			delete(z.down, ordinal)
		}
	}
	for _, a := range d.Actions {
		pod := podAt(before, a.Ordinal)
		if !isUpdate(a) || a.Verb != Delete && a.Verb != BeginInPlace || !serves(before, pod) {
			continue
		}
		z.down[a.Ordinal] = z.w.zoneOf(a.Ordinal)
		for other, zone := range z.down {
			if zone != z.down[a.Ordinal] {
				t.Fatalf("D10: ordinal %d of %s goes, and ordinal %d of %s is not available again: %s", a.Ordinal, z.down[a.Ordinal], other, zone, short(d))
			}
		}
	}
}

// TestZoneIsFinished: all pods of a zone are updated before the next zone begins, in the order of the highest ordinals, as
// many at a time as maxUnavailable allows.
func TestZoneIsFinished(t *testing.T) {
	for name, tc := range map[string]struct {
		change []func(*Input)
		want   []string
	}{
		"OrderedReady":               {[]func(*Input){unavailable(1)}, []string{"Delete 5", "Create 5a2", "Delete 3", "Create 3a2", "Delete 1", "Create 1a2", "Delete 4", "Create 4a2", "Delete 2", "Create 2a2", "Delete 0", "Create 0a2", ""}},
		"OrderedReady, a whole zone": {[]func(*Input){unavailable(3)}, []string{"Delete 5, Delete 3, Delete 1", "Create 1a2", "Create 3a2", "Create 5a2", "Delete 4, Delete 2, Delete 0", "Create 0a2", "Create 2a2", "Create 4a2", ""}},
		"Parallel, a whole zone":     {[]func(*Input){unavailable(6), parallel}, []string{"Delete 5, Delete 3, Delete 1", "Create 1a2, Create 3a2, Create 5a2", "Delete 4, Delete 2, Delete 0", "Create 0a2, Create 2a2, Create 4a2", ""}},
		"Parallel, two at a time":    {[]func(*Input){unavailable(2), parallel}, []string{"Delete 5, Delete 3", "Create 3a2, Create 5a2", "Delete 1", "Create 1a2", "Delete 4, Delete 2", "Create 2a2, Create 4a2", "Delete 0", "Create 0a2", ""}},
		"a partition":                {[]func(*Input){unavailable(6), parallel, partition(3)}, []string{"Delete 5, Delete 3", "Create 3a2, Create 5a2", "Delete 4", "Create 4a2", ""}},
		"maxSurge": {[]func(*Input){unavailable(0), surge(2), parallel}, []string{
			"Create 6a2, Create 7a2", "Delete 5, Delete 3", "Create 3a2, Create 5a2", "Delete 1", "Create 1a2", "Delete 4, Delete 2", "Create 2a2, Create 4a2", "Delete 0", "Create 0a2, Delete 7", "Delete 6", "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, slice(6, "", tc.change...).Spec)
			w.run()
			w.in.Spec.TopologyKey = "zone"
			w.zones = map[int32]string{0: "b", 2: "b", 4: "b", 1: "a", 3: "a", 5: "a", 6: "a", 7: "b"}
			w.in.Revisions.Update = "a2"
			for i, want := range tc.want {
				if got := short(w.reconcile(1000)); got != want {
					t.Fatalf("step %d: %q, want %q", i+1, got, want)
				}
				for range 2 {
					for _, ordinal := range w.ordinals() {
						w.on(w.pods[ordinal])
					}
				}
			}
		})
	}
}

// TestZoneBegunBefore: a process that takes over continues with the zone that has updated pods.
func TestZoneBegunBefore(t *testing.T) {
	in := zoned(slice(4, "a b a a", parallel, unavailable(2)), "b", "a", "a", "b")
	if got := short(Decide(in)); got != "Delete 2" {
		t.Errorf("it continues with %q", got)
	}
}
