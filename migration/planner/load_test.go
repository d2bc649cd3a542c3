package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// between sets the clusters of these tests: east and west.
func between(s *plan.Snapshot) {
	s.Source.ClusterID, s.Destination.ClusterID = "id-east", "id-west"
	s.Record.Baseline.SourceCluster, s.Record.Baseline.DestinationCluster = "id-east", "id-west"
}

func berth(name, node string, classes ...string) berths.Berth {
	return berths.Berth{
		Migration: types.NamespacedName{Namespace: "shop", Name: name}, Clusters: [2]types.UID{"id-east", "id-west"},
		HandoffLoad: api.HandoffLoad{Cluster: "id-east", Node: node, StorageClasses: classes},
	}
}

// TestLoadGate: no handoff begins while the maximum of others use its node, its link or the storage class of its
// volumes, in whichever direction. A rollback waits for none (I5, I8).
func TestLoadGate(t *testing.T) {
	elsewhere, back := berth("b", "node", "fast"), berth("b", "other", "fast")
	elsewhere.Cluster, elsewhere.Clusters = "id-north", [2]types.UID{"id-east", "id-north"}
	back.Cluster = "id-west"
	one := berths.Limits{Node: 1, Link: 1, StorageClass: 1}
	for name, tc := range map[string]struct {
		limits berths.Limits
		others []berths.Berth
		change func(*plan.Snapshot)
		want   string
	}{
		"nobody":                  {one, nil, nil, ""},
		"nothing is bounded":      {berths.Limits{}, []berths.Berth{berth("a", "node", "fast")}, nil, ""},
		"its node":                {berths.Limits{Node: 1}, []berths.Berth{berth("a", "node")}, nil, " of cluster east: handoffs of other migrations are under way, at most 1 at once (handoffsPerNode): shop/a"},
		"another node":            {berths.Limits{Node: 1}, []berths.Berth{berth("a", "other")}, nil, ""},
		"a node of its name":      {berths.Limits{Node: 1}, []berths.Berth{elsewhere}, nil, ""},
		"two may":                 {berths.Limits{Node: 2}, []berths.Berth{berth("a", "node")}, nil, ""},
		"two do":                  {berths.Limits{Node: 2}, []berths.Berth{berth("b", "node"), berth("a", "node")}, nil, "(handoffsPerNode): shop/a, shop/b"},
		"it runs nowhere":         {berths.Limits{Node: 1}, []berths.Berth{berth("a", "")}, func(s *plan.Snapshot) { s.Source.Pods[1].Node = "" }, ""},
		"its link":                {berths.Limits{Link: 1}, []berths.Berth{berth("a", "other")}, nil, "the link between the clusters of cluster east"},
		"its link, the other way": {berths.Limits{Link: 1}, []berths.Berth{back}, nil, "handoffsPerLink"},
		"another link":            {berths.Limits{Link: 1}, []berths.Berth{elsewhere}, nil, ""},
		"its class":               {berths.Limits{StorageClass: 1}, []berths.Berth{berth("a", "other", "slow", "fast")}, nil, "storage class fast of cluster east"},
		"another class":           {berths.Limits{StorageClass: 1}, []berths.Berth{berth("a", "other", "slow")}, nil, ""},
		"a class of its name":     {berths.Limits{StorageClass: 1}, []berths.Berth{back}, nil, ""},
		"back":                    {one, []berths.Berth{berth("a", "node", "fast")}, rollback, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := halfway(func(s *plan.Snapshot) {
				between(s)
				volume := carriedOut(1)
				volume.Source.Volume.Class = "fast"
				s.Volumes, s.Load = []plan.OrdinalVolume{volume}, &berths.Load{Limits: tc.limits, Others: tc.others}
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

// TestLoadIsRecorded: the load of a handoff is recorded with it, so that a manager that takes over knows it.
func TestLoadIsRecorded(t *testing.T) {
	p := halfway(func(s *plan.Snapshot) {
		between(s)
		s.Source.Set.Templates = []string{"data"}
		volume := carriedOut(1)
		volume.Source.Volume.Class = "fast"
		s.Volumes = []plan.OrdinalVolume{volume, volume}
	})
	next := p.record(1, p.Record).Record
	got, under := berths.Of(types.NamespacedName{Namespace: "shop", Name: "a"}, next.Baseline, next.Handoff)
	if diff := cmp.Diff(berth("a", "node", "fast"), got); diff != "" || !under {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, record := range map[string]plan.Record{"not begun": {Handoff: next.Handoff}, "none under way": {Baseline: next.Baseline}} {
		if _, under := berths.Of(types.NamespacedName{}, record.Baseline, record.Handoff); under {
			t.Errorf("%s: it uses something", name)
		}
	}
	older, under := berths.Of(types.NamespacedName{}, next.Baseline, &api.Handoff{Ordinal: 1})
	if !under || older.Node != "" || older.Clusters != got.Clusters {
		t.Errorf("one that was recorded without: %+v", older)
	}
}

// TestHandoffEndsWhereOthersAre: an ordinal that has arrived releases its capacity, even if the next one must
// wait. Two that wait for each other's capacity would wait forever (I6).
func TestHandoffEndsWhereOthersAre(t *testing.T) {
	p := halfway(func(s *plan.Snapshot) {
		between(s)
		s.Record.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(s.Now)}
		s.Load = &berths.Load{Limits: berths.Limits{Node: 1}, Others: []berths.Berth{berth("a", "node")}}
	})
	if decision := p.handoff(); decision.Record == nil || decision.Record.Handoff != nil {
		t.Errorf("got %+v", decision)
	}
}
