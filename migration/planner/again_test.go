package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// sourceAnew deletes and recreates the source's StatefulSet, as its manifest does without deleting the pods.
func sourceAnew(s *plan.Snapshot) {
	s.Source.Set.UID, s.Source.Set.Fence = "new", ""
	s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data"}}
}

// twoBetween stops ordinal 2 in flight, with its volume parked at the source.
func twoBetween(s *plan.Snapshot) {
	s.Source.Set.Replicas, s.Volumes[1].Source = 1, plantest.ParkedAt("s", 2)
	s.Record.Handoff = &api.Handoff{Ordinal: 2, Step: api.StepCarryVolumes, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-2", Disk: volumes.Disk("disk-2")}}}
}

// TestSourceMadeAgain: a recreated source is accepted if it has the former ordinals, claim templates and claims.
// No other one is (I1, I3).
func TestSourceMadeAgain(t *testing.T) {
	const taken = "something else"
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"as it was":                              {nil, taken},
		"as it was, one is down":                 {twoBetween, taken},
		"emptied":                                {plantest.AllMoved, taken},
		"it has an ordinal more":                 {func(s *plan.Snapshot) { s.Source.Set.Replicas++ }, "of 4"},
		"it begins elsewhere":                    {func(s *plan.Snapshot) { s.Source.Set.Start = 0 }, "the source owns [0,2) instead of [1,3)"},
		"it has all of them":                     {plantest.InTurn(twoBetween, func(s *plan.Snapshot) { s.Source.Set.Replicas = 4 }), "of 4"},
		"it lacks one":                           {func(s *plan.Snapshot) { s.Source.Set.Replicas-- }, "neither slice owns ordinal 2, and no handoff of it is in progress"},
		"other claim templates":                  {func(s *plan.Snapshot) { s.Source.Set.Templates = []string{"storage"} }, "its claim templates are storage, and were data"},
		"a new claim":                            {func(s *plan.Snapshot) { s.Source.Set.YoungClaim = "data-web-1" }, "claim shop/data-web-1 was created with it or later"},
		"it goes again":                          {func(s *plan.Snapshot) { s.Source.Set.Terminating = true }, "it is being deleted again"},
		"not all was read":                       {func(s *plan.Snapshot) { s.Focused = true }, "not all of its claims were read"},
		"the destination is off":                 {func(s *plan.Snapshot) { s.Destination.Lost = true }, "cluster west is declared to be off"},
		"another disk at the other side":         {fourIsEmpty, "pv-empty"},
		"the one that is down has another claim": {plantest.InTurn(twoBetween, func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.Volume = "pv-new" }), `names volume "pv-new", and had "pv-2"`},
		"the one that is down has another disk":  {plantest.InTurn(twoBetween, func(s *plan.Snapshot) { s.Volumes[1].Source.Volume.Handle = "disk-new" }), "is another disk"},
		"nothing is recorded of the one down":    {plantest.InTurn(twoBetween, func(s *plan.Snapshot) { s.Record.Handoff.Volumes = nil }), "and had"},
	} {
		p := parted(plantest.InTurn(sourceAnew, tc.change))
		got := againPlanner{p.View}.madeAgain()
		if tc.want != taken {
			if does(got) != api.ReasonSourceReplaced || !strings.Contains(got.Hold.Message, tc.want) {
				t.Errorf("%s: %+v, want one that says %q", name, got, tc.want)
			}
			continue
		}
		next, base := p.Record, *p.Record.Baseline
		base.SourceUID, next.Baseline = "new", &base
		if diff := cmp.Diff(&plan.Decision{Record: &next}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestSourceMadeAgainIsFenced: the fence of an accepted source is written before anything else (I7).
func TestSourceMadeAgainIsFenced(t *testing.T) {
	s := plantest.Parted(plantest.InTurn(sourceAnew, twoBetween))
	first := Plan(s)
	if first.Record == nil || first.Record.Baseline.SourceUID != "new" {
		t.Fatalf("it is not taken: %+v", first)
	}
	s.Record = *first.Record
	second := Plan(s)
	if e := second.Effect; e == nil || e.Verb != plan.WriteFence || e.Side != plan.SourceSide || e.UID != "new" || e.After.Fence != "m.2" {
		t.Errorf("got %+v", second)
	}
}

// TestSourceReplacedSays: the message about a source that is not accepted names the ordinal in flight, the place
// of its volume, and the range that fixes it.
func TestSourceReplacedSays(t *testing.T) {
	all := func(s *plan.Snapshot) { s.Source.Set.Replicas = 4 }
	got := againPlanner{parted(plantest.InTurn(sourceAnew, twoBetween, all)).View}.madeAgain()
	if got == nil || got.Hold == nil {
		t.Fatalf("got %+v", got)
	}
	for _, want := range []string{"the handoff of ordinal 2 is in progress, at CarryVolumes", "in cluster east volume pv-2 is parked"} {
		if !strings.Contains(got.Hold.Message, want) {
			t.Errorf("message: %q lacks %q", got.Hold.Message, want)
		}
	}
	for _, want := range []string{`in cluster east: kubectl patch sts -n shop web --type=merge -p '{"spec":{"ordinals":{"start":1},"replicas":1}}'`, "the migration then continues", "leaves ordinal 2 down", "kubectl migrate explain SourceReplaced describes"} {
		if !strings.Contains(got.Hold.Remedy, want) {
			t.Errorf("remedy: %q lacks %q", got.Hold.Remedy, want)
		}
	}
	got = againPlanner{parted(plantest.InTurn(sourceAnew, all)).View}.madeAgain()
	if !strings.Contains(got.Hold.Remedy, `"start":1},"replicas":2}`) || strings.Contains(got.Hold.Message+got.Hold.Remedy, "in progress") {
		t.Errorf("nothing is on its way: %+v", got.Hold)
	}
}
