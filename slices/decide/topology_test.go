package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// zoned sets the zone of each pod, in the order of the ordinals: "." for a node without the label, "" for no node.
func zoned(in Input, zones ...string) Input {
	in.Spec.TopologyKey = "zone"
	for i, zone := range zones {
		at := slices.IndexFunc(in.Pods, func(p Pod) bool { return p.Ordinal == in.Spec.Start+int32(i) })
		if at < 0 || zone == "" {
			continue
		}
		in.Pods[at].Domain = Domain{Node: fmt.Sprint("node-", i)}
		if zone != "." {
			in.Pods[at].Domain.Value, in.Pods[at].Domain.Labeled = zone, true
		}
	}
	return in
}

// current sets the domain that the previous pass updated.
func current(in Input, zone string) Input {
	in.Topology.Current = Place{Known: true, Value: zone}
	return in
}

// TestTopologyKey: which pods of which zones are updated, and which are held.
func TestTopologyKey(t *testing.T) {
	all := []func(*Input){parallel, unavailable(6)}
	nodesUnread := func(in Input) Input { in.Topology.Unread = "forbidden"; return in }
	check(t, []row{
		{
			name: "the zone of the highest ordinal", in: zoned(slice(4, "a a a a", all...), "a", "b", "a", "b"),
			want: "Delete 3, Delete 1", held: map[int32]string{0: HeldTopology, 2: HeldTopology},
		},
		{name: "a label that is empty is a zone", in: current(zoned(slice(2, "a a", all...), "a", "b"), ""), want: "Delete 1"},
		{name: "the zone of the previous pass first", in: current(zoned(slice(4, "a a a a", all...), "a", "b", "a", "b"), "a"), want: "Delete 2, Delete 0"},
		{name: "the zone with updated pods first", in: zoned(slice(4, "a a b a", all...), "a", "b", "a", "b"), want: "Delete 0"},
		{
			name: "an updated pod that is not available yet keeps the others in their zone", in: zoned(slice(3, "a a b-", all...), "a", "b", "a"),
			want: "", held: map[int32]string{0: HeldTopology, 1: HeldTopology},
		},
		{name: "more pods of the zone of the previous pass go", in: current(zoned(slice(3, "a a b-", all...), "a", "b", "a"), "a"), want: "Delete 0"},
		{name: "also while one is missing", in: current(zoned(slice(3, "a a .", all...), "a", "b", ""), "a"), want: "Create 2b, Delete 0", held: map[int32]string{1: HeldTopology}},
		{name: "also while one is not scheduled", in: current(zoned(slice(3, "a a b?", all...), "a", "b", ""), "a"), want: "Delete 0", held: map[int32]string{1: HeldTopology}},
		{name: "no zone begins while an ordinal has no pod", in: zoned(slice(3, "a a .", all...), "a", "b", ""), want: "Create 2b", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "a pod that is Terminating counts in its zone", in: zoned(slice(3, "a a at", all...), "a", "b", "a"), want: "Delete 0", held: map[int32]string{1: HeldTopology}},
		{name: "a pod that is not scheduled may come from anywhere", in: zoned(neverUp(slice(3, "a a a?", all...)), "a", "b", ""), want: "Delete 2", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "a pod of another zone is not available", in: current(zoned(slice(4, "a b- a a", all...), "a", "b", "a", "b"), "a"), want: "", held: map[int32]string{0: HeldTopology, 2: HeldTopology, 3: HeldTopology}},
		{name: "a pod on a node without the label is not available", in: current(zoned(slice(3, "a a b-", all...), "a", "a", "."), "a"), want: "", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "a zone with pods below the partition has not begun", in: zoned(slice(3, "a a a", parallel, unavailable(6), partition(1)), "a", "a", "b"), want: "Delete 2", held: map[int32]string{1: HeldTopology}},
		{name: "a deletion on request that waits holds nothing", in: zoned(slice(3, "a a* a", all...), "a", "b", "a").with(1, func(p *Pod) { p.HeldForDelete = true }), want: "Announce 1 Deletion, Delete 2, Delete 0"},
		{
			name: "nor does one that waits beside one that does not", in: current(zoned(slice(3, "a a* a*", all...), "a", "b", "a"), "a").with(1, func(p *Pod) { p.HeldForDelete = true }),
			want: "Delete 2, Announce 1 Deletion, Delete 0",
		},
		{name: "an eviction on request holds the others", in: within(zoned(slice(3, "a a* a", all...), "a", "b", "a"), allowing(1, 3)), want: "Evict 1", held: map[int32]string{0: HeldTopology, 2: HeldTopology}},
		{name: "a pod that was never available is replaced in any zone", in: zoned(neverUp(slice(3, "a a- a", all...)), "a", "b", "a"), want: "Delete 1", held: map[int32]string{0: HeldTopology, 2: HeldTopology}},
		{name: "its zone comes first", in: zoned(neverUp(slice(4, "a a- a a", all...)), "b", "b", "a", "a"), want: "Delete 1, Delete 0", held: map[int32]string{2: HeldTopology, 3: HeldTopology}},
		{name: "while pods of two zones are not available, no other goes", in: zoned(neverUp(slice(4, "a- a a- a", all...)), "b", "b", "a", "a"), want: "Delete 2, Delete 0", held: map[int32]string{1: HeldTopology, 3: HeldTopology}},
		{name: "a pod below the partition does not matter", in: zoned(slice(3, "a- a a", parallel, unavailable(6), partition(1)), "b", "a", "a"), want: "Delete 2, Delete 1"},
		{name: "each pod on a node without the label is updated alone", in: zoned(slice(3, "a a a", all...), ".", ".", "."), want: "Delete 2", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "and the next one when it is available", in: zoned(slice(3, "a a b", all...), ".", ".", "."), want: "Delete 1", held: map[int32]string{0: HeldTopology}},
		{name: "a pod on a node without the label beside a zone", in: zoned(slice(3, "a a a", all...), "a", "a", "."), want: "Delete 2", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "nodes that cannot be read", in: nodesUnread(zoned(slice(2, "a a", all...), "", "")), want: "", held: map[int32]string{0: HeldTopology, 1: HeldTopology}},
		{name: "a pod that is not Ready goes nevertheless", in: nodesUnread(zoned(neverUp(slice(2, "a a-", all...)), "", "")), want: "Delete 1"},
		{name: "maxUnavailable limits the pods of a zone", in: zoned(slice(4, "a a a a", parallel, unavailable(1)), "a", "b", "a", "b"), want: "Delete 3", held: map[int32]string{1: HeldBudget, 0: HeldTopology}},
		{name: "a deletion on request is not of a zone, and holds the others", in: zoned(slice(3, "a a* a", all...), "a", "b", "a"), want: "Delete 1", held: map[int32]string{0: HeldTopology, 2: HeldTopology}},
		{name: "without a key", in: slice(2, "a a", all...), want: "Delete 1, Delete 0"},
	})
}

// TestTopologyMessages: a held pod names the zone or the ordinal that it waits for, and a node without the label.
func TestTopologyMessages(t *testing.T) {
	all := []func(*Input){parallel, unavailable(6)}
	unread := zoned(slice(2, "a a", all...), "", "")
	unread.Topology.Unread = "nodes is forbidden"
	for name, tc := range map[string]struct {
		in   Input
		want string
		warn string
	}{
		"another zone is updated":       {zoned(slice(2, "a a", all...), "a", "b"), "it is updated when all pods of zone=b are updated and available", ""},
		"a pod is not available":        {zoned(slice(2, "a b-", all...), "a", "b"), "one value of zone is updated at a time: it waits until ordinal 1 is available, which is in zone=b", ""},
		"a pod is missing":              {zoned(slice(2, "a .", all...), "a"), "one value of zone is updated at a time: it waits until ordinal 1 is available", ""},
		"the only pod of another zone":  {zoned(neverUp(slice(2, "a a-", all...)), "a", "b"), "one value of zone is updated at a time: it waits until ordinal 1 is available, which is in zone=b", ""},
		"a label that no node has":      {zoned(slice(2, "a a", all...), ".", "."), "it is updated when all pods of node node-1 (ordinal 1) are updated and available; node node-0 does not have the label zone, so it is updated alone", "no node of the pods has the label zone: each such pod is updated alone; label the nodes, or correct updateStrategy.rollingUpdate.topologyKey"},
		"a node without the label":      {zoned(slice(2, "a a", all...), ".", "a"), "it is updated when all pods of zone=a are updated and available; node node-0 does not have the label zone, so it is updated alone", "node node-0 does not have the label zone: each such pod is updated alone; label the nodes, or correct updateStrategy.rollingUpdate.topologyKey"},
		"nodes that cannot be read":     {unread, "nodes cannot be read, which the manager must be allowed to list and watch: nodes is forbidden", ""},
		"nothing is left, and no label": {zoned(slice(2, "b- b", all...), ".", "."), "it is not Ready", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.in)
			var got []string
			for _, h := range d.Held {
				if h.Ordinal == 0 {
					got = append(got, h.Message)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" || d.TopologyWarning != tc.warn {
				t.Errorf("(-want +got):\n%s\nwarning %q", diff, d.TopologyWarning)
			}
		})
	}
}

// TestHugeSetWithZones: the ordinals without a pod are not listed one by one.
func TestHugeSetWithZones(t *testing.T) {
	in := zoned(slice(1_000_000, "a a", parallel, unavailable(1_000_000)), "a", "b")
	d := Decide(in)
	if len(d.Actions) != MostCreated || heldAs(d, 0) != HeldTopology {
		t.Errorf("%d actions, ordinal 0 is held for %q", len(d.Actions), heldAs(d, 0))
	}
	in = zoned(slice(1_000_000, "a a", parallel, unavailable(1_000_000), partition(999_990)), "a", "b")
	in.Pods = append(in.Pods, podsOf(0, "999995: a")...)
	last := func(d Decision) Hold { return d.Held[len(d.Held)-1] }
	want := Hold{Ordinal: 999_995, Reason: HeldTopology, Message: "one value of zone is updated at a time: it waits until ordinal 999990 is available"}
	if got := last(Decide(in)); got != want {
		t.Errorf("held %+v", got)
	}
	near := zoned(slice(3, "a . a", parallel, partition(1)), "a", "", "b")
	if got := last(Decide(near)); !strings.Contains(got.Message, "until ordinal 1 is available") {
		t.Errorf("held %+v", got)
	}
}

// TestZoneIsRemembered: the zone of the previous pass stays the present one while no available pod waits.
func TestZoneIsRemembered(t *testing.T) {
	a := Place{Known: true, Value: "a"}
	if got := Decide(current(zoned(slice(3, "b b- ."), "b", "a", ""), "a")).Domain; got != a {
		t.Errorf("after the last pod of a zone: %+v", got)
	}
	if got := Decide(zoned(slice(2, "a a"), "b", "a")).Domain; got != a {
		t.Errorf("a zone that begins: %+v", got)
	}
	if got := Decide(current(slice(2, "a a"), "b")).Domain; got != (Place{}) {
		t.Errorf("without a key: %+v", got)
	}
	unread := zoned(slice(2, "a a"), "", "")
	unread.Topology.Unread = "forbidden"
	if got := Decide(unread).Wait; got != readNodesAgain {
		t.Errorf("nodes are read again after %s", got)
	}
}

// anyZone draws the domain of a pod.
func anyZone(t *rapid.T, pod *Pod) Domain {
	domain := Domain{Node: fmt.Sprint("node-", pod.Ordinal), Labeled: often(t, "labeled")}
	if domain.Labeled {
		domain.Value = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
	}
	if pod.Phase == Pending && rapid.Bool().Draw(t, "not scheduled") {
		return Domain{}
	}
	return domain
}

// withZones draws a rolling update with zones.
func withZones(t *rapid.T) Input {
	in := anyInput(t)
	in.Spec.TopologyKey = "zone"
	for i := range in.Pods {
		in.Pods[i].Domain = anyZone(t, &in.Pods[i])
	}
	in.Topology.Current = rapid.SampledFrom([]Place{{}, {Known: true, Value: "a"}, {Known: true, Value: "b"}}).Draw(t, "current")
	return in
}

// TestUpdatesStayInOneZone is D10.
func TestUpdatesStayInOneZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := withZones(t)
		if in.Spec.Strategy != api.RollingUpdate {
			return
		}
		d := Decide(in)
		var place *Place
		for _, a := range d.Actions {
			pod := podAt(in, a.Ordinal)
			if !isUpdate(a) || a.Verb != Delete && a.Verb != BeginInPlace || !isReady(in, pod) || pod.InPlace != nil && !pod.InPlace.Serves {
				continue
			}
			at := placeOf(pod)
			if place != nil && *place != at {
				t.Fatalf("D10: pods of %+v and %+v go together: %s", *place, at, short(d))
			}
			place = &at
		}
		if place == nil {
			return
		}
		if d.Domain != *place {
			t.Fatalf("%+v is updated, and %+v is reported", *place, d.Domain)
		}
		for i := range in.Pods {
			pod := &in.Pods[i]
			if at := placeOf(pod); slices.Contains(in.Spec.Ordinals(), pod.Ordinal) && pod.Ordinal >= in.Spec.Partition && !serves(in, pod) && at.Known && at != *place {
				t.Fatalf("D10: a pod of %+v goes while ordinal %d of %+v is not available: %s", *place, pod.Ordinal, at, short(d))
			}
		}
	})
}

// TestOneZoneIsNoZone: where all pods are in the zone of the previous pass, the key changes nothing.
func TestOneZoneIsNoZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		if in.Spec.Strategy != api.RollingUpdate {
			return
		}
		want := Decide(in)
		in.Spec.TopologyKey, in.Topology.Current = "zone", Place{Known: true, Value: "a"}
		for i := range in.Pods {
			in.Pods[i].Domain = Domain{Node: "node", Value: "a", Labeled: true}
		}
		if diff := cmp.Diff(want, Decide(in), cmpopts.IgnoreFields(Decision{}, "Domain"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-without +with):\n%s", diff)
		}
	})
}
