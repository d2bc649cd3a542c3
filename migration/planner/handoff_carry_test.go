package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// logged gives each ordinal a second volume, after the first one.
func logged(s *plan.Snapshot) {
	templates := []string{"data", "logs"}
	twice := plantest.Healthy(0, 4, nil, templates...).Volumes
	s.Source.Set.Templates, s.Destination.Set.Templates, s.Volumes = templates, templates, twice
}

// TestCarry: an ordinal that is down is started when nothing holds it any more, it has its name, and all of its
// volumes are in place (I1, I2, I3). No volume is moved before all are confirmed.
func TestCarry(t *testing.T) {
	down := func(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
		return append([]func(*plan.Snapshot){unbudgeted, stopped(2)}, changes...)
	}
	lingers := func(s *plan.Snapshot) { s.Source.SetPod(plan.Pod{Ordinal: 2, Terminating: true}) }
	named := func(s *plan.Snapshot) { s.Spec.NameOrdinals = true }
	unread := func(s *plan.Snapshot) { s.Volumes = nil }
	otherDisk := func(s *plan.Snapshot) { s.Record.Handoff.Volumes[0].Disk = "another" }
	moved := func(s *plan.Snapshot) {
		plantest.CarryOver(&s.Volumes[2], s.UID)
		for _, holding := range []*volumes.Holding{&s.Volumes[2].Source, &s.Volumes[2].Destination} {
			holding.Volume.Fence, holding.Claim.Fence = "migration.1", "migration.1"
		}
	}
	swapped := func(s *plan.Snapshot) {
		for i := range s.Volumes {
			if v := &s.Volumes[i]; v.Ordinal == 2 && v.Template == "logs" {
				v.Source.Volume.Note = volumes.Note{}
			}
		}
	}
	const park = "CarryVolume source pv-data-web-2"
	wantSteps(t, map[string]stepCase{
		"its volume is to be carried over":  {down(), park, api.StepCarryVolumes},
		"its volume is in place":            {down(moved), "ScaleUp destination web", api.StepScaleUp},
		"it has none":                       {down(diskless), "ScaleUp destination web", api.StepScaleUp},
		"its pod lingers":                   {down(lingers), api.ReasonPodTerminating, api.StepAwaitRelease},
		"its name was not read":             {down(named), api.ReasonNameUnread, api.StepCarryVolumes},
		"its claims were not read":          {down(unread), api.ReasonVolumeUnbound, api.StepAwaitRelease},
		"its volume is another disk by now": {down(otherDisk), volumes.ReasonAnotherDisk, api.StepCarryVolumes},
		"both are to be carried over":       {[]func(*plan.Snapshot){unbudgeted, logged, stopped(2)}, park, api.StepCarryVolumes},
		"one was made again":                {[]func(*plan.Snapshot){unbudgeted, logged, stopped(2), swapped}, volumes.ReasonAnotherDisk, api.StepCarryVolumes},
	}, func(p *planners) *plan.Decision { return p.way(2, atNeither) })
}

// TestReceive: the next handoff begins when the ordinal is available on its disk (I3, I5), and immediately if it
// may.
func TestReceive(t *testing.T) {
	up := func(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
		return append([]func(*plan.Snapshot){unbudgeted, handedOver(2)}, changes...)
	}
	off := func(s *plan.Snapshot) { s.Volumes[2].Destination.Claim = volumes.Claim{} }
	const ends = "recorded: no handoff"
	wantSteps(t, map[string]stepCase{
		"the next one may begin":    {up(), "recorded: a handoff", api.StepGate},
		"it is not Ready":           {up(unready(2)), api.ReasonPodNotReady, api.StepAwaitReadiness},
		"it is off its disk":        {up(off), volumes.ReasonAnotherDisk, api.StepAwaitReadiness},
		"none is left":              {up(func(s *plan.Snapshot) { s.Spec.Count = 2 }), ends, api.StepAwaitReadiness},
		"it pauses":                 {up(inMode(api.ModePause)), ends, api.StepAwaitReadiness},
		"the gate has closed":       {up(closedGate("Numbers")), ends, api.StepAwaitReadiness},
		"it is to be deleted":       {up(isDeleted), ends, api.StepAwaitReadiness},
		"another one has gone down": {up(unready(0)), ends, api.StepAwaitReadiness},
	}, func(p *planners) *plan.Decision { return p.way(2, atTaker) })
	if got := midway(up()...).way(2, atTaker).Record.Handoff.Ordinal; got != 1 {
		t.Errorf("ordinal %d is next, want 1", got)
	}
}

// TestVolumesOf: an ordinal has the claims of all claim templates, in their order, or it must not start (I3).
func TestVolumesOf(t *testing.T) {
	of := func(ordinal int32, template string) plan.OrdinalVolume {
		return plan.OrdinalVolume{Ordinal: ordinal, Template: template}
	}
	for name, tc := range map[string]struct {
		presence plan.Presence
		have     []plan.OrdinalVolume
		found    int
		held     bool
	}{
		"all of them":           {plan.Seen, []plan.OrdinalVolume{of(1, "data"), of(2, "data"), of(2, "logs"), of(3, "data")}, 2, false},
		"one is missing":        {plan.Seen, []plan.OrdinalVolume{of(1, "logs"), of(2, "data")}, 1, true},
		"none was read":         {plan.Seen, nil, 0, true},
		"another one":           {plan.Seen, []plan.OrdinalVolume{of(2, "data"), of(2, "temp")}, 2, true},
		"nobody knows how many": {plan.Absent, []plan.OrdinalVolume{of(2, "data"), of(2, "logs")}, 2, true},
	} {
		p := viewOf(plan.Snapshot{Source: plan.Side{Set: plan.Set{Presence: tc.presence, Templates: []string{"data", "logs"}}}, Volumes: tc.have})
		got, hold := p.volumesOf(2)
		if len(got) != tc.found || (hold != nil) != tc.held || hold != nil && hold.Reason != api.ReasonVolumeUnbound {
			t.Errorf("%s: %d, %+v", name, len(got), hold)
		}
	}
}

// TestVolumeDecision: the action of package volumes is performed on the correct side: a volume is secured and
// parked at the giver (I2).
func TestVolumeDecision(t *testing.T) {
	v := plan.OrdinalVolume{Ordinal: 2, Template: "data"}
	act := func(verb volumes.Verb, atGiver bool) volumes.Verdict {
		return volumes.Verdict{Action: &volumes.Action{Verb: verb, AtGiver: atGiver, Volume: "pv"}}
	}
	for name, tc := range map[string]struct {
		verdict       volumes.Verdict
		forward, back string
	}{
		"in place":         {volumes.Verdict{}, "", ""},
		"blocked":          {volumes.Verdict{Hold: volumes.Stalled("Lost", "", "")}, "Lost", "Lost"},
		"the binder":       {volumes.Verdict{Waits: "it is bound"}, api.ReasonVolumeUnbound, api.ReasonVolumeUnbound},
		"to be secured":    {act(volumes.Secure, true), "CarryVolume source pv", "CarryVolume destination pv"},
		"to be parked":     {act(volumes.Park, true), "CarryVolume source pv", "CarryVolume destination pv"},
		"to be pointed":    {act(volumes.Point, false), "CarryVolume destination pv", "CarryVolume source pv"},
		"a claim is to be": {act(volumes.CreateClaim, false), "CarryVolume destination pv", "CarryVolume source pv"},
	} {
		for mode, want := range map[api.Mode]string{api.ModeRun: tc.forward, api.ModeRollback: tc.back} {
			if got := inShort(midway(inMode(mode)).volumeDecision(v, tc.verdict)); got != want {
				t.Errorf("%s, in mode %s: %q, want %q", name, mode, got, want)
			}
		}
	}
	source, destination := volumes.Holding{Ref: volumes.Ref{Name: "from"}}, volumes.Holding{Ref: volumes.Ref{Name: "to"}}
	for mode, want := range map[api.Mode]volumes.Pair{
		api.ModeRun:      {Fence: "migration.1", Owner: "migration", Giver: source, Taker: destination},
		api.ModeRollback: {Fence: "migration.1", Owner: "migration", Giver: destination, Taker: source},
	} {
		got := midway(inMode(mode)).pair(plan.OrdinalVolume{Source: source, Destination: destination})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the pair in mode %s: -want +got\n%s", mode, diff)
		}
	}
	east, west := volumes.SnapshotSide{Cluster: "east"}, volumes.SnapshotSide{Cluster: "west"}
	for mode, from := range map[api.Mode]volumes.SnapshotSide{api.ModeRun: east, api.ModeRollback: west} {
		copying := &volumes.Copying{Snapshot: volumes.Snapshotting{Giver: east, Taker: west}}
		got := midway(inMode(mode)).pair(plan.OrdinalVolume{Method: api.MethodSnapshot, Copy: copying}).Copy.Snapshot
		if got.Giver != from || got.Taker == from {
			t.Errorf("snapshots in mode %s are taken in %+v, and restored in %+v", mode, got.Giver, got.Taker)
		}
	}
}
