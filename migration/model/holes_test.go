package model

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
	"github.com/sliceshift/sliceshift/migration/internal/plantest"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Each test here is a hole that an adversarial reading has found in the invariants, by its
// number. The model finds each of them by itself when its mend is taken out.

// holdOf does a pass and returns what it waits for.
func (y *play) holdOf() plan.Hold {
	y.t.Helper()
	var decision plan.Decision
	for range 8 { // a claim of the fences comes first, and the budgets may be given back
		decision = y.machine.pass(y.p, y.fair())
		y.settleAll(func(s step) bool { return s.kind == budgets }, func() {})
	}
	if decision.Hold == nil {
		y.t.Fatalf("nothing holds: %+v\n%s", decision, y.story())
	}
	return *decision.Hold
}

// stays drives passes while nobody but the engine acts, and checks each.
func (y *play) stays(passes int) {
	y.t.Helper()
	for range passes {
		y.machine.pass(y.p, y.fair())
		y.verify()
	}
}

var oneDisk = plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}

// TestGiverWithoutItsSet (G1): somebody deletes the emptied StatefulSet of the giver while the
// pod of its last ordinal still runs. The ordinal is not started on the other side.
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

// deleteSet lets somebody delete a StatefulSet; its pods go with it unless they are orphaned.
func (y *play) deleteSet(name plan.SideName, orphaned bool) {
	side := y.State.Side(name)
	side.Set = plan.Set{Presence: plan.Absent, Name: side.Set.Name, Resource: side.Set.Resource}
	for i := range side.Pods {
		side.Pods[i].Owned, side.Pods[i].Terminating = false, side.Pods[i].Terminating || !orphaned
	}
}

// TestOrdinalsThatLostTheirDisks (G2): the destination's StatefulSet and its claims go, and the
// Released volume is swept; somebody writes the former values back, and the controller makes
// empty claims. Nothing more is stopped, nothing is completed, and the record of the disk at
// the source is kept.
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

// sweep takes an ordinal's claim and volume at the destination away and gives it a new, empty
// claim, with or without its StatefulSet.
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

// TestLastRecordIsKept (G2): the ordinals lose their disks when the migration has ended and
// cleans the source up: what is left of a disk there is not deleted.
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

// TestDestinationGone (G2): the StatefulSet that has taken ordinals is deleted: the stall says
// so, and says that it was its own.
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
	y.end() // it is on the disks that it had
}

// TestAnEmptyDestinationIsMadeAgain: nobody has anything to lose there yet.
func TestAnEmptyDestinationIsMadeAgain(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.deleteSet(plan.DestinationSide, false)
	y.end()
}

// TestRetainOfTheAuthor (G3): a volume that an earlier migration had noted as Delete, and that
// its owner has set to Retain since, is Retain at the end.
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

// TestDeletedAfterItWasSecured (G3): a Migration that is deleted between the securing of a volume
// and the first stop leaves its author's policy behind, for whoever moves it next.
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

// TestRollbackOfWhatIsDown (G4): an ordinal that is down at the destination goes back, whatever
// else is down or rolls out: that takes nothing from the application.
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

// TestWhatHoldsIsShown (G4): the reason is the one that keeps the ordinal where it is.
func TestWhatHoldsIsShown(t *testing.T) {
	y := newPlay(t, oneDisk)
	y.until(plan.ScaleDown, 1)
	y.fail(plan.SourceSide, 2)
	y.fail(plan.SourceSide, 0)
	if hold := y.holdOf(); hold.Reason != api.ReasonReplicaUnavailable || !strings.Contains(hold.Message, "web-0") {
		t.Errorf("got %+v", hold)
	}
}

// TestHeldBeforeTheStop (G5): what would hold the ordinal down is waited for before its stop.
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

// TestBackFromWhereNothingWasCarried (G5): the ordinal was stopped, and something that was not
// there before holds its volume at the source. It can go back at once: nothing was carried
// away, and nothing of it is on the other side.
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

// TestNamespaceIsNotMadeAgain (G10): a namespace that was deleted in mid-move is created again
// only where the user has asked for that.
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

// TestRevertedBudget (G13): a writer that puts its own version of a PodDisruptionBudget back,
// without the migration's mark, is not fought: it is named.
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

// TestFenceByHand (G16): a fence with a number that nobody counts up to, or with one that is
// merely ahead, keeps nobody out for ever.
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

// TestReservedInMidMove (G17): a slice of our own kind that is told to skip an ordinal owns one
// more beyond its end, which runs on the other side.
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
