package model

import (
	"fmt"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// vanish makes the destination permanently lost: nothing of it can be read any more.
func (y *play) vanish() {
	side := &y.State.Destination
	*side = plan.Side{
		Cluster: side.Cluster, ClusterID: side.ClusterID, Namespace: side.Namespace, Reach: plan.Seen, Lost: true, NamespaceFound: true,
		Set: plan.Set{Presence: plan.Absent, Name: side.Set.Name}, Service: plan.Dependent{Needed: side.Service.Needed, Name: side.Service.Name},
	}
	y.Controllers[plan.DestinationSide] = simulate.Controller{}
	y.allowed[plan.DestinationSide] = 0
	for i := range y.State.Volumes {
		y.State.Volumes[i].Destination = volumes.Holding{Ref: y.State.Volumes[i].Destination.Ref}
	}
	for i := range y.yards {
		y.lose(i)
	}
}

// recover requests the recovery, with the field that confirms it.
func (y *play) recover() {
	y.setMode(api.ModeRecover)
	y.State.Spec.Recovery, y.State.Spec.NothingMovedOn = y.State.Record.Baseline.DestinationCluster, true
	y.version++
	y.p = y.newProcess()
}

// TestRecoverAnywhere (G15): the destination is lost after each write of a move, and after its end. Every
// ordinal starts at the source again, on the disk that it had left.
func TestRecoverAnywhere(t *testing.T) {
	for name, c := range map[string]plantest.Scenario{
		"highest first": {Replicas: 3, Templates: []string{"data", "wal"}, Budget: pdbtest.MaxUnavailable(1)},
		"lowest first":  {Replicas: 3, Start: 1, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Order: api.LowestFirst}},
		"a part":        {Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{Count: 1}},
		"bare":          {Replicas: 2, Ordered: true},
		"named":         {Replicas: 2, Spec: plan.Spec{NameOrdinals: true}},
	} {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, y *play) {
				if y.State.Record.Baseline == nil {
					return
				}
				y.vanish()
				y.recover()
				y.settle(everyone)
				for range 400 {
					if decision := y.pass(lands); decision.Done != "" {
						break
					}
				}
				if y.State.Record.Completed != api.ReasonRecovered && y.State.Record.Completed != api.ReasonRolledBack {
					t.Fatalf("after write %d: it does not end: %+v\n%s", n, y.next(), y.story())
				}
				if set := y.State.Source.Set; set.Replicas != c.Replicas || set.Start != c.Start || set.Fence != "" {
					t.Fatalf("after write %d: the source is %+v", n, set)
				}
				for i, v := range y.State.Volumes {
					if !v.Source.Bound() || v.Source.Volume.Handle != y.disks[i] || v.Source.Volume.Policy != y.begin.Volumes[i].Source.Volume.Policy {
						t.Fatalf("after write %d: %s-%d: %+v", n, v.Template, v.Ordinal, v.Source)
					}
				}
			})
		})
	}
}

// TestRecoverIsNeverAutomatic (G15): without the user's confirmation nothing is written, and the message
// explains it. If nothing can be recovered, the message says so.
func TestRecoverIsNeverAutomatic(t *testing.T) {
	moved := plantest.Scenario{Replicas: 3, Templates: []string{"data"}}
	shared, deletes := moved, moved
	shared.Spec.SameCluster, deletes.Spec.DeleteSource = true, true
	for name, tc := range map[string]struct {
		c      plantest.Scenario
		until  plan.Verb
		word   func(y *play)
		reason string
		says   string
	}{
		"no word":              {moved, plan.ScaleDown, func(y *play) { y.State.Spec.Recovery = "" }, api.ReasonRecoveryUnconfirmed, "runs twice"},
		"the first on its way": {moved, plan.ScaleUp, func(y *play) { y.State.Spec.Recovery = "" }, api.ReasonRecoveryUnconfirmed, "start ordinal 2 at"},
		"another cluster's":    {moved, plan.ScaleDown, func(y *play) { y.State.Spec.Recovery = "cluster-east" }, api.ReasonRecoveryUnconfirmed, "runs twice"},
		"not begun":            {moved, "", func(*play) {}, api.ReasonNothingToRecover, "has not begun"},
		"one cluster":          {shared, plan.ScaleDown, func(*play) {}, api.ReasonNothingToRecover, "share their volumes"},
		"nothing moved on":     {moved, plan.ReleaseFence, func(y *play) { y.State.Spec.NothingMovedOn = false }, api.ReasonRecoveryUnconfirmed, "moved on"},
		"moved on":             {moved, plan.ReleaseFence, func(y *play) { y.State.MovedOn = "Migration shop/on" }, api.ReasonMovedOn, "Migration shop/on"},
		"moved on, half moved": {moved, plan.ScaleUp, func(y *play) { y.State.MovedOn = "Migration shop/on" }, api.ReasonMovedOn, "Migration shop/on"},
		"the source is gone":   {deletes, plan.DeleteSet, func(*play) {}, api.ReasonNothingToRecover, "was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, tc.c)
			if tc.until != "" {
				y.until(tc.until, 1)
				y.recover()
			} else {
				y.setMode(api.ModeRecover)
			}
			tc.word(y)
			before := y.landed
			decision := y.machine.pass(y.p, y.fair())
			if decision.Hold == nil || !decision.Hold.Stalled || decision.Hold.Reason != tc.reason || !strings.Contains(decision.Hold.Message, tc.says) {
				t.Errorf("got %+v, want %s that says %q", decision, tc.reason, tc.says)
			}
			if y.landed != before {
				t.Error("something was written")
			}
		})
	}
}

// TestRecoverWritesNothingToTheDestination (G15): a destination that was declared lost receives no request.
func TestRecoverWritesNothingToTheDestination(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Service: true, Spec: plan.Spec{Export: true}})
	y.until(plan.ScaleUp, 2)
	y.vanish()
	y.recover()
	var steps []string
	for range 200 {
		if next := y.next().Effect; next != nil {
			steps = append(steps, fmt.Sprint(*next))
			if next.Side == plan.DestinationSide {
				t.Fatalf("%s", next)
			}
		}
		if y.pass(lands).Done != "" {
			return
		}
	}
	t.Errorf("it does not end: %v", steps)
}

// TestRecoverAfterAStartByHand: after the destination is lost, another client scales the source up, on claims
// that were recreated empty. No recovery ends there, whatever it requests. It waits until the former range is
// restored, and then starts the ordinals on their former disks (I3).
func TestRecoverAfterAStartByHand(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 2)
	y.settle(everyone)
	for y.State.Record.Handoff != nil {
		y.pass(lands)
	}
	y.vanish()
	y.recover()
	before := y.State.Source.Set.Replicas
	scale := func(replicas int32) {
		y.State.Source.Set.Replicas = replicas
		y.version++
		y.settle(everyone)
	}
	for _, replicas := range []int32{before + 1, 4, 5} {
		scale(replicas)
		for range 20 {
			decision := y.pass(lands)
			if decision.Done != "" || decision.Effect != nil && decision.Effect.Verb != plan.WriteFence {
				t.Fatalf("with %d replicas at the source: %+v", replicas, decision)
			}
		}
		if hold := y.next().Hold; hold == nil || hold.Reason != api.ReasonForeignScale || !hold.Stalled {
			t.Fatalf("with %d replicas at the source: %+v", replicas, y.next())
		}
	}
	scale(before)
	for range 400 {
		if decision := y.pass(lands); decision.Done != "" {
			break
		}
	}
	if y.State.Record.Completed != api.ReasonRecovered {
		t.Errorf("it does not end: %+v", y.next())
	}
	for i, v := range y.State.Volumes {
		if !v.Source.Bound() || v.Source.Volume.Handle != y.disks[i] {
			t.Errorf("%s-%d: %+v", v.Template, v.Ordinal, v.Source)
		}
	}
}

// TestSimulateRecovery: the dry run of a recovery moves every ordinal back, one after the other.
func TestSimulateRecovery(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 3)
	y.settle(everyone)
	y.vanish()
	y.recover()
	if got := simulate.Run(y.State); got.Outcome != api.ReasonRecovered || got.Held != nil {
		t.Errorf("it ends with %q: %+v", got.Outcome, got.Held)
	}
}

// TestRecoveredBudgetDoesNotGrow: the destination is lost while the source's budget has the share for its
// remaining ordinals. The budget allows no more when the others return (I4).
func TestRecoveredBudgetDoesNotGrow(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 2)
	y.pass(lands)
	y.p = y.newProcess() // its fence is a new one, and the budgets are written again
	y.until(plan.ScaleDown, 1)
	y.vanish()
	y.recover()
	for range enough {
		if decision := y.pass(lands); decision.Done != "" {
			break
		}
		if allows, err := pdb.Budget(y.State.Source.Budgets[0].Form, y.State.Source.Set.Replicas); err != nil || allows > 1 {
			t.Fatalf("of %d replicas %d may be evicted, %v\n%s", y.State.Source.Set.Replicas, allows, err, y.story())
		}
	}
	if y.State.Source.Set.Replicas != 4 {
		t.Errorf("it does not end\n%s", y.story())
	}
}
