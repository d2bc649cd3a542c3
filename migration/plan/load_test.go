package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// east and west are the clusters of these tests.
func between(s *Snapshot) {
	s.Source.ClusterID, s.Destination.ClusterID = "id-east", "id-west"
	s.Record.Baseline.SourceCluster, s.Record.Baseline.DestinationCluster = "id-east", "id-west"
}

func berth(name, node string, classes ...string) Berth {
	return Berth{
		Migration: types.NamespacedName{Namespace: "shop", Name: name}, Clusters: [2]types.UID{"id-east", "id-west"},
		HandoffLoad: api.HandoffLoad{Cluster: "id-east", Node: node, StorageClasses: classes},
	}
}

// TestLoadGate: no handoff begins while as many others use its node, its link or the class of its volumes as may,
// whichever way they go. What goes back waits for nobody (I5, I8).
func TestLoadGate(t *testing.T) {
	elsewhere, back := berth("b", "node", "fast"), berth("b", "other", "fast")
	elsewhere.Cluster, elsewhere.Clusters = "id-north", [2]types.UID{"id-east", "id-north"}
	back.Cluster = "id-west"
	one := Limits{Node: 1, Link: 1, StorageClass: 1}
	for name, tc := range map[string]struct {
		limits Limits
		others []Berth
		change func(*Snapshot)
		want   string
	}{
		"nobody":                  {one, nil, nil, ""},
		"nothing is bounded":      {Limits{}, []Berth{berth("a", "node", "fast")}, nil, ""},
		"its node":                {Limits{Node: 1}, []Berth{berth("a", "node")}, nil, " of cluster east: handoffs of other migrations are under way, at most 1 at once (handoffsPerNode): shop/a"},
		"another node":            {Limits{Node: 1}, []Berth{berth("a", "other")}, nil, ""},
		"a node of its name":      {Limits{Node: 1}, []Berth{elsewhere}, nil, ""},
		"two may":                 {Limits{Node: 2}, []Berth{berth("a", "node")}, nil, ""},
		"two do":                  {Limits{Node: 2}, []Berth{berth("b", "node"), berth("a", "node")}, nil, "(handoffsPerNode): shop/a, shop/b"},
		"it runs nowhere":         {Limits{Node: 1}, []Berth{berth("a", "")}, func(s *Snapshot) { s.Source.Pods[1].Node = "" }, ""},
		"its link":                {Limits{Link: 1}, []Berth{berth("a", "other")}, nil, "the link between the clusters of cluster east"},
		"its link, the other way": {Limits{Link: 1}, []Berth{back}, nil, "handoffsPerLink"},
		"another link":            {Limits{Link: 1}, []Berth{elsewhere}, nil, ""},
		"its class":               {Limits{StorageClass: 1}, []Berth{berth("a", "other", "slow", "fast")}, nil, "storage class fast of cluster east"},
		"another class":           {Limits{StorageClass: 1}, []Berth{berth("a", "other", "slow")}, nil, ""},
		"a class of its name":     {Limits{StorageClass: 1}, []Berth{back}, nil, ""},
		"back":                    {one, []Berth{berth("a", "node", "fast")}, rollback, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := halfway(func(s *Snapshot) {
				between(s)
				volume := carriedOut(1)
				volume.Source.Volume.Class = "fast"
				s.Volumes, s.Load = []OrdinalVolume{volume}, &Load{tc.limits, tc.others}
				if tc.change != nil {
					tc.change(s)
				}
			})
			hold := loadPlanner{p.View}.hold(1)
			if (hold == nil) != (tc.want == "") || hold != nil && (hold.Reason != api.ReasonTooManyHandoffs || hold.Stalled || !strings.Contains(hold.Message, tc.want)) {
				t.Errorf("got %+v", hold)
			}
		})
	}
	if hold := (loadPlanner{halfway(nil).View}).hold(1); hold != nil {
		t.Errorf("nothing is known of others: %+v", hold)
	}
}

// TestLoadIsRecorded: what a handoff uses is recorded with it, so that a manager that takes over knows it.
func TestLoadIsRecorded(t *testing.T) {
	p := halfway(func(s *Snapshot) {
		between(s)
		s.Source.Set.Templates = []string{"data"}
		volume := carriedOut(1)
		volume.Source.Volume.Class = "fast"
		s.Volumes = []OrdinalVolume{volume, volume}
	})
	next := p.start(1, p.Record).Record
	got, under := BerthOf(types.NamespacedName{Namespace: "shop", Name: "a"}, *next)
	if diff := cmp.Diff(berth("a", "node", "fast"), got); diff != "" || !under {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, record := range map[string]Record{"not begun": {Handoff: next.Handoff}, "none under way": {Baseline: next.Baseline}} {
		if _, under := BerthOf(types.NamespacedName{}, record); under {
			t.Errorf("%s: it uses something", name)
		}
	}
	older, under := BerthOf(types.NamespacedName{}, Record{Baseline: next.Baseline, Handoff: &api.Handoff{Ordinal: 1}})
	if !under || older.Node != "" || older.Clusters != got.Clusters {
		t.Errorf("one that was recorded without: %+v", older)
	}
}

// TestHandoffEndsWhereOthersAre: an ordinal that has arrived gives its place back, also where the next one must
// wait: two that wait for each other's place would wait for ever (I6).
func TestHandoffEndsWhereOthersAre(t *testing.T) {
	p := halfway(func(s *Snapshot) {
		between(s)
		s.Record.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(s.Now)}
		s.Load = &Load{Limits{Node: 1}, []Berth{berth("a", "node")}}
	})
	if decision := p.handoff(); decision.Record == nil || decision.Record.Handoff != nil {
		t.Errorf("got %+v", decision)
	}
}

// TestNeverTooMany: whatever others use, who fits in leaves nothing used more often than may be.
func TestNeverTooMany(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) Berth {
		b := berth(rapid.StringMatching("[a-f]").Draw(t, "name"), rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node"))
		b.StorageClasses = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fast", "slow"}), 0, 2, rapid.ID).Draw(t, "classes")
		if rapid.Bool().Draw(t, "elsewhere") {
			b.Cluster, b.Clusters = "id-north", [2]types.UID{"id-north", "id-west"}
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 3)
		load := &Load{Limits: Limits{limit.Draw(t, "node"), limit.Draw(t, "link"), limit.Draw(t, "class")}}
		used := map[string]int{}
		for _, b := range rapid.SliceOfN(some, 0, 12).Draw(t, "all") {
			if !load.Fits(b) {
				continue
			}
			load.Others = append(load.Others, b)
			if b.Node != "" {
				used["node "+string(b.Cluster)+b.Node]++
			}
			used["link "+string(b.Clusters[0])+string(b.Clusters[1])]++
			for _, class := range b.StorageClasses {
				used["class "+string(b.Cluster)+class]++
			}
		}
		for what, n := range used {
			kind, _, _ := strings.Cut(what, " ")
			if most := map[string]int{"node": load.Node, "link": load.Link, "class": load.StorageClass}[kind]; most > 0 && n > most {
				t.Fatalf("%s is used %d times, at most %d", what, n, most)
			}
		}
	})
}
