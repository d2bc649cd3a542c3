package planner

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// lostRecord is the state of a migration "m" of four ordinals whose record was deleted: ordinal 2 is down, with
// its volume parked; ordinal 3 has moved.
func lostRecord(change func(*plan.Snapshot)) plan.Snapshot {
	s := halfway(nil).Snapshot
	s.Record = plan.Record{}
	s.Source.Set.Templates = []string{"data"}
	s.Destination.Set.Start, s.Destination.Set.Replicas, s.Destination.Pods = 3, 1, []plan.Pod{runs(3)}
	mark := func(k int32, by, disk string) plan.Mark {
		m := plan.Mark{Ordinal: k, Template: "data", Volume: "pv-" + disk, Disk: disk, AtRest: by == ""}
		if by != "" {
			m.By = "m"
		}
		return m
	}
	s.Source.Marks = []plan.Mark{mark(0, "", "d0"), mark(1, "", "d1"), mark(2, "m", "d2"), mark(3, "m", "d3")}
	s.Destination.Marks = []plan.Mark{mark(3, "m", "d3")}
	if change != nil {
		change(&s)
	}
	return s
}

// TestH1LeftOut: a move does not begin while a former one has left an ordinal next to its range down.
func TestH1LeftOut(t *testing.T) {
	noFences := func(s *plan.Snapshot) { s.Source.Set.Fence, s.Destination.Set.Fence, s.UID = "", "", "new" }
	noClaims := func(s *plan.Snapshot) {
		noFences(s)
		s.Source.Set.Templates, s.Source.Marks, s.Destination.Marks, s.Destination.Set.Owner = nil, nil, nil, "m"
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"its volume is parked": {noFences, true},
		"nothing runs at the destination": {func(s *plan.Snapshot) {
			noFences(s)
			s.Destination.Set.Replicas = 0
			s.Destination.Marks = nil
			s.Source.Marks = s.Source.Marks[:3]
		}, true},
		"the destination is another one": {func(s *plan.Snapshot) {
			noFences(s)
			s.Destination.Set = plan.Set{Presence: plan.Absent}
			s.Destination.Marks = nil
		}, true},
		"without claims":                         {noClaims, true},
		"without claims, no migration was there": {func(s *plan.Snapshot) { noClaims(s); s.Destination.Set.Owner = "" }, false},
		"a person has left it out":               {func(s *plan.Snapshot) { noFences(s); s.Source.Marks[2].LeftOut = true }, false},
		"without claims, a person has":           {func(s *plan.Snapshot) { noClaims(s); s.Destination.Set.LeftOut = true }, false},
		"it was scaled away where it runs": {func(s *plan.Snapshot) {
			noFences(s)
			s.Destination.Marks = append(s.Destination.Marks, plan.Mark{Ordinal: 2, Template: "data", AtRest: true})
		}, false},
		"no mark is on it":   {func(s *plan.Snapshot) { noFences(s); s.Source.Marks[2].By = "" }, false},
		"the source owns it": {func(s *plan.Snapshot) { noFences(s); s.Source.Set.Replicas = 3 }, false},
	} {
		found := LeftOut(lostRecord(tc.change))
		if (len(found) > 0) != tc.want {
			t.Errorf("%s: got %+v", name, found)
		}
		for _, finding := range found {
			if finding.Reason != api.ReasonOrdinalLeftOut || !strings.Contains(finding.Message, "ordinal ") || !strings.Contains(finding.Remedy, "--resume-uid m") {
				t.Errorf("%s: got %+v", name, finding)
			}
		}
	}
}

// TestH1Rebuild: the record is rebuilt from the objects alone.
func TestH1Rebuild(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		// fails is part of the error; empty: there is none.
		fails string
		// gap is the ordinal that is down, -1: none; of is the number of replicas, and before how many the
		// destination had before.
		gap, of, before int32
	}{
		"one is down":  {nil, "", 2, 4, 0},
		"none is down": {func(s *plan.Snapshot) { s.Source.Set.Replicas = 3; s.Source.SetPod(runs(2)) }, "", -1, 4, 0},
		"the first one is down": {func(s *plan.Snapshot) {
			s.Destination.Set.Replicas, s.Destination.Pods, s.Source.Marks, s.Destination.Marks = 0, nil, s.Source.Marks[:3], nil
		}, "", 2, 3, 0},
		"the destination had one":      {func(s *plan.Snapshot) { s.Source.Marks[3].By, s.Destination.Marks[0].By = "", "" }, "", 2, 4, 1},
		"two are missing":              {func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }, "neither slice owns ordinals 1 and 2", 0, 0, 0},
		"both own one":                 {func(s *plan.Snapshot) { s.Source.Set.Replicas = 4 }, "both slices own ordinal 3", 0, 0, 0},
		"of another migration":         {func(s *plan.Snapshot) { s.UID = "other" }, "no object on either side has the mark", 0, 0, 0},
		"the order is another one":     {func(s *plan.Snapshot) { s.Spec.Order = api.LowestFirst }, "--order highest-first", 0, 0, 0},
		"no volume shows its disk":     {func(s *plan.Snapshot) { s.Source.Marks = append(s.Source.Marks[:2], s.Source.Marks[3]) }, "no volume shows which disk", 0, 0, 0},
		"it was being copied":          {func(s *plan.Snapshot) { s.Source.Marks[2].Filled = true }, "to a second volume", 0, 0, 0},
		"one runs on an unproven copy": {func(s *plan.Snapshot) { s.Source.Marks[3].Filled = true }, "equals volume pv-d3, which the ordinal has left; compare the two", 0, 0, 0},
		"one has returned to such a copy": {func(s *plan.Snapshot) {
			s.Source.Set.Replicas, s.Destination.Set.Replicas = 4, 0
			s.Destination.Marks[0].Filled = true
		}, "equals volume pv-d3", 0, 0, 0},
		"it is to be copied": {func(s *plan.Snapshot) {
			s.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
		}, "to a second volume", 0, 0, 0},
		"a side is missing": {func(s *plan.Snapshot) { s.Destination.Set = plan.Set{Presence: plan.Absent} }, "must both exist", 0, 0, 0},
	} {
		record, err := Rebuild(lostRecord(tc.change))
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: error %v, want %q", name, err, tc.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		base, handoff := record.Baseline, record.Handoff
		if base.Start != 0 || base.Replicas != tc.of || base.DestinationReplicas != tc.before || base.Budget != 1 || (handoff == nil) != (tc.gap < 0) {
			t.Errorf("%s: got %+v and %+v", name, base, handoff)
		}
		if handoff != nil && (handoff.Ordinal != tc.gap || len(handoff.Volumes) != 1 || handoff.Volumes[0].Disk != "d2" || handoff.Volumes[0].Name != "pv-d2") {
			t.Errorf("%s: got %+v", name, handoff)
		}
	}
}

// TestH1RebuildOfABlock: several ordinals are down, as many as the migration may move at once.
func TestH1RebuildOfABlock(t *testing.T) {
	two := func(s *plan.Snapshot) {
		s.Source.Set.Replicas, s.Source.Pods = 1, s.Source.Pods[:1]
		s.Source.Marks[1].By = "m"
	}
	for name, tc := range map[string]struct {
		most  int32
		fails string
	}{"two at once": {2, ""}, "three at once": {3, ""}, "one at a time": {1, "ordinals 1 and 2"}} {
		s := lostRecord(two)
		atOnce(intstr.FromInt32(tc.most))(&s)
		record, err := Rebuild(s)
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		if err != nil || record.Handoff == nil || record.Handoff.Ordinal != 2 || len(record.Further) != 1 || record.Further[0].Ordinal != 1 {
			t.Errorf("%s: %v, %+v", name, err, record.InFlight())
		}
	}
	s := lostRecord(func(s *plan.Snapshot) {
		two(s)
		s.Destination.Set.Replicas, s.Destination.Pods, s.Destination.Marks = 0, nil, nil
	})
	atOnce(intstr.FromInt32(2))(&s)
	if _, err := Rebuild(s); err == nil {
		t.Error("three ordinals are down, of at most two")
	}
}
