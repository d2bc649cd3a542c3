package model

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// This part of the world has pods that name claims without their volumes, finalizers of others, records that
// disappear, and users who follow the remedies.

func threeClaims() plantest.Scenario {
	return plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}
}

// nameClaim makes a pod of another user name the claim of ordinal 2 at a side. The pod has a node if mounts is
// true.
func (y *play) nameClaim(side plan.SideName, mounts bool) {
	claim := &y.State.Volumes[2].Holding(side).Claim
	claim.Users, claim.Mounters = []string{"backup"}, nil
	if mounts {
		claim.Mounters = []string{"backup/u"}
	}
	y.note("a pod names the claim of ordinal 2 at the %s", side)
}

// TestH4PodsOfUnusableClaims: after each step since its volume was parked, a pod names the ordinal's claim,
// which the pod cannot mount. The ordinal still arrives and moves back (I6, I8). A pod that may have mounted it
// before is waited for (I2).
func TestH4PodsOfUnusableClaims(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Verb(volumes.CreateVolume), plan.Verb(volumes.Point), plan.Verb(volumes.CreateClaim), plan.ScaleUp} {
		for _, back := range []bool{false, true} {
			t.Run(string(verb), func(t *testing.T) {
				y := newPlay(t, threeClaims())
				y.until(verb, 1)
				y.nameClaim(plan.SourceSide, false)
				if back {
					y.setMode(api.ModeRollback)
					y.writes(enough)
					if !y.State.Source.Set.Has(2) {
						t.Fatalf("ordinal 2 is down\n%s", y.story())
					}
					y.State.Volumes[2].Source.Claim.Users = nil // everything else is as at the beginning
				}
				y.end()
			})
		}
	}
	y := newPlay(t, threeClaims())
	y.until(plan.Verb(volumes.CreateVolume), 1)
	y.nameClaim(plan.SourceSide, true)
	y.writes(enough)
	if hold := y.next().Hold; hold == nil || hold.Reason != api.ReasonClaimInUse {
		t.Fatalf("got %+v", hold)
	}
	y.State.Volumes[2].Source.Claim.Users, y.State.Volumes[2].Source.Claim.Mounters = nil, nil
	y.end()
}

// TestH7FinalizersOfOthers: a finalizer keeps the destination's claim in a rollback. The stall names it. When
// the move runs again, no ordinal is stopped until the claim is deleted (I6).
func TestH7FinalizersOfOthers(t *testing.T) {
	y := newPlay(t, threeClaims())
	y.until(plan.ScaleDown, 2)
	y.setMode(api.ModeRollback)
	y.until(plan.DeleteClaim, 1)
	h := &y.State.Volumes[2].Destination
	h.Claim.Terminating, h.Claim.Keeps, h.Claim.DeletedAt = true, []string{"example.com/keep"}, y.State.Now.Unix()
	h.Claim.ResourceVersion = y.NewVersion()
	kept := *h
	y.State.Spec.Deadline = time.Minute
	y.State.Now = y.State.Now.Add(time.Hour)
	for _, mode := range []api.Mode{api.ModeRollback, api.ModeRun} {
		y.setMode(mode)
		for range 20 {
			y.machine.pass(y.p, y.fair())
			y.settle(everyone)
			*h = kept
			if !y.State.Source.Set.Has(2) {
				t.Fatalf("%s: ordinal 2 was stopped\n%s", mode, y.story())
			}
		}
		hold := y.next().Hold
		if hold == nil || !hold.Stalled || hold.Reason != api.ReasonAwaitingDeletion || !strings.Contains(hold.Message, "example.com/keep") {
			t.Fatalf("%s: got %+v", mode, hold)
		}
	}
}

// TestH9StartedTwice: another writer scales the source of a set without claims up after each start at the
// destination. After the migration's next pass, no ordinal runs on both sides (I1), and no replica was taken
// down for it (I4).
func TestH9StartedTwice(t *testing.T) {
	for _, arrived := range []bool{false, true} {
		y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
		y.until(plan.ScaleUp, 1)
		y.pass(lands)
		for arrived && y.State.Record.Handoff != nil && y.State.Record.Handoff.Ordinal == 2 {
			y.pass(lands)
		}
		y.rescaled(plan.SourceSide, 0, 3)
		y.alien = map[spot]bool{{plan.SourceSide, 2}: true}
		for range 20 {
			y.machine.pass(y.p, y.fair())
			y.settleAll(everyone, func() {})
			y.State.Now = y.State.Now.Add(time.Minute)
		}
		if y.State.Destination.Set.Has(2) || !y.State.Source.Set.Has(2) {
			t.Fatalf("arrived %t: ordinal 2 is on both sides\n%s", arrived, y.story())
		}
		if hold := y.next().Hold; hold == nil || hold.Reason != api.ReasonForeignScale || !hold.Stalled {
			t.Fatalf("got %+v", hold)
		}
	}
}

// TestH1RecordsThatVanish: the record is deleted after each write. A move that begins afterwards either finds
// no trace, or refuses. A user who follows the remedy has every ordinal in the end (I3, I6).
func TestH1RecordsThatVanish(t *testing.T) {
	for name, c := range map[string]plantest.Scenario{"with claims": threeClaims(), "without claims": {Replicas: 3, Budget: pdbtest.MaxUnavailable(1)}} {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, y *play) {
				if y.State.Record.Baseline == nil || y.State.Record.Completed != "" {
					return
				}
				lost := y.Snapshot()
				lost.Record, lost.Source.Set.Fence, lost.Destination.Set.Fence = plan.Record{}, "", ""
				lost.Source.Marks, lost.Destination.Marks = marksOf(lost, plan.SourceSide), marksOf(lost, plan.DestinationSide)
				if lost.Destination.Set.Ours {
					lost.Destination.Set.Owner = lost.UID
				}
				down := int32(-1)
				for k := range int32(3) {
					if !lost.Source.Set.Has(k) && !lost.Destination.Set.Has(k) {
						down = k
					}
				}
				next := lost
				next.UID = "another"
				hold := planner.Plan(next).Hold
				if down >= 0 && (hold == nil || hold.Reason != api.ReasonOrdinalLeftOut && hold.Reason != api.ReasonSourceNotHealthy && hold.Reason != api.ReasonRolloutInProgress) {
					t.Fatalf("after %d writes ordinal %d is down, and the next move begins: %+v", n, down, hold)
				}
				if down < 0 {
					return
				}
				record, err := planner.Rebuild(lost)
				if err != nil {
					t.Fatalf("after %d writes: %v", n, err)
				}
				y.State.Record = record
				y.version++
				y.p = y.newProcess()
				y.end()
			})
		})
	}
}

// marksOf returns the marks of a side, as package world derives them.
func marksOf(s plan.Snapshot, side plan.SideName) []plan.Mark {
	var marks []plan.Mark
	for _, v := range s.Volumes {
		h := v.Holding(side)
		if !h.Volume.Found || !h.Volume.ClaimRef.Names(h.Ref) && !h.Parked() {
			continue
		}
		by := h.Volume.Note.By
		if by == "" {
			by = api.FenceOwner(h.Volume.Fence)
		}
		marks = append(marks, plan.Mark{
			Ordinal: v.Ordinal, Template: v.Template, Volume: h.Volume.Name, Disk: volumes.Disk(h.Volume.Handle), By: by,
			AtRest: by == "" && h.Claim.Phase == corev1.ClaimBound && h.Volume.ClaimRef.UID == h.Claim.UID,
		})
	}
	return marks
}
