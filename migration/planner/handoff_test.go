package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// sends records the handoff of an ordinal, with its current volumes.
func sends(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		now := newPlanner(*s).volumesNow(ordinal)
		s.Record.Handoff = &api.Handoff{Ordinal: ordinal, Step: api.StepReserveBudget, Attempts: 1, Volumes: now}
	}
}

// securedFor secures the volumes of an ordinal under the current fence.
func securedFor(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		for i := range s.Volumes {
			v := &s.Volumes[i]
			if v.Ordinal != ordinal {
				continue
			}
			volume := &v.Source.Volume
			if s.Destination.Set.Has(ordinal) {
				volume = &v.Destination.Volume
			}
			volume.Policy, volume.Fence, volume.Note = "Retain", "migration.1", volumes.Note{Policy: "Delete", By: s.UID}
		}
	}
}

// stopped stops an ordinal in flight at the source, with its volumes secured.
func stopped(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		securedFor(ordinal)(s)
		sends(ordinal)(s)
		s.Source.Set.Replicas--
		s.Source.RemovePod(ordinal)
	}
}

// handedOver makes an ordinal in flight run at the destination.
func handedOver(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		sends(ordinal)(s)
		plantest.HandOn(s, ordinal)
	}
}

func unready(ordinal int32) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		for _, side := range []*plan.Side{&s.Source, &s.Destination} {
			if pod, found := side.Pod(ordinal); found {
				pod.Ready = false
				side.SetPod(pod)
			}
		}
	}
}

func inMode(mode api.Mode) func(*plan.Snapshot) { return func(s *plan.Snapshot) { s.Spec.Mode = mode } }

func isDeleted(s *plan.Snapshot) { s.Deleting = true }

// closedGate closes the gate for a reason that concerns no ordinal.
func closedGate(reason string) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Numbers = &plan.Finding{Reason: reason} }
}

// stepCase holds the expected decision and step for a changed snapshot of midway.
type stepCase struct {
	changes []func(*plan.Snapshot)
	want    string
	step    api.Step
}

func wantSteps(t *testing.T, cases map[string]stepCase, next func(*planners) *plan.Decision) {
	t.Helper()
	for name, tc := range cases {
		got := next(midway(tc.changes...))
		var step api.Step
		if got != nil {
			step = got.Step
		}
		if inShort(got) != tc.want || step != tc.step {
			t.Errorf("%s: %q at %q, want %q at %q", name, inShort(got), step, tc.want, tc.step)
		}
	}
}

// TestHandoff: the next step of an ordinal follows from its owner. A missing StatefulSet owns none, whatever is
// left of its range (I1).
func TestHandoff(t *testing.T) {
	gone := func(side func(*plan.Snapshot) *plan.Side) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { side(s).Set.Presence = plan.Absent }
	}
	source, destination := func(s *plan.Snapshot) *plan.Side { return &s.Source }, func(s *plan.Snapshot) *plan.Side { return &s.Destination }
	back := inMode(api.ModeRollback)
	wantSteps(t, map[string]stepCase{
		"none is on its way":       {[]func(*plan.Snapshot){unbudgeted}, "recorded: a handoff", api.StepGate},
		"the giver has it":         {[]func(*plan.Snapshot){unbudgeted, sends(2)}, "CarryVolume source pv-data-web-2", api.StepSecureVolumes},
		"neither has it":           {[]func(*plan.Snapshot){unbudgeted, stopped(2)}, "CarryVolume source pv-data-web-2", api.StepCarryVolumes},
		"the taker has it":         {[]func(*plan.Snapshot){unbudgeted, handedOver(2), unready(2)}, api.ReasonPodNotReady, api.StepAwaitReadiness},
		"the giver is not there":   {[]func(*plan.Snapshot){unbudgeted, sends(2), gone(source)}, api.ReasonPodRunning, api.StepAwaitRelease},
		"the taker is not there":   {[]func(*plan.Snapshot){unbudgeted, handedOver(2), gone(destination)}, "CarryVolume source pv-data-web-2", api.StepCarryVolumes},
		"back, the giver has it":   {[]func(*plan.Snapshot){unbudgeted, handedOver(2), securedFor(2), back}, "ScaleDown destination web", api.StepScaleDown},
		"back, and it has arrived": {[]func(*plan.Snapshot){unbudgeted, sends(2), unready(2), back}, api.ReasonPodNotReady, api.StepAwaitReadiness},
	}, (*planners).handoff)
}

// TestBegin: between two handoffs no budget is reserved (I4). The next handoff begins when the gate is open (I5).
// None begins in a pause, at the end, or when the migration is being deleted.
func TestBegin(t *testing.T) {
	kept := func(s *plan.Snapshot) { s.Source.Budgets[0].Form = *pdbtest.MaxUnavailable(0) }
	last := func(s *plan.Snapshot) { s.Spec.Count = 1 }
	bounded := func(s *plan.Snapshot) { s.Source.Set.Rolls = plan.Rolls{Own: true, Shared: true, Heeded: true} }
	const shares, lifts = "SetBudget source web", "LiftShare source web"
	pause := inMode(api.ModePause)
	wantSteps(t, map[string]stepCase{
		"the gate is open":             {nil, "recorded: a handoff", api.StepGate},
		"open, and a budget is kept":   {[]func(*plan.Snapshot){kept}, "recorded: a handoff", api.StepGate},
		"the gate is closed":           {[]func(*plan.Snapshot){closedGate("Numbers")}, "Numbers", api.StepGate},
		"closed, and a budget is kept": {[]func(*plan.Snapshot){closedGate("Numbers"), kept}, shares, ""},
		"it pauses":                    {[]func(*plan.Snapshot){pause}, api.ReasonPaused, ""},
		"it pauses, with a budget":     {[]func(*plan.Snapshot){pause, kept}, shares, ""},
		"it pauses at the end":         {[]func(*plan.Snapshot){pause, last}, api.ReasonPaused, ""},
		"deleted in a pause":           {[]func(*plan.Snapshot){pause, isDeleted}, "", ""},
		"deleted, with a budget":       {[]func(*plan.Snapshot){isDeleted, kept}, shares, ""},
		"deleted":                      {[]func(*plan.Snapshot){isDeleted}, "", ""},
		"none is left":                 {[]func(*plan.Snapshot){last}, "", ""},
		"none is left, with a budget":  {[]func(*plan.Snapshot){last, kept}, shares, ""},
		"none is left, with a share":   {[]func(*plan.Snapshot){last, bounded}, lifts, ""},
		"none is left to go back":      {[]func(*plan.Snapshot){inMode(api.ModeRollback), func(s *plan.Snapshot) { s.Record.Baseline.DestinationReplicas = 1 }}, "", ""},
	}, (*planners).begin)
}

// TestStart: a handoff is recorded before it begins, with its volumes (I3, I7). The first one also records the
// StatefulSet that takes ordinals, and that does not change later.
func TestStart(t *testing.T) {
	p := midway()
	want := p.Record
	want.Handoff = &api.Handoff{
		Ordinal: 2, Step: api.StepReserveBudget, StartTime: metav1.NewMicroTime(plantest.Epoch), Attempts: 1,
		Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-data-web-2", Disk: volumes.Disk("disk-data-web-2")}},
		Load:    &api.HandoffLoad{Cluster: p.Source.ClusterID, Node: p.Source.Pods[len(p.Source.Pods)-1].Node},
	}
	if diff := cmp.Diff(&plan.Decision{Record: &want, Step: api.StepGate}, p.record(2, p.Record)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, tc := range map[string]struct {
		known    types.UID
		presence plan.Presence
		want     types.UID
	}{
		"it is seen for the first time": {"", plan.Seen, "seen"},
		"it was known":                  {"known", plan.Seen, "known"},
		"it is not there":               {"", plan.Absent, ""},
		"it was known and is not there": {"known", plan.Absent, "known"},
	} {
		p := midway(func(s *plan.Snapshot) {
			s.Record.Baseline.DestinationUID, s.Destination.Set.UID, s.Destination.Set.Presence = tc.known, "seen", tc.presence
		})
		if got := p.record(2, p.Record).Record.Baseline.DestinationUID; got != tc.want {
			t.Errorf("%s: %q is recorded, want %q", name, got, tc.want)
		}
		if p.Record.Baseline.DestinationUID != tc.known {
			t.Errorf("%s: the record at hand was changed", name)
		}
	}
}

// TestGive: an ordinal is stopped when the gate is open and its volumes are secured (I3, I5). If it may not be
// stopped, its handoff ends once the ordinal is available at the giver. For a deleted migration it ends at once,
// unless a controller may still stop the ordinal.
func TestGive(t *testing.T) {
	from := func(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
		return append([]func(*plan.Snapshot){unbudgeted, sends(2)}, changes...)
	}
	pause := inMode(api.ModePause)
	behind := func(s *plan.Snapshot) { s.Source.Set.Observed = false }
	onAnother := func(s *plan.Snapshot) { s.Record.Handoff.Volumes = nil }
	unread := func(s *plan.Snapshot) { s.Volumes = nil }
	const ends = "recorded: no handoff"
	wantSteps(t, map[string]stepCase{
		"it is ready to be stopped":         {from(securedFor(2)), "ScaleDown source web", api.StepScaleDown},
		"its volume is not secured":         {from(), "CarryVolume source pv-data-web-2", api.StepSecureVolumes},
		"its volumes were not noted":        {from(onAnother), "recorded: a handoff", api.StepGate},
		"its claims were not read":          {from(unread), api.ReasonVolumeUnbound, api.StepSecureVolumes},
		"the gate has closed":               {from(closedGate("Numbers")), ends, api.StepGate},
		"closed, and it is not Ready":       {from(closedGate("Numbers"), unready(2)), "Numbers", api.StepGate},
		"it pauses":                         {from(pause), ends, api.StepGate},
		"it pauses, and it is not Ready":    {from(pause, unready(2)), api.ReasonPodNotReady, api.StepAwaitReadiness},
		"closed in a pause, not Ready":      {from(pause, closedGate("Numbers"), unready(2)), api.ReasonPodNotReady, api.StepAwaitReadiness},
		"closed in a pause":                 {from(pause, closedGate("Numbers")), ends, api.StepGate},
		"deleted":                           {from(isDeleted), ends, api.StepGate},
		"deleted, and it is not Ready":      {from(isDeleted, unready(2)), ends, api.StepGate},
		"deleted, its controller is behind": {from(isDeleted, behind), api.ReasonControllerBehind, api.StepAwaitReadiness},
		"its controller is behind":          {from(behind), api.ReasonControllerBehind, api.StepGate},
	}, func(p *planners) *plan.Decision { return p.way(2, atGiver) })
}

// TestGiveReserves: before an ordinal is stopped the budgets of both slices leave room for it, and unavailable
// replicas count (I4). In a rollback, an ordinal that is down costs nothing more (I8).
func TestGiveReserves(t *testing.T) {
	unknown := func(s *plan.Snapshot) { s.Record.Baseline.SourceBudget, s.Record.Baseline.DestinationBudget = nil, nil }
	two := func(s *plan.Snapshot) {
		s.Record.Baseline.Budget, s.Record.Baseline.DisruptionBudget.MaxUnavailable = 2, pdbtest.MaxUnavailable(2).MaxUnavailable
		s.Source.Budgets[0].Author, s.Destination.Budgets[0].Author = pdbtest.MaxUnavailable(2), pdbtest.MaxUnavailable(2)
	}
	reserved := func(s *plan.Snapshot) { s.Source.Budgets[0].Form = *pdbtest.MinAvailable(3) }
	of := func(ordinal int32, changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
		return append([]func(*plan.Snapshot){sends(ordinal), securedFor(ordinal)}, changes...)
	}
	oneOfTwo := func(s *plan.Snapshot) { s.Source.Budgets[0].Form = *pdbtest.MinAvailable(2) }
	goesBack := func(s *plan.Snapshot) {
		s.Source.Budgets[0].Form, s.Destination.Budgets[0].Form = *pdbtest.MaxUnavailable(0), *pdbtest.MinAvailable(1)
		inMode(api.ModeRollback)(s)
	}
	for name, tc := range map[string]struct {
		ordinal int32
		stepCase
	}{
		"the budget is not reserved":     {2, stepCase{of(2), "SetBudget source web", api.StepReserveBudget}},
		"the marks are not recorded":     {2, stepCase{of(2, reserved, unknown), "recorded: a handoff", api.StepReserveBudget}},
		"it is reserved":                 {2, stepCase{of(2, reserved), "ScaleDown source web", api.StepScaleDown}},
		"one of two is left for others":  {2, stepCase{of(2, two, oneOfTwo), "ScaleDown source web", api.StepScaleDown}},
		"and another one is down":        {2, stepCase{of(2, two, oneOfTwo, unready(3)), api.ReasonReplicaUnavailable, api.StepReserveBudget}},
		"it goes back":                   {3, stepCase{of(3, goesBack), "ScaleDown destination web", api.StepScaleDown}},
		"one that is down goes back":     {3, stepCase{of(3, goesBack, unready(3), unready(0)), "ScaleDown destination web", api.StepScaleDown}},
		"it is up, and another one down": {3, stepCase{of(3, goesBack, unready(0)), "recorded: no handoff", api.StepGate}},
	} {
		wantSteps(t, map[string]stepCase{name: tc.stepCase}, func(p *planners) *plan.Decision { return p.way(tc.ordinal, atGiver) })
	}
	p := midway(of(2, two, func(s *plan.Snapshot) { s.Source.Budgets[0].Form = *pdbtest.MaxUnavailable(2) })...)
	got := p.way(2, atGiver).Effect
	if got.MaxUnavailable != 1 || !got.Form.Equal(*pdbtest.MinAvailable(2)) || got.Fence != "migration.1" {
		t.Errorf("of two one is kept for the ordinal: %+v", got)
	}
}

// TestStopAndStart: each is one write, to the slice that was judged, and for only that ordinal (I1, I9).
func TestStopAndStart(t *testing.T) {
	stop := midway(unbudgeted, sends(2), securedFor(2)).way(2, atGiver)
	state := func(start, replicas int32) plan.SetState {
		return plan.SetState{Start: start, Replicas: replicas, Fence: "migration.1"}
	}
	want := plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Ordinal: 2, Name: "web", UID: "source-set", ResourceVersion: "1", Before: state(0, 3), After: state(0, 2)}
	if diff := cmp.Diff(&want, stop.Effect); diff != "" {
		t.Errorf("a stop: -want +got\n%s", diff)
	}
	start := midway(unbudgeted, stopped(2), diskless).way(2, atNeither)
	want = plan.Effect{Verb: plan.ScaleUp, Side: plan.DestinationSide, Ordinal: 2, Name: "web", UID: "prepared-set", ResourceVersion: "1", Before: state(3, 1), After: state(2, 2)}
	if diff := cmp.Diff(&want, start.Effect); diff != "" || start.Step != api.StepScaleUp {
		t.Errorf("a start at %s: -want +got\n%s", start.Step, diff)
	}
}

// diskless makes an application without volumes.
func diskless(s *plan.Snapshot) {
	s.Source.Set.Templates, s.Destination.Set.Templates, s.Volumes = nil, nil, nil
}
