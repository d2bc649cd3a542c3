package model

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// Each test here covers a fault that the model has found since other clients interfere in its world.

// emptied deletes the claim of an ordinal on a side. Its controller creates an empty one, on which a pod may be
// Ready. The ordinal's former volume remains, because it is secured.
func (y *play) emptied(name plan.SideName, ordinal int32, runs bool) {
	h := y.State.Volumes[ordinal].Holding(name)
	h.Claim = volumes.Claim{Found: true, UID: "empty", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: fresh}
	if runs {
		y.State.Side(name).SetPod(plan.Pod{Ordinal: ordinal, UID: "on the empty one", Ready: true, ReadySince: plantest.Epoch, Owned: true})
	}
}

// stopped runs a test after ordinal 1 was stopped and before anything was carried over, between clusters and
// within one.
func stopped(t *testing.T, try func(*testing.T, *play)) {
	for name, shared := range map[string]bool{"between clusters": false, "in one cluster": true} {
		t.Run(name, func(t *testing.T) {
			c := plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)}
			c.Spec.SameCluster = shared
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.pass(lands)
			try(t, y)
		})
	}
}

// TestEmptyClaimIsNotCarried: the claim of an ordinal is deleted after its stop, and its controller, which has
// not observed the stop, creates an empty one. The ordinal's former disk is carried over (I3).
func TestEmptyClaimIsNotCarried(t *testing.T) {
	stopped(t, func(t *testing.T, y *play) {
		disk := y.State.Volumes[1].Source.Volume
		y.emptied(plan.SourceSide, 1, false)
		y.until(plan.ScaleUp, 1)
		if at := y.State.Volumes[1].Destination; !at.Bound() || at.Volume.Handle != disk.Handle || at.Claim.Volume != disk.Name {
			t.Errorf("ordinal 1 is on %+v", at)
		}
	})
}

// TestReturnedOrdinalLosesItsClaim: an ordinal is reversed before anything was carried over, and started where
// it was. Its claim is deleted before its pod exists, and its controller creates an empty one, on which the pod
// is Ready. The ordinal does not count as returned, and that disk is not moved when the migration is reversed
// again (I3).
func TestReturnedOrdinalLosesItsClaim(t *testing.T) {
	stopped(t, func(t *testing.T, y *play) {
		y.setMode(api.ModeRollback)
		y.until(plan.ScaleUp, 1)
		y.machine.pass(y.p, y.fair())
		y.settle(without(controls, deletes))
		y.emptied(plan.SourceSide, 1, true)
		for _, mode := range []api.Mode{api.ModeRollback, api.ModeRun, api.ModePause, api.ModeRun} {
			y.setMode(mode)
			if hold := y.holdOf(); !hold.Stalled || hold.Reason != volumes.ReasonAnotherDisk {
				t.Errorf("%s: got %+v", mode, hold)
			}
			if y.State.Record.Handoff == nil || y.State.Source.Set.Replicas != 2 {
				t.Fatalf("%s: it went on: %s", mode, y)
			}
		}
	})
}

// TestRebuiltBeforeItsStop: a user rebuilds a replica on a new claim after its handoff was recorded. While
// nothing of it was stopped or secured, the record follows. Once the volume is secured, the ordinal may have
// been stopped, so the claim must be bound to that volume again (I3).
func TestRebuiltBeforeItsStop(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.Verb(volumes.Secure), 1)
	s := y.p.through(y.Snapshot())
	was := s.Volumes[1].Source
	s.Volumes[1].Source.Claim.Volume = "rebuilt"
	if decision := planner.Plan(s); decision.Record == nil || decision.Record.Handoff.Volume("data").Name != "rebuilt" {
		t.Errorf("got %+v", decision)
	}
	s.Volumes[1].Source.Volume.Policy, s.Volumes[1].Source.Volume.Note = corev1.PersistentVolumeReclaimRetain, volumes.Note{Policy: was.Volume.Policy, By: s.UID}
	if hold := planner.Plan(s).Hold; hold == nil || !hold.Stalled || hold.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("got %+v", hold)
	}
}

// TestNoneIsCarriedBeforeAllAreKnown: another client stops an ordinal after one of its two volumes was secured.
// Neither is carried over, and the ordinal moves back unchanged.
func TestNoneIsCarriedBeforeAllAreKnown(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data", "wal"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.Verb(volumes.Secure), 2)
	y.rescaled(plan.SourceSide, 0, 1)
	y.settle(everyone)
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("got %+v", hold)
	}
	for _, v := range y.State.Volumes {
		if v.Source.Parked() {
			t.Errorf("%s-%d was carried away", v.Template, v.Ordinal)
		}
	}
	y.rescaled(plan.SourceSide, 0, 2)
	y.settle(everyone)
	y.end()
}

// TestStartedOrdinalLosesItsClaim: the claim of an ordinal is deleted between its start and the creation of its
// pod. Its controller creates an empty one, on which the pod is Ready. The ordinal does not count as arrived
// (I3).
func TestStartedOrdinalLosesItsClaim(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair())
	y.settle(without(controls, deletes))
	v := &y.State.Volumes[1]
	v.Destination.Claim = volumes.Claim{Found: true, UID: "empty", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: fresh}
	y.State.Side(plan.DestinationSide).SetPod(plan.Pod{Ordinal: 1, UID: "on the empty one", Ready: true, ReadySince: plantest.Epoch, Owned: true})
	if hold := y.holdOf(); !hold.Stalled || !strings.Contains(hold.Message, "without its") {
		t.Errorf("got %+v", hold)
	}
	v.Source.Claim = volumes.Claim{} // the source does not show its former volume either
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("got %+v", hold)
	}
	if y.State.Record.Handoff == nil || y.State.Source.Set.Replicas != 1 {
		t.Errorf("it went on: %s", y)
	}
}

// TestPolicyOfASecondLife: a second migration in the other direction is reversed right after its first stop.
// The volume that the first one had parked has Retain only for that reason. The restored policy is that of the
// volume in use (I3).
func TestPolicyOfASecondLife(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.end()
	y.begins(life{back: true})
	y.p = y.newProcess()
	y.until(plan.ScaleDown, 1)
	y.pass(lands)
	y.setMode(api.ModeRollback)
	y.end()
	if policy := y.State.Volumes[0].Source.Volume.Policy; policy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("the author's Delete has become %s", policy)
	}
}

// TestStoppedAndStartedUnseen: an ordinal moves back before its controller has observed the stop, and the
// controller then still deletes its pod. The ordinal does not count as running before the controller has
// observed both changes (I4).
func TestStoppedAndStartedUnseen(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	y.machine.pass(y.p, y.fair())
	y.setMode(api.ModeRollback)
	behind := func(s step) bool { return s.side != plan.SourceSide || s.kind != learns }
	for range 20 {
		y.machine.pass(y.p, y.fair())
		y.settle(behind)
	}
	if y.State.Record.Handoff == nil || !y.State.Source.Set.Has(1) {
		t.Fatalf("it was taken for up\n%s", y.story())
	}
	y.settle(everyone)
	y.end()
}

// TestClaimOfSomebodyElseIsLeft: at the end of a rollback, the destination has a claim that another client has
// recreated. It belongs to that client, and is not waited for (I6).
func TestClaimOfSomebodyElseIsLeft(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}})
	y.until(plan.ScaleUp, 1)
	y.pass(lands)
	y.State.Volumes[0].Destination.Claim.Ours = false
	y.setMode(api.ModeRollback)
	for range 60 {
		if y.pass(lands).Done != "" {
			return
		}
	}
	t.Errorf("it does not end: %+v", y.next())
}

// TestBudgetIsMadeAgainInAPause: the destination's budget is deleted while nothing moves. It is recreated for
// its replicas, and nothing waits forever (I4, I6).
func TestBudgetIsMadeAgainInAPause(t *testing.T) {
	for _, mode := range []api.Mode{api.ModePause, api.ModeRollback} {
		t.Run(string(mode), func(t *testing.T) {
			y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
			y.until(plan.ScaleDown, 2)
			y.setMode(mode)
			y.PutBudget(plan.DestinationSide, nil)
			y.until(plan.CreateBudget, 1)
		})
	}
}

// TestBudgetOfTheAuthorInASplit: the source's budget is deleted during the move and recreated in its author's
// form. A part has moved, so it is split again, and the sum is d (I4).
func TestBudgetOfTheAuthorInASplit(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 2}})
	y.until(plan.ScaleUp, 2)
	budget := y.State.Source.Budgets[0]
	budget.UID, budget.Form, budget.Author, budget.Fence = "again", *pdbtest.MaxUnavailable(2), nil, ""
	y.PutBudget(plan.SourceSide, &budget)
	for range 60 {
		if decision := y.machine.pass(y.p, y.fair()); decision.Done != "" {
			break
		}
		y.settleAll(everyone, func() {})
	}
	if have := y.shares(); have.Source+have.Destination != 2 {
		t.Errorf("the budgets allow %+v of 2", have)
	}
}

// TestEditIsNoRevert: an author who edits a PodDisruptionBudget before the migration has written it, or after
// it was restored, removes no mark. This is not taken for a revert. Chaos tests found both: the migration
// stalled permanently (I6).
func TestEditIsNoRevert(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	looks := func(seen *api.BudgetVersion) bool { return seen != nil && seen.Taken }
	looked := func() bool { return looks(y.State.Record.Baseline.SourceBudget) }
	marked := func() bool {
		return y.State.Source.Budgets[0].Fence != "" && y.State.Destination.Budgets[0].Fence != ""
	}
	for _, verb := range []plan.Verb{plan.CreateSet, plan.SetBudget} {
		y.until(verb, 1)
		if looked() {
			t.Errorf("a revert is looked for before %s", verb)
		}
	}
	y.until(plan.ScaleDown, 1)
	if !looked() || !marked() {
		t.Error("no revert is looked for before the first stop")
	}
	y.until(plan.RestoreBudget, 1)
	if looks(y.State.Record.Baseline.DestinationBudget) {
		t.Error("a revert is looked for when the budgets are given back")
	}
	y.end()
}
