package model

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// Each test here is a way in which the plan once broke an invariant.

func without(some ...kind) func(step) bool {
	return func(s step) bool { return !slices.Contains(some, s.kind) }
}

// evictAll evicts every pod that may be evicted, while only the disruption controller acts.
func (y *play) evictAll() int {
	y.t.Helper()
	evicted := 0
	for again := true; again; {
		again = false
		y.settle(func(s step) bool { return s.kind == budgets })
		for _, name := range plan.SideNames {
			for _, pod := range y.State.Side(name).Pods {
				if y.evict(name, pod.Ordinal) {
					evicted, again = evicted+1, true
					y.verify()
				}
			}
		}
	}
	return evicted
}

// TestNoEvictionBetweenScaleDownAndEndOfPod: the disruption controller expects the new number of replicas at
// once, while the pod still counts as healthy. With maxUnavailable 0 it then allows one eviction (I4).
func TestNoEvictionBetweenScaleDownAndEndOfPod(t *testing.T) {
	for name, c := range plays() {
		if c.Budget == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.machine.pass(y.p, y.fair())
			y.evictAll()
			y.settle(without(readies))
			y.end()
		})
	}
}

// TestOneBudgetAndASliceWithoutPods: under one PodDisruptionBudget, a slice whose only pod is missing for a
// moment is not expected to have one (I4).
func TestOneBudgetAndASliceWithoutPods(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{SameNamespace: true}})
	y.until(plan.ScaleUp, 1)
	y.setMode(api.ModePause)
	y.writes(6)
	if !y.evict(plan.DestinationSide, 3) {
		t.Fatalf("nothing can be evicted during a pause\n%s", y.story())
	}
	y.settle(without(controls, deletes))
	if n := y.evictAll(); n > 0 {
		t.Fatalf("%d more were evicted", n)
	}
}

// TestEvictedReplicasOutliveTheirShare: a replica that was evicted under a share is still down after the share
// has moved to the other slice (I4).
func TestEvictedReplicasOutliveTheirShare(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2)})
	y.until(plan.ScaleDown, 4)
	if n := y.evictAll(); n != 1 {
		t.Fatalf("%d were evicted at the destination", n)
	}
	slow := without(readies)
	y.settle(slow)
	y.setMode(api.ModeRollback)
	for range 40 {
		y.machine.pass(y.p, y.fair())
		y.settle(slow)
		y.evictAll()
	}
	y.settle(everyone)
	y.end()
}

// TestLateWrites: a process decides a write and stalls. Another process takes over, reverses the migration, and
// starts the ordinal where it came from. Then the write arrives (fences).
func TestLateWrites(t *testing.T) {
	clusters := plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}
	namespaces := clusters
	namespaces.Spec.SameCluster = true
	for name, tc := range map[string]struct {
		c     plantest.Scenario
		verb  plan.Verb
		times int
		// more is the number of writes by the other process until then.
		more int
		// harmless is true for a creation, which nothing can refuse.
		harmless bool
	}{
		"stop":                                 {clusters, plan.ScaleDown, 1, 2, false},
		"start":                                {clusters, plan.ScaleUp, 1, 9, false},
		"start, the other one has both fences": {clusters, plan.ScaleUp, 1, 3, false},
		"park":                                 {clusters, plan.Verb(volumes.Park), 1, 6, false},
		"create volume":                        {clusters, plan.Verb(volumes.CreateVolume), 1, 8, true},
		"point":                                {clusters, plan.Verb(volumes.Point), 1, 9, false},
		"create claim":                         {clusters, plan.Verb(volumes.CreateClaim), 1, 9, true},
		"point in one cluster":                 {namespaces, plan.Verb(volumes.Point), 1, 6, false},
		"create claim in one cluster":          {namespaces, plan.Verb(volumes.CreateClaim), 1, 7, true},
		"the second ordinal's park":            {clusters, plan.Verb(volumes.Park), 2, 6, false},
		"the second ordinal's start":           {clusters, plan.ScaleUp, 2, 9, false},
		"policy":                               {clusters, plan.RestorePolicy, 1, 9, false},
		"policy in one cluster":                {namespaces, plan.RestorePolicy, 1, 9, false},
		"budget in its author's form":          {clusters, plan.RestoreBudget, 1, 9, false},
		"growth of the budget":                 {clusters, plan.SetBudget, 3, 9, false},
		"release of the fence":                 {clusters, plan.ReleaseFence, 1, 0, false},
		"fence of an older epoch":              {clusters, plan.WriteFence, 1, 3, false},
		"reservation of the budget":            {clusters, plan.SetBudget, 1, 3, true},
		"StatefulSet of an older plan":         {clusters, plan.CreateSet, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, tc.c)
			late := y.until(tc.verb, tc.times)
			y.restart(y.p)
			y.setMode(api.ModeRollback)
			y.writes(tc.more)
			err := y.land(late, true)
			y.note("late: %s: %v", late, err)
			y.verify()
			if !tc.harmless && tc.more > 0 && !errors.Is(err, simulate.ErrConflict) {
				t.Errorf("%s was not refused\n%s", late, y.story())
			}
			y.end()
		})
	}
}

// TestUnansweredStop: the answer to a stop is lost, the gate closes, the handoff is dropped, and then the stop
// arrives. The ordinal would be down without a handoff.
func TestUnansweredStop(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	c := y.fair()
	c.fate = delayed
	y.machine.pass(y.p, c)
	y.fail(plan.SourceSide, 0)
	for range 8 {
		y.machine.pass(y.p, y.fair())
		y.settle(without(readies))
	}
	if err := y.land(y.late[0].effect, true); !errors.Is(err, simulate.ErrConflict) {
		t.Errorf("the stop was not refused: %v", err)
	}
	y.settle(everyone)
	y.end()
}

// TestUnansweredRecord: the record that drops a handoff is written and its answer is lost. The process still
// has the older record.
func TestUnansweredRecord(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	y.fail(plan.SourceSide, 0)
	c := y.fair()
	c.fate = unanswered
	y.machine.pass(y.p, c)
	y.settle(everyone)
	c.fate, c.stale = lands, true
	for range 3 {
		y.machine.pass(y.p, c)
		y.settle(everyone)
	}
	y.end()
}

// TestHandoffIsNotDroppedOnACache: the cache still shows the ordinal at its giver when a pause is observed.
func TestHandoffIsNotDroppedOnACache(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	before := y.Snapshot()
	y.pass(lands)
	y.setMode(api.ModePause)
	c := y.fair()
	c.cached = func() plan.Snapshot { return before }
	y.machine.pass(y.p, c)
	if y.State.Record.Handoff == nil {
		t.Fatalf("the handoff was dropped\n%s", y.story())
	}
	y.setMode(api.ModeRun)
	y.end()
}

// TestBudgetDoesNotGrowOnACache: the cache is from before the handoff began and shows a closed gate, which
// would restore the budget (I4).
func TestBudgetDoesNotGrowOnACache(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 1)
	y.setMode(api.ModePause)
	y.writes(2)
	y.fail(plan.SourceSide, 0)
	y.settle(without(readies))
	y.setMode(api.ModeRun)
	before, record := y.Snapshot(), *y.p
	y.settle(everyone)
	y.until(plan.ScaleDown, 1)
	y.pass(lands)
	y.machine.pass(&record, conditions{stale: true, cached: func() plan.Snapshot { return before }, between: func() {}})
	y.verify()
	y.end()
}

// TestLateDeletionOfAClaim: in one cluster, a claim loses its volume and gets it back before the binder has
// observed that. Its deletion was decided in between (I3).
func TestLateDeletionOfAClaim(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}, Spec: plan.Spec{SameCluster: true}})
	y.until(plan.ScaleUp, 1)
	y.pass(lands)
	y.setMode(api.ModeRollback)
	slow := without(binds)
	for range 40 {
		if next := y.next().Effect; next != nil && next.Verb == plan.DeleteClaim {
			t.Fatalf("a claim is deleted that the binder takes for bound\n%s", y.story())
		}
		y.machine.pass(y.p, y.fair())
		y.settle(slow)
	}
	y.settle(everyone)
	y.end()
}

// TestDeletionWithASmallerBudget: the migration may use less than the author allows. The budget is restored
// once, and not taken over again.
func TestDeletionWithASmallerBudget(t *testing.T) {
	one := pdb.Unavailable(1).MaxUnavailable
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{MaxUnavailable: one}})
	y.until(plan.ScaleDown, 1)
	y.State.Deleting = true
	y.version++
	y.end()
	y.quiet()
}

// TestNothingBegunNothingToReach: a Migration that has changed nothing can be deleted although a cluster does
// not answer, for any condition.
func TestNothingBegunNothingToReach(t *testing.T) {
	for name, record := range map[string]plan.Record{
		"new":                         {},
		"rolled back before it began": {Completed: api.ReasonRolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Scenario{Replicas: 1}.Build()
			s.Destination = plan.Side{Cluster: "west"}
			s.Deleting, s.Record = true, record
			if decision := planner.Plan(s); decision.Done == "" {
				t.Errorf("got %+v", decision)
			}
		})
	}
}

// TestFenceOfAnotherLife: a late write leaves a fence after a rollback, when the migration was about to begin
// again and was then rolled back again.
func TestFenceOfAnotherLife(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1})
	y.until(plan.WriteFence, 1)
	y.setMode(api.ModeRollback)
	y.end()
	y.setMode(api.ModeRun)
	y.pass(lands)
	set := y.State.Source.Set
	after := set.State()
	after.Fence = planner.Fence("migration", 1)
	if err := y.Apply(plan.Effect{Verb: plan.WriteFence, Side: plan.SourceSide, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion, After: after}); err != nil {
		t.Fatal(err)
	}
	y.setMode(api.ModeRollback)
	y.end()
}

// TestSourceIsKeptUntilTheEnd: nothing of the source is deleted while a rollback could need it (I8).
func TestSourceIsKeptUntilTheEnd(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{DeleteSource: true}})
	for y.State.Record.Completed == "" {
		if next := y.next().Effect; next != nil && next.Side == plan.SourceSide {
			if slices.Contains([]plan.Verb{plan.DeleteClaim, plan.DeleteVolume, plan.DeleteBudget, plan.DeleteSet}, next.Verb) {
				t.Fatalf("%s before the end", next)
			}
		}
		y.pass(lands)
	}
	y.end()
}

// TestSourceOfSomebodyElse: after the fence was released, the source does not belong to the migration any more,
// whatever its clean-up policy is changed to.
func TestSourceOfSomebodyElse(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1})
	y.end()
	y.State.Spec.DeleteSource = true
	y.quiet()
	if y.State.Source.Set.Presence != plan.Seen {
		t.Error("the source was deleted")
	}
}

// TestForeignScaleDownInAHandoff: another client scales down the ordinal whose handoff has begun, before its
// volume was secured. It is unknown whether the volume is still on the same disk, so nothing is
// carried over and the ordinal goes back (I3).
func TestForeignScaleDownInAHandoff(t *testing.T) {
	for name, spec := range map[string]plan.Spec{"between clusters": {}, "in one cluster": {SameCluster: true}} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Spec: spec})
			y.until(plan.SetBudget, 1)
			y.State.Source.Set.Replicas, y.State.Source.Set.Observed = 1, false
			y.State.Source.Set.ResourceVersion = y.NewVersion()
			y.settle(everyone)
			if hold := y.holdOf(); !hold.Stalled || hold.Reason != volumes.ReasonAnotherDisk {
				t.Errorf("got %+v", hold)
			}
			y.setMode(api.ModeRollback)
			y.end()
		})
	}
}

// TestRollbackOfAnOrdinalThatWasNeverSecured: another client scales down the ordinal whose handoff has begun,
// before its volume was secured, and the migration is rolled back. The volume is where it was, so the ordinal
// starts there again, and no mark remains (I8).
func TestRollbackOfAnOrdinalThatWasNeverSecured(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.SetBudget, 1)
	y.rescaled(plan.SourceSide, 0, 1)
	y.settle(everyone)
	y.setMode(api.ModeRollback)
	y.end()
}

// rescaled writes the range of a slice, as another client does.
func (y *play) rescaled(name plan.SideName, start, replicas int32) {
	set := &y.State.Side(name).Set
	set.Start, set.Replicas, set.Observed, set.ScalesBy = start, replicas, false, "argocd"
	set.ResourceVersion = y.NewVersion()
}

// TestStartedBeforeItsVolumeCame: another client scales the destination up while the ordinal is in flight, so
// its controller creates an empty claim. That is not taken for the migration's own step (I3, I9).
func TestStartedBeforeItsVolumeCame(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.Verb(volumes.Park), 1)
	y.rescaled(plan.DestinationSide, 1, 1)
	y.settleAll(everyone, func() {})
	claim := &y.State.Volumes[1].Destination.Claim
	claim.Volume, claim.Phase = "empty-one", corev1.ClaimBound
	pod, _ := y.State.Side(plan.DestinationSide).Pod(1)
	pod.Ready = true
	y.State.Side(plan.DestinationSide).SetPod(pod)
	next := y.next()
	if next.Hold == nil || !next.Hold.Stalled || next.Hold.Reason != api.ReasonForeignScale || !strings.Contains(next.Hold.Message, `"argocd"`) || !strings.Contains(next.Hold.Message, "without its volume") {
		t.Fatalf("got %+v", next)
	}
	y.rescaled(plan.DestinationSide, 2, 0)
	y.settleAll(everyone, func() {})
	y.writes(20)
	if next := y.next(); next.Hold == nil || next.Hold.Reason != volumes.ReasonForeignClaim {
		t.Fatalf("the empty claim is taken: %+v", next)
	}
	*claim = volumes.Claim{}
	y.end()
}

// TestStartedAgainWhereItsVolumeIsParked: another client scales the source up to the ordinal that has just left
// it. The handoff is not dropped, because nothing else would return the ordinal's volume. It continues after
// that change is reversed (I6).
func TestStartedAgainWhereItsVolumeIsParked(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.Verb(volumes.CreateVolume), 1)
	y.rescaled(plan.SourceSide, 0, 2)
	for range 4 {
		decision := y.machine.pass(y.p, y.fair())
		if decision.Hold == nil || decision.Hold.Reason != api.ReasonForeignScale {
			t.Fatalf("got %+v", decision)
		}
	}
	y.settleAll(everyone, func() {})
	y.rescaled(plan.SourceSide, 0, 1)
	y.settleAll(everyone, func() {})
	y.end()
}

// TestTurnedTwiceWhileItComesUp: the last ordinal was started, and before its controller has observed that, the
// mode is Rollback and then Run again. The migration does not end before the ordinal is available.
func TestTurnedTwiceWhileItComesUp(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair())
	behind := func(s step) bool { return s.side != plan.DestinationSide || s.kind == budgets }
	for _, mode := range []api.Mode{api.ModeRollback, api.ModeRun} {
		y.setMode(mode)
		for range 12 {
			y.machine.pass(y.p, y.fair())
			y.settle(behind)
		}
	}
	if y.State.Record.Completed != "" {
		t.Fatalf("it has ended before the ordinal came up\n%s", y.story())
	}
	y.settle(everyone)
	y.end()
}

// TestAPodThatIsGoneIsCountedOut: the disruption controller has not yet observed that the pod of the last
// handoff has ended. It still grants the eviction that its budget allowed with that pod. The next ordinal waits
// (I4).
func TestAPodThatIsGoneIsCountedOut(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 4, Budget: pdbtest.MaxUnavailable(2)})
	y.until(plan.ScaleDown, 3)
	for range 20 {
		y.machine.pass(y.p, y.fair())
		y.settle(func(s step) bool { return s.side != plan.SourceSide || s.kind != budgets })
	}
	y.settle(everyone)
	y.end()
}

// TestEvictionThatTheWatchHasNotToldOf: a replica was evicted, and the watch of pods does not show that. Before
// another one is stopped, the pods are listed (I4, I5).
func TestEvictionThatTheWatchHasNotToldOf(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.SetBudget, 1)
	pods := y.Snapshot().Source.Pods
	if !y.evict(plan.SourceSide, 0) {
		t.Fatal("nothing can be evicted")
	}
	c := y.fair()
	c.cached = func() plan.Snapshot {
		s := y.Snapshot()
		s.Source.Pods = pods
		return s
	}
	y.settle(without(controls, deletes))
	for range 6 {
		y.machine.pass(y.p, c)
		y.settle(without(controls, deletes))
	}
	y.end()
}

// TestSourceThatRunsAgainIsNotCleanedUp: another client scales the source up again after the end. Its claims
// are not deleted while its pods run.
func TestSourceThatRunsAgainIsNotCleanedUp(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}, Spec: plan.Spec{DeleteSource: true}})
	y.until(plan.DeleteClaim, 1)
	y.rescaled(plan.SourceSide, 0, 1)
	for range 10 {
		y.machine.pass(y.p, y.fair())
	}
	if !y.State.Volumes[0].Source.Claim.Found || y.State.Volumes[0].Source.Claim.Terminating {
		t.Error("its claim was deleted")
	}
}

// TestDestinationThatHasPodsIsNotDeleted: another client has scaled the destination up and down again during a
// rollback. The StatefulSet is deleted after its pods have ended.
func TestDestinationThatHasPodsIsNotDeleted(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1})
	y.until(plan.ScaleDown, 1)
	y.setMode(api.ModeRollback)
	y.until(plan.DeleteSet, 1)
	y.State.Side(plan.DestinationSide).SetPod(plan.Pod{Ordinal: 0, UID: "foreign", Owned: true, Terminating: true})
	if next := y.next(); next.Hold == nil || next.Hold.Reason != api.ReasonPodTerminating {
		t.Fatalf("got %+v", next)
	}
	y.Gone(plan.DestinationSide, 0)
	y.end()
}

// TestWhoHasNotHeardOfTheTakeover: a process that still has the record of an older epoch reads the current
// StatefulSets, with the fence of the newer one. It must not replace that fence and stop an ordinal of which
// the other process does not know (fences).
func TestWhoHasNotHeardOfTheTakeover(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	y.setMode(api.ModePause)
	other := y.newProcess()
	for range 12 {
		y.machine.pass(other, y.fair())
		y.settle(everyone)
	}
	c := y.fair()
	c.stale = true
	before := y.landed
	for range 4 {
		if decision := y.machine.pass(y.p, c); decision.Effect != nil || y.State.Record.Fence.Holder != other.Holder {
			t.Errorf("got %+v, held by %s", decision, y.State.Record.Fence.Holder)
		}
	}
	if y.landed > before {
		t.Errorf("it wrote %d times", y.landed-before)
	}
	c.stale = false
	if decision := y.machine.pass(y.p, c); decision.Hold == nil || decision.Hold.Reason != api.ReasonSuperseded {
		t.Errorf("once it has heard of it: %+v", decision)
	}
	y.setMode(api.ModeRun)
	y.p = other
	y.end()
}

// TestLostRecord: the record was lost, and the fences have later epochs than it knows.
func TestLostRecord(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.SetBudget, 1)
	for _, name := range plan.SideNames {
		y.State.Side(name).Set.Fence = planner.Fence("migration", 7)
	}
	y.restart(y.p)
	y.end()
}

// TestWhoHasNotHeardOfTheEnd: a process still has the record of a handoff after another one has rolled back,
// ended and removed the fences. It does not write them again.
func TestWhoHasNotHeardOfTheEnd(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1})
	y.until(plan.ScaleDown, 1)
	y.setMode(api.ModeRollback)
	other := y.newProcess()
	y.finish(other, y.verify)
	before := y.landed
	c := y.fair()
	c.stale = true
	for range 8 {
		y.machine.pass(y.p, c)
		y.settle(everyone)
	}
	if y.landed != before {
		t.Errorf("it writes\n%s", y.story())
	}
	y.p = other
	y.end()
}

// TestEvictedWhileTheBudgetsShrink: a replica of the other slice was evicted after its share of the budget was
// removed. The one eviction that is still allowed counts: the ordinal is not stopped (I4).
func TestEvictedWhileTheBudgetsShrink(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(2)})
	y.until(plan.ScaleUp, 1)
	y.pass(lands)
	y.setMode(api.ModePause)
	y.quietly(20)
	y.setMode(api.ModeRun)
	for shrunk := y.until(plan.SetBudget, 1); shrunk.Side == plan.SourceSide; shrunk = y.until(plan.SetBudget, 1) {
		y.pass(lands)
	}
	if !y.evict(plan.DestinationSide, 2) {
		t.Fatalf("ordinal 2 cannot be evicted\n%s", y.story())
	}
	slow := without(readies)
	for range 10 {
		y.machine.pass(y.p, y.fair())
		y.settle(slow)
	}
	y.settle(everyone)
	y.end()
}

// TestClaimAndVolumeInUseAreKept: at the end, another client has pointed a volume of the source at its claim
// again, or at another one. Neither is deleted (I3).
func TestClaimAndVolumeInUseAreKept(t *testing.T) {
	for verb, point := range map[plan.Verb]func(volumes.Holding) volumes.Ref{
		plan.DeleteClaim: func(h volumes.Holding) volumes.Ref {
			return volumes.Ref{Namespace: h.Ref.Namespace, Name: h.Ref.Name, UID: h.Claim.UID}
		},
		plan.DeleteVolume: func(h volumes.Holding) volumes.Ref {
			return volumes.Ref{Namespace: h.Ref.Namespace, Name: "of-another"}
		},
	} {
		y := newPlay(t, plantest.Scenario{Replicas: 1, Templates: []string{"data"}, Spec: plan.Spec{DeleteSource: true}})
		y.until(verb, 1)
		v := &y.State.Volumes[0]
		volume := v.Source.Volume
		volume.ClaimRef = point(v.Source)
		if verb == plan.DeleteClaim {
			v.Source.Claim.Phase = corev1.ClaimBound
		}
		y.PutVolume(v, plan.SourceSide, volume)
		if next := y.next(); next.Effect != nil && (next.Effect.Verb == plan.DeleteClaim || next.Effect.Verb == plan.DeleteVolume) {
			t.Errorf("%s: %+v is pointed at %+v", next.Effect, v.Source.Claim, volume.ClaimRef)
		}
	}
}

// TestDeletedMigrationDeletesNothing: a Migration that is deleted before its end was requested to clean up the
// source at its end, which this is not (I8, I9).
func TestDeletedMigrationDeletesNothing(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Spec: plan.Spec{DeleteSource: true}})
	y.until(plan.ScaleDown, 2)
	y.State.Deleting = true
	y.version++
	y.end()
	for _, v := range y.State.Volumes {
		if !v.Source.Claim.Found || !v.Source.Volume.Found {
			t.Errorf("of ordinal %d the source has %+v", v.Ordinal, v.Source)
		}
	}
}

// TestLateRemovalOfAName: the migration was reversed while the removal of an ordinal's export at the giver was
// in flight. The ordinal moved back to where its name still was, then the removal arrived, and clients lost the
// name permanently. The name to which an ordinal moves back is therefore marked first.
func TestLateRemovalOfAName(t *testing.T) {
	for _, verb := range []plan.Verb{plan.DeletePodExport, plan.DeletePodService} {
		t.Run(string(verb), func(t *testing.T) {
			y := newPlay(t, plantest.Scenario{Replicas: 1, Spec: plan.Spec{NameOrdinals: true}})
			late := y.until(verb, 1)
			y.setMode(api.ModeRollback)
			y.end()
			if err := y.land(late, true); err == nil {
				t.Errorf("%s arrives, and the ordinal has no name any more\n%s", late, y.story())
			}
		})
	}
}

// TestBudgetThatLeavesOut: a budget that selects some of the pods is refused before the move, and holds the
// gate during the move until it selects all of them or none (G13).
func TestBudgetThatLeavesOut(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}
	s := c.Build()
	s.Source.Budgets[0].LeavesOut = "pod web-1"
	refused := planner.Plan(s).Hold
	for name, change := range map[string]func(*plan.Snapshot, string){
		"the source's":      func(s *plan.Snapshot, pod string) { s.Source.Budgets[0].LeavesOut = pod },
		"the destination's": func(s *plan.Snapshot, pod string) { s.Destination.Budgets[0].LeavesOut = pod },
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 2)
			change(&y.State, "pod web-1")
			y.version++
			y.writes(enough)
			for _, hold := range []*plan.Hold{refused, y.next().Hold} {
				if hold == nil || !hold.Stalled || hold.Reason != api.ReasonBudgetLeavesOut || !strings.Contains(hold.Message, "not pod web-1") || !strings.Contains(hold.Remedy, "kubectl edit pdb") {
					t.Errorf("got %+v", hold)
				}
			}
			change(&y.State, "")
			y.version++
			y.end()
		})
	}
}

// TestOwnedClaimsStay: a StatefulSet that owns claims is deleted without them (G7), and one that owns none is
// deleted together with its ControllerRevisions.
func TestOwnedClaimsStay(t *testing.T) {
	for name, tc := range map[string]struct {
		owns []string
		want metav1.DeletionPropagation
	}{
		"none":                    {nil, metav1.DeletePropagationBackground},
		"one beyond the replicas": {[]string{"data-web-7"}, metav1.DeletePropagationOrphan},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Spec: plan.Spec{DeleteSource: true}})
			y.until(plan.DeleteSet, 1)
			y.State.Source.Set.OwnsClaims = tc.owns
			if next := y.next(); next.Effect == nil || next.Effect.Verb != plan.DeleteSet || next.Effect.Propagation != tc.want {
				t.Errorf("the source: got %+v, want %s", next.Effect, tc.want)
			}
			y = newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}})
			y.until(plan.ScaleDown, 1)
			y.State.Spec.Mode = api.ModeRollback
			y.version++
			y.until(plan.DeleteSet, 1)
			y.State.Destination.Set.OwnsClaims = tc.owns
			if next := y.next(); next.Effect == nil || next.Effect.Side != plan.DestinationSide || next.Effect.Propagation != tc.want {
				t.Errorf("the destination: got %+v, want %s", next.Effect, tc.want)
			}
		})
	}
}

// TestSimulateIsWhatHappens compares a dry run with a run without faults. Both do the same writes in the same
// order, no more replicas are down than the budget allows, and the input is not changed.
func TestSimulateIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		s := c.Build()
		before := s.Clone()
		result := simulate.Run(s)
		if diff := cmp.Diff(before, s); diff != "" {
			t.Fatalf("the dry run has changed what it was given:\n%s", diff)
		}
		if result.Outcome != api.ReasonMoved || result.Held != nil {
			t.Fatalf("it ends with %q, held by %+v", result.Outcome, result.Held)
		}
		if n := c.Replicas - result.Fewest; n > 1 {
			t.Fatalf("%d replicas are down at once", n)
		}
		m := newMachine(s)
		p := m.newProcess()
		var happened []string
		for range enough {
			m.settleAll(everyone, func() {})
			decision := m.pass(p, conditions{cached: m.Snapshot, between: func() {}})
			if decision.Done != "" {
				break
			}
			if decision.Effect != nil {
				happened = append(happened, decision.Effect.String())
			}
			m.State.Now = m.State.Now.Add(decision.Wait)
		}
		planned := make([]string, 0, len(result.Steps))
		for _, step := range result.Steps {
			planned = append(planned, step.Description)
		}
		if diff := cmp.Diff(happened, planned, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("what happens (-) is not what was planned (+):\n%s", diff)
		}
	})
}
