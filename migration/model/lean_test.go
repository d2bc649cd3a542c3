package model

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// The watches in these tests show a former state of one kind of object on one side. The live reads of
// planner.Lean prevent harm, and each test fails without its read.

func twoWithClaims(t *testing.T) *play {
	t.Helper()
	return newPlay(t, plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)})
}

// shows returns the conditions of a pass whose watches show the world with a change.
func (y *play) shows(change func(*plan.Snapshot)) conditions {
	c := y.fair()
	c.cached = func() plan.Snapshot {
		s := y.Snapshot()
		change(&s)
		return s
	}
	return c
}

func (y *play) volumeOf(ordinal int32) *plan.OrdinalVolume {
	for i := range y.State.Volumes {
		if y.State.Volumes[i].Ordinal == ordinal {
			return &y.State.Volumes[i]
		}
	}
	y.t.Fatalf("ordinal %d has no volume", ordinal)
	return nil
}

// unparked ends a play in which the volume of ordinal 1 must not have been parked yet.
func (y *play) unparked() {
	y.t.Helper()
	if y.volumeOf(1).Source.Parked() {
		y.t.Errorf("its volume is parked\n%s", y.story())
	}
	y.settle(everyone)
	y.end()
}

// TestPodThatTheWatchDoesNotShow: the watch does not show a pod that still runs. Its volume is not parked (I2).
func TestPodThatTheWatchDoesNotShow(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.ScaleDown, 1)
	y.machine.pass(y.p, y.fair())
	y.settle(without(ends))
	if _, runs := y.State.Source.Pod(1); !runs {
		t.Fatal("its pod has gone")
	}
	gone := y.shows(func(s *plan.Snapshot) {
		s.Source.RemovePod(1)
		for i := range s.Volumes {
			s.Volumes[i].Source.Volume.Attachments = nil
		}
	})
	for range 4 {
		y.machine.pass(y.p, gone)
		y.settle(without(ends))
	}
	y.unparked()
}

// TestOrdinalThatHasGoneBack: another process has taken over and moved an ordinal back, and the watch of the
// first one does not show that. The first process does not park the volume (I1, I7).
func TestOrdinalThatHasGoneBack(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.Verb(volumes.Park), 1)
	before, first := y.Snapshot(), *y.p
	y.setMode(api.ModeRollback)
	y.p = y.newProcess()
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair()) // its pod is not created yet
	if !y.State.Source.Set.Has(1) {
		t.Fatalf("it has not gone back\n%s", y.story())
	}
	late := y.shows(func(s *plan.Snapshot) { s.Source.Set, s.Destination.Set = before.Source.Set, before.Destination.Set })
	late.stale = true
	for range 4 {
		y.machine.pass(&first, late)
	}
	y.unparked()
}

// TestVolumeThatIsNotParkedAnyMore: another client has pointed the giver's volume at its claim again, and the
// watch still shows it parked. The disk does not become usable at the other side (I2).
func TestVolumeThatIsNotParkedAnyMore(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.Verb(volumes.Point), 1)
	parked, v := y.Snapshot(), y.volumeOf(1)
	v.Source.Volume.ClaimRef, v.Source.Volume.ResourceVersion = volumes.Ref{Namespace: v.Source.Ref.Namespace, Name: v.Source.Ref.Name, UID: v.Source.Claim.UID}, y.NewVersion()
	late := y.shows(func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Source.Volume = parked.Volumes[i].Source.Volume
		}
	})
	for range 4 {
		y.machine.pass(y.p, late)
	}
	if at := y.volumeOf(1).Destination; at.Volume.ClaimRef.Names(at.Ref) {
		t.Errorf("the disk is usable on both sides\n%s", y.story())
	}
}

// The remaining watches rely on other reads or marks: each of these tests fails without one.

// passes runs several passes of the first process under the same conditions.
func (y *play) passes(c conditions) {
	for range 4 {
		y.machine.pass(y.p, c)
	}
}

// TestVolumeThatSomebodyElseHasMarked: another process has taken over, has marked the volume that is parked at
// the taker, and is about to return the disk. The watch of the first process does not show the new fences on
// the StatefulSets. It does not make the disk usable at the taker as well (I2, I7).
func TestVolumeThatSomebodyElseHasMarked(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.Verb(volumes.Point), 1)
	before, first := y.Snapshot(), *y.p
	late := y.shows(func(s *plan.Snapshot) { s.Source.Set, s.Destination.Set = before.Source.Set, before.Destination.Set })
	late.stale = true
	y.setMode(api.ModeRollback)
	y.p = y.newProcess()
	if back := y.until(plan.Verb(volumes.Point), 1); back.Side != plan.SourceSide {
		t.Fatalf("it does not give the disk back: %s", back)
	}
	seen, second := false, y.fair()
	second.live = func(of reading) plan.Snapshot {
		seen = of == volumesRead
		return y.State
	}
	second.between = func() {
		if seen {
			seen = false
			y.machine.pass(&first, late)
		}
	}
	y.machine.pass(y.p, second)
	v := y.volumeOf(1)
	if v.Source.Volume.ClaimRef.Names(v.Source.Ref) && v.Destination.Volume.ClaimRef.Names(v.Destination.Ref) {
		t.Errorf("the disk is usable on both sides\n%s", y.story())
	}
	y.settle(everyone)
	y.end()
}

// rescaledUnseen makes another client scale a slice, which the watch does not show in the following passes.
func (y *play) rescaledUnseen(name plan.SideName, start, replicas int32) {
	before := y.Snapshot()
	y.rescaled(name, start, replicas)
	y.passes(y.shows(func(s *plan.Snapshot) { s.Side(name).Set = before.Side(name).Set }))
}

// TestTakerThatWasScaled: another client scales the taker, and the watch does not show it. Nothing is stopped
// (I5, I9).
func TestTakerThatWasScaled(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.ScaleDown, 1)
	y.rescaledUnseen(plan.DestinationSide, 0, 1)
	if !y.State.Source.Set.Has(1) {
		t.Errorf("it is stopped\n%s", y.story())
	}
}

// TestGiverThatWasScaled: another client scales the giver up to its former ordinal, and the watch does not show
// it. The ordinal is not started at the taker (I1).
func TestGiverThatWasScaled(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.ScaleUp, 1)
	y.rescaledUnseen(plan.SourceSide, 0, 2)
	if y.State.Destination.Set.Has(1) {
		t.Errorf("it is started\n%s", y.story())
	}
}

// TestBudgetThatTheWatchDoesNotShow: another client widens a budget, and the watch does not show it. Nothing is
// stopped (I4).
func TestBudgetThatTheWatchDoesNotShow(t *testing.T) {
	for _, name := range plan.SideNames {
		y := twoWithClaims(t)
		y.until(plan.ScaleDown, 1)
		before := y.Snapshot()
		budget := &y.State.Side(name).Budgets[0]
		budget.Form, budget.ResourceVersion = pdb.Unavailable(1), y.NewVersion()
		y.passes(y.shows(func(s *plan.Snapshot) { s.Side(name).Budgets = before.Side(name).Budgets }))
		if !y.State.Source.Set.Has(1) {
			t.Errorf("%s: it is stopped\n%s", name, y.story())
		}
	}
}

// TestClaimThatIsGoneAtTheEnd: a claim was deleted, and neither its watch nor its volume shows that yet. The
// volume keeps Retain, because its former policy would delete the disk (I3).
func TestClaimThatIsGoneAtTheEnd(t *testing.T) {
	y := twoWithClaims(t)
	next := y.until(plan.RestorePolicy, 1)
	before, v := y.Snapshot(), y.volumeOf(next.Ordinal)
	v.Destination.Claim = volumes.Claim{}
	y.passes(y.shows(func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Destination.Claim = before.Volumes[i].Destination.Claim
		}
	}))
	if v.Destination.Volume.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Errorf("its policy is %s\n%s", v.Destination.Volume.Policy, y.story())
	}
}

// TestArrivalOnAnotherClaim: the claim of a started ordinal was recreated empty, and the watch does not show
// that. The ordinal does not count as arrived (I3).
func TestArrivalOnAnotherClaim(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.ScaleUp, 1)
	y.pass(lands)
	if next := y.next(); next.Record == nil {
		t.Fatalf("it has not arrived: %+v", next)
	}
	before, v := y.Snapshot(), y.volumeOf(1)
	v.Destination.Claim.UID, v.Destination.Claim.Volume, v.Destination.Claim.ResourceVersion = y.NewUID(), "empty", y.NewVersion()
	y.passes(y.shows(func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Destination.Claim = before.Volumes[i].Destination.Claim
		}
	}))
	if h := y.State.Record.Handoff; h == nil || h.Ordinal != 1 {
		t.Errorf("it has arrived\n%s", y.story())
	}
}

// TestBudgetAtTheBeginning: the watch does not show the author's budget. The budget is recorded nevertheless
// (I4).
func TestBudgetAtTheBeginning(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2)})
	y.passes(y.shows(func(s *plan.Snapshot) { s.Source.Budgets = nil }))
	if base := y.State.Record.Baseline; base == nil || base.DisruptionBudget == nil || base.Budget != 2 {
		t.Errorf("the record begins with %+v\n%s", base, y.story())
	}
}

// TestDiskThatIsLostAtTheEnd: an ordinal that has moved is now on another disk, and the watch does not show
// that. The migration does not end (I3).
func TestDiskThatIsLostAtTheEnd(t *testing.T) {
	y := twoWithClaims(t)
	for range enough {
		if next := y.next(); next.Record != nil && next.Record.Completed != "" {
			break
		}
		y.pass(lands)
	}
	before, v := y.Snapshot(), y.volumeOf(1)
	v.Destination.Claim.UID, v.Destination.Claim.Volume, v.Destination.Claim.ResourceVersion = y.NewUID(), "empty", y.NewVersion()
	y.passes(y.shows(func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Destination = before.Volumes[i].Destination
		}
	}))
	if y.State.Record.Completed != "" {
		t.Errorf("it has ended\n%s", y.story())
	}
}

// TestNextThatMayNotBegin: an ordinal has arrived, and the volume of the next one is missing. The handoff ends,
// whatever part of the next one is read (I6).
func TestNextThatMayNotBegin(t *testing.T) {
	y := twoWithClaims(t)
	for y.State.Record.Handoff == nil || y.State.Record.Handoff.Ordinal != 0 {
		y.pass(lands)
	}
	y.volumeOf(1).Source.Volume = volumes.Volume{}
	y.setMode(api.ModeRollback)
	y.p = y.newProcess()
	for range 10 {
		y.pass(lands)
	}
	if h := y.State.Record.Handoff; h != nil {
		t.Errorf("it is at %+v\n%s", h, y.story())
	}
}

// TestReadyBeforeItWasTurned: the watch shows a reversed ordinal as Ready, by a pod from before the reversal.
// The move does not count it as arrived (I8).
func TestReadyBeforeItWasTurned(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2)})
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair())
	y.settle(everyone)
	before := y.Snapshot()
	late := y.shows(func(s *plan.Snapshot) { s.Destination.Pods = before.Destination.Pods })
	for _, mode := range []api.Mode{api.ModeRollback, api.ModeRun} {
		y.setMode(mode)
		for range 4 {
			y.passes(late)
			y.settle(func(s step) bool { return s.kind != ends })
		}
	}
	if h := y.State.Record.Handoff; h == nil || h.Ordinal != 2 {
		t.Errorf("handoff %+v\n%s", h, y.story())
	}
	y.settle(everyone)
	y.end()
}
