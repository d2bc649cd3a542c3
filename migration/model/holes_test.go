package model

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// Each test here covers a gap in the invariants that an adversarial review has found, with its number. Without
// the fix, the model finds each of them on its own.

// holdOf runs a pass and returns its hold.
func (y *play) holdOf() plan.Hold {
	y.t.Helper()
	var decision plan.Decision
	for range 8 { // claiming the fences comes first, and the budgets may be restored
		decision = y.machine.pass(y.p, y.fair())
		y.settleAll(func(s step) bool { return s.kind == budgets }, func() {})
	}
	if decision.Hold == nil {
		y.t.Fatalf("nothing holds: %+v\n%s", decision, y.story())
	}
	return *decision.Hold
}

// stays runs passes while only the engine acts, and checks each.
func (y *play) stays(passes int) {
	y.t.Helper()
	for range passes {
		y.machine.pass(y.p, y.fair())
		y.verify()
	}
}

var oneDisk = plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}

// TestGiverWithoutItsSet (G1): another client deletes the emptied StatefulSet of the giver while the pod of its
// last ordinal still runs. The ordinal is not started on the other side.
func TestGiverWithoutItsSet(t *testing.T) {
	for name, orphaned := range map[string]bool{"in the background": false, "orphaned": true} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, oneDisk)
			y.until(plan.ScaleUp, 1)
			y.pass(lands)
			y.setMode(api.ModeRollback)
			y.until(plan.ScaleDown, 1)
			y.machine.pass(y.p, y.fair())
			y.deleteSet(plan.DestinationSide, orphaned)
			y.stays(12)
			if hold := y.holdOf(); hold.Reason != api.ReasonPodTerminating && hold.Reason != api.ReasonPodRunning {
				t.Errorf("got %+v", hold)
			}
			for _, pod := range y.State.Destination.Pods {
				y.remove(plan.DestinationSide, pod.Ordinal)
			}
			y.settle(everyone)
			y.end()
		})
	}
}

// deleteSet deletes a StatefulSet as another client does, with its pods unless they are orphaned.
func (y *play) deleteSet(name plan.SideName, orphaned bool) {
	side := y.State.Side(name)
	side.Set = plan.Set{Presence: plan.Absent, Name: side.Set.Name, Resource: side.Set.Resource}
	for i := range side.Pods {
		side.Pods[i].Owned, side.Pods[i].Terminating = false, side.Pods[i].Terminating || !orphaned
	}
}

// TestOrdinalsThatLostTheirDisks (G2): the destination's StatefulSet and its claims are deleted, and the
// Released volume is removed. Another client restores the former values, and the controller creates empty
// claims. Nothing more is stopped or completed, and the record of the disk at the source is kept.
func TestOrdinalsThatLostTheirDisks(t *testing.T) {
	for name, tc := range map[string]struct {
		set    bool
		reason string
	}{
		"the set with its claims": {true, api.ReasonDestinationReplaced},
		"the claims alone":        {false, volumes.ReasonAnotherDisk},
	} {
		t.Run(name, func(t *testing.T) {
			c := oneDisk
			c.Spec.DeleteSource = true
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 2)
			y.sweep(2, tc.set)
			for range 20 {
				y.machine.pass(y.p, y.fair())
				y.settleAll(everyone, func() {})
			}
			if hold := y.holdOf(); !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Remedy, "recover") {
				t.Errorf("got %+v, want %s\n%s", hold, tc.reason, y.story())
			}
			if y.State.Source.Set.Replicas != 2 || y.State.Record.Completed != "" {
				t.Errorf("it went on: %s", y)
			}
		})
	}
}

// sweep removes an ordinal's claim and volume at the destination and gives it a new, empty claim, with or
// without its StatefulSet.
func (y *play) sweep(ordinal int32, set bool) {
	if set {
		y.State.Destination.Set.UID, y.State.Destination.Set.Fence = "another", ""
		y.State.Destination.Set.ResourceVersion = y.NewVersion()
	}
	for i := range y.State.Volumes {
		if v := &y.State.Volumes[i]; v.Ordinal == ordinal {
			v.Destination.Volume = volumes.Volume{}
			v.Destination.Claim = volumes.Claim{Found: true, UID: y.NewUID(), ResourceVersion: y.NewVersion(), Phase: corev1.ClaimBound, Volume: "fresh"}
		}
	}
}

// TestLastRecordIsKept (G2): the ordinals lose their disks after the migration has ended, while it cleans up
// the source. The remaining record of a disk there is not deleted.
func TestLastRecordIsKept(t *testing.T) {
	c := oneDisk
	c.Spec.DeleteSource = true
	y := newPlay(t, c)
	y.until(plan.DeleteClaim, 1)
	for ordinal := range int32(3) {
		y.sweep(ordinal, false)
	}
	for range 12 {
		y.machine.pass(y.p, y.fair())
		y.settleAll(everyone, func() {})
	}
	if hold := y.holdOf(); hold.Reason != volumes.ReasonAnotherDisk {
		t.Errorf("got %+v", hold)
	}
	for _, v := range y.State.Volumes {
		if !v.Source.Volume.Found {
			t.Errorf("the last record of %s-%d is gone", v.Template, v.Ordinal)
		}
	}
}

// TestDestinationGone (G2): the StatefulSet that has taken ordinals is deleted. The stall reports that, and
// that the StatefulSet had them.
func TestDestinationGone(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 2)
	before := y.Snapshot()
	y.deleteSet(plan.DestinationSide, true)
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonDestinationMissing || !strings.Contains(hold.Message, "ordinal 2") {
		t.Errorf("got %+v", hold)
	}
	y.State.Side(plan.DestinationSide).Set = before.Destination.Set
	y.State.Side(plan.DestinationSide).Set.UID, y.State.Side(plan.DestinationSide).Set.Fence = "again", ""
	y.State.Side(plan.DestinationSide).Set.ResourceVersion = y.NewVersion()
	y.State.Destination.Pods = before.Destination.Pods
	y.end() // it is on its former disks
}

// TestAnEmptyDestinationIsMadeAgain: an empty destination that was deleted is recreated, because nothing can be
// lost there yet.
func TestAnEmptyDestinationIsMadeAgain(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.deleteSet(plan.DestinationSide, false)
	y.end()
}

// TestRetainOfTheAuthor (G3): a volume that an earlier migration had recorded as Delete, and that its owner has
// since set to Retain, is Retain at the end.
func TestRetainOfTheAuthor(t *testing.T) {
	for name, c := range map[string]plantest.Scenario{
		"between clusters": {Replicas: 1, Templates: []string{"data"}, Retained: true},
		"in one cluster":   {Replicas: 1, Templates: []string{"data"}, Retained: true, Spec: plan.Spec{SameCluster: true}},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			for i := range y.State.Volumes {
				v := &y.State.Volumes[i]
				v.Source.Volume.Note = volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "an earlier one"}
				y.PutVolume(v, plan.SourceSide, v.Source.Volume)
			}
			y.end()
			if volume := y.State.Volumes[0].Destination.Volume; volume.Policy != corev1.PersistentVolumeReclaimRetain {
				t.Errorf("got %s", volume.Policy)
			}
		})
	}
}

// TestDeletedAfterItWasSecured (G3): a Migration is deleted after it has secured a volume and before the first
// stop. It restores the policy of the volume's author, so that a later migration finds it.
func TestDeletedAfterItWasSecured(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.State.Deleting = true
	y.version++
	y.end()
	for _, v := range y.State.Volumes {
		if volume := v.Source.Volume; volume.Policy != corev1.PersistentVolumeReclaimDelete || volume.Note.Policy != "" {
			t.Errorf("%s has policy %s and the note %s", volume.Name, volume.Policy, volume.Note)
		}
	}
}

// TestRollbackOfWhatIsDown (G4): an ordinal that is down at the destination moves back even if other replicas
// are down or a rollout runs, because that takes nothing from the application.
func TestRollbackOfWhatIsDown(t *testing.T) {
	for name, tc := range map[string]struct {
		ordered bool
		also    func(y *play)
	}{
		"another replica is down":               {false, func(y *play) { y.fail(plan.SourceSide, 0) }},
		"a lower one is down, in order":         {true, func(y *play) { y.fail(plan.SourceSide, 0) }},
		"the destination's template was edited": {false, func(y *play) { y.State.Destination.Set.RolledOut = false }},
	} {
		t.Run(name, func(t *testing.T) {
			c := oneDisk
			c.Ordered = tc.ordered
			y := newPlay(t, c)
			y.until(plan.ScaleUp, 1)
			y.pass(lands)
			y.fail(plan.DestinationSide, 2)
			tc.also(y)
			y.setMode(api.ModeRollback)
			down := func(s step) bool { return s.kind != readies }
			for range 30 {
				y.machine.pass(y.p, y.fair())
				y.settle(down)
			}
			if !y.State.Source.Set.Has(2) || y.State.Destination.Set.Replicas > 0 {
				t.Fatalf("it was not taken back\n%s", y.story())
			}
		})
	}
}

// TestWhatHoldsIsShown (G4): the reported reason is the one that keeps the ordinal in place.
func TestWhatHoldsIsShown(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.fail(plan.SourceSide, 2)
	y.fail(plan.SourceSide, 0)
	if hold := y.holdOf(); hold.Reason != api.ReasonReplicaUnavailable || !strings.Contains(hold.Message, "web-0") {
		t.Errorf("got %+v", hold)
	}
}

// TestHeldBeforeTheStop (G5): a condition that would keep the ordinal down is waited for before its stop.
func TestHeldBeforeTheStop(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(v *plan.OrdinalVolume)
		reason string
	}{
		"M-082 another pod uses its claim": {func(v *plan.OrdinalVolume) { v.Source.Claim.Users = []string{"backup"} }, api.ReasonClaimInUse},
		"attached to another node": {func(v *plan.OrdinalVolume) {
			v.Source.Volume.Attachments = append(v.Source.Volume.Attachments, volumes.Attachment{Name: "csi-2", Node: "lost"})
		}, api.ReasonVolumeAttached},
		"the claim over there is used": {func(v *plan.OrdinalVolume) { v.Destination.Claim.Users = []string{"restore"} }, api.ReasonClaimInUse},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, oneDisk)
			y.until(plan.ScaleDown, 1)
			before := y.State.Volumes[2]
			tc.change(&y.State.Volumes[2])
			if hold := y.holdOf(); hold.Reason != tc.reason || !y.State.Source.Set.Has(2) {
				t.Errorf("got %+v", hold)
			}
			y.State.Volumes[2] = before
			y.end()
		})
	}
}

// TestBackFromWhereNothingWasCarried (G5): the ordinal was stopped, and something new holds its volume at the
// source. It can go back at once, because nothing was carried over and the other side has nothing of it.
func TestBackFromWhereNothingWasCarried(t *testing.T) {
	for name, change := range map[string]func(y *play){
		"another pod uses its claim": func(y *play) { y.State.Volumes[2].Source.Claim.Users = []string{"backup"} },
		"an attachment stays": func(y *play) {
			y.Attach(&y.State.Volumes[2], plan.SourceSide, []volumes.Attachment{{Name: "csi-2", Node: "lost"}})
		},
		"its controller waits for a lower one": func(y *play) { y.fail(plan.SourceSide, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			c := oneDisk
			c.Ordered = true
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.machine.pass(y.p, y.fair())
			change(y)
			down := func(s step) bool { return s.kind != readies && s.kind != detaches }
			y.settle(down)
			y.setMode(api.ModeRollback)
			for range 20 {
				y.machine.pass(y.p, y.fair())
				y.settle(down)
			}
			if !y.State.Source.Set.Has(2) {
				t.Fatalf("it was held down\n%s", y.story())
			}
		})
	}
}

// TestNamespaceIsNotMadeAgain (G10): a namespace that was deleted during the move is recreated only if the user
// has requested that.
func TestNamespaceIsNotMadeAgain(t *testing.T) {
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprintf("createNamespace %t", asked), func(t *testing.T) {
			c := oneDisk
			c.Spec.CreateNamespace = asked
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.deleteSet(plan.DestinationSide, false)
			y.State.Destination.NamespaceFound = false
			y.State.Destination.Budgets = nil
			if asked {
				y.end()
				return
			}
			if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonNamespaceMissing {
				t.Errorf("got %+v", hold)
			}
		})
	}
}

// TestRevertedBudget (G13): a writer that restores its own version of a PodDisruptionBudget, without the
// migration's mark, is named, and its write is not overwritten.
func TestRevertedBudget(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.putBack(plan.SourceSide, "flux")
	before := y.landed
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonForeignBudget || !strings.Contains(hold.Message, `"flux"`) || !strings.Contains(hold.Remedy, api.BudgetHandedOver) {
		t.Errorf("got %+v", hold)
	}
	y.stays(4)
	if y.landed != before {
		t.Error("it was fought")
	}
	budget := y.State.Source.Budgets[0]
	budget.HandedOver = true
	y.PutBudget(plan.SourceSide, &budget)
	y.settle(everyone)
	y.end()
}

// TestFenceByHand (G16): a fence with a number that no process would reach, or one that is merely ahead, does
// not block the migration forever.
func TestFenceByHand(t *testing.T) {
	for _, epoch := range []string{"9223372036854775807", "99999999999999999999", "7"} {
		t.Run(epoch, func(t *testing.T) {
			y := newPlay(t, oneDisk)
			y.until(plan.ScaleDown, 1)
			y.State.Source.Set.Fence = "migration." + epoch
			y.State.Source.Set.ResourceVersion = y.NewVersion()
			y.end()
		})
	}
}

// TestReservedInMidMove (G17): a slice of this project's kind that is told to skip an ordinal owns one more
// beyond its end, which runs on the other side.
func TestReservedInMidMove(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Slices: true})
	y.until(plan.ScaleDown, 2)
	y.State.Source.Set.Reserves, y.State.Source.Set.ReservesBy = true, "kubectl"
	before := y.landed
	if hold := y.holdOf(); !hold.Stalled || hold.Reason != api.ReasonForeignScale || !strings.Contains(hold.Message, "reserveOrdinals") || !strings.Contains(hold.Message, `"kubectl"`) {
		t.Errorf("got %+v", hold)
	}
	if y.landed != before {
		t.Error("it went on")
	}
	y.State.Source.Set.Reserves = false
	y.end()
}
