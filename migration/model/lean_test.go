package model

import (
	"testing"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
	"github.com/sliceshift/sliceshift/migration/internal/plantest"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// The watches of these show what once was so, of a kind of object and a side each. What plan.Lean
// reads live keeps it from doing harm; each test fails without that read.

func twoWithClaims(t *testing.T) *play {
	t.Helper()
	return newPlay(t, plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)})
}

// shows are the conditions of a pass whose watches show the world with a change.
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

// TestPodThatTheWatchDoesNotShow: a pod that still runs is not to be seen by the watch. Its volume is
// not parked under it (I2).
func TestPodThatTheWatchDoesNotShow(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.ScaleDown, 1)
	y.machine.pass(y.p, y.fair())
	y.settle(without1(ends))
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
		y.settle(without1(ends))
	}
	y.unparked()
}

// TestOrdinalThatHasGoneBack: another process has taken over and given an ordinal back, and the watch
// of the first one does not show that. It does not park the volume (I1, I7).
func TestOrdinalThatHasGoneBack(t *testing.T) {
	y := twoWithClaims(t)
	y.until(plan.Verb(volumes.Park), 1)
	before, first := y.Snapshot(), *y.p
	y.setMode(api.ModeRollback)
	y.p = y.newProcess()
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair()) // its pod is not made yet
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

// TestVolumeThatIsNotParkedAnyMore: somebody has pointed the giver's volume at its claim again, and
// the watch still shows it parked. The disk is not made usable at the other side, too (I2).
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
