package evacuate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// sized returns a set whose pods have requests and volumes.
func sized(name string, ordinals int, milli int64, nodes ...string) Set {
	s := movable(name, ordinals)
	s.Pod = Pod{Amounts: Amounts{milli, 1 << 30, 1}, Volumes: map[string]int64{"disks": 1}, Nodes: nodes}
	s.Templates = []Template{{Name: "data", Method: api.MethodCopy, Class: "fast", Driver: "disks", Claims: ordinals, Bytes: int64(ordinals) << 30, Largest: 1 << 30}}
	s.Quota = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(ordinals), resource.DecimalSI)}
	return s
}

func node(name string, milli, attach int64) Node {
	return Node{Name: name, Free: Amounts{milli, 8 << 30, 10}, Attach: map[string]int64{"disks": attach}}
}

// TestRooms compares what two sets need with what a destination has.
func TestRooms(t *testing.T) {
	rebound := sized("queue", 1, 250)
	rebound.Templates[0].Method = api.MethodRebind
	p := Of(Inventory{
		Sets: []Set{sized("db", 3, 1000), rebound},
		Destination: Destination{
			Nodes:   []Node{node("a", 2000, 2), node("b", 2000, 5)},
			Classes: []Class{{Name: "fast", Free: 2 << 30, Largest: 1 << 29}, {Name: "slow"}},
			Quotas: []Quota{
				{named("small"), corev1.ResourceList{corev1.ResourcePods: resource.MustParse("5"), corev1.ResourceSecrets: resource.MustParse("1")}, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
				{Name{Namespace: "other", Name: "q"}, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}, nil},
			},
		},
	})
	var got strings.Builder
	for _, r := range p.Rooms {
		fmt.Fprintf(&got, "%s %s/%s %t,%t\n", r.What, r.Needs.String(), r.Free.String(), r.Known, r.Fits())
	}
	want := `cpu 3250m/4 true,true
memory 4Gi/16Gi true,true
pods 4/20 true,true
claims 4/0 false,true
attached volumes of driver disks 4/7 true,true
storage of class fast 3Gi/2Gi true,false
largest volume of class fast 1Gi/512Mi true,false
quota shop/small: pods 4/3 true,false
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
	if len(p.Short()) != 3 || p.Whole() || len(p.Unplaced) != 0 {
		t.Errorf("short of %v, without a place: %v", p.Short(), p.Unplaced)
	}
}

// TestUnknownRooms: a resource without a known limit is never short.
func TestUnknownRooms(t *testing.T) {
	p := Of(Inventory{Sets: []Set{sized("db", 3, 1000)}})
	if len(p.Rooms) == 0 || !p.Whole() {
		t.Errorf("%+v", p)
	}
}

// TestPlace: an ordinal that fits on no node is named, although the sum over all nodes is free.
func TestPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		set   Set
		nodes []Node
		want  string
	}{
		"all fit":            {sized("db", 2, 1500), []Node{node("a", 2000, 1), node("b", 2000, 1)}, ""},
		"too large for each": {sized("db", 2, 1500), []Node{node("a", 1600, 9), node("b", 1400, 9)}, "shop/db-0 1m45s none of 2 nodes has room: they lack cpu"},
		"no attachments":     {sized("db", 2, 1), []Node{node("a", 2000, 1)}, "shop/db-0 1m45s none of 1 nodes has room: they lack attached volumes of driver disks"},
		"not on that node":   {sized("db", 2, 1000, "b"), []Node{node("a", 9000, 9), node("b", 1000, 9)}, "shop/db-0 1m45s none of 1 nodes has room: they lack cpu"},
		"on no node":         {sized("db", 1, 1, "c"), []Node{node("a", 9000, 9)}, "shop/db-0 45s no node can take it"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Of(Inventory{Sets: []Set{tc.set}, Destination: Destination{Nodes: tc.nodes}})
			var got strings.Builder
			for _, u := range p.Unplaced {
				fmt.Fprintf(&got, "%s-%d %s %s", u.Set, u.Ordinal, u.At, u.Why)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", &got, tc.want)
			}
		})
	}
}

// TestPlaced: the pods that are placed never exceed a node, and each pod without a place would exceed all of them.
func TestPlaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var i Inventory
		for nth := range rapid.IntRange(1, 6).Draw(t, "sets") {
			i.Sets = append(i.Sets, sized(strconv.Itoa(nth), rapid.IntRange(0, 3).Draw(t, "ordinals"), int64(rapid.IntRange(0, 900).Draw(t, "cpu"))))
		}
		var cpu, volumes int64
		for nth := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			n := node(strconv.Itoa(nth), int64(rapid.IntRange(0, 2000).Draw(t, "free")), int64(rapid.IntRange(0, 4).Draw(t, "attach")))
			cpu, volumes = cpu+n.Free.MilliCPU, volumes+n.Attach["disks"]
			i.Destination.Nodes = append(i.Destination.Nodes, n)
		}
		p := Of(i)
		left := map[Name]int64{}
		for _, row := range p.Rows {
			left[row.Set.Name] = int64(len(row.Handoffs))
		}
		for _, u := range p.Unplaced {
			left[u.Set]--
		}
		for _, row := range p.Rows {
			cpu -= left[row.Set.Name] * row.Set.Pod.MilliCPU
			volumes -= left[row.Set.Name]
		}
		if cpu < 0 || volumes < 0 {
			t.Fatalf("the pods that have a place need %d and %d more than there is", -cpu, -volumes)
		}
		if short := len(p.Short()) > 0; short && len(p.Unplaced) == 0 {
			t.Fatalf("short of %v, and all have a place", p.Short())
		}
	})
}
