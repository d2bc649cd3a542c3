package model

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestForeignWriters: another client changes an object that the migration owns. The migration stalls with a
// reason, writes nothing (I9), and continues without an action after the change is reversed (I6).
func TestForeignWriters(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Service: true, Spec: plan.Spec{Export: true}}
	for name, tc := range map[string]struct {
		// verb and n identify the write before which the change happens: the n-th one of this verb.
		verb   plan.Verb
		n      int
		change func(s *plan.Snapshot)
		reason string
		says   string
	}{
		"source scaled up":                  {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Source.Set.Replicas += 2; s.Source.Set.ScalesBy = "hpa" }, api.ReasonForeignScale, `"hpa"`},
		"the stopped ordinal started again": {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Source.Set.Replicas++ }, api.ReasonForeignScale, "is without its volume"},
		"source scaled down":                {plan.SetBudget, 1, func(s *plan.Snapshot) { s.Source.Set.Replicas -= 2 }, api.ReasonForeignScale, "another writer"},
		"source moved":                      {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Source.Set.Start++ }, api.ReasonForeignScale, "instead of [0,2)"},
		"destination scaled up":             {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Destination.Set.Replicas++; s.Destination.Set.ScalesBy = "argocd" }, api.ReasonForeignScale, `"argocd"`},
		"destination moved":                 {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Destination.Set.Start-- }, api.ReasonForeignScale, "instead of [2,3)"},
		"destination scaled to nothing":     {plan.ScaleDown, 3, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }, api.ReasonForeignScale, "1 and 0 ordinals of 3"},
		"source replaced":                   {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Set.UID, s.Source.Set.YoungClaim = "another", "data-web-0" }, api.ReasonSourceReplaced, "created again"},
		"source deleted":                    {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Set = plan.Set{Presence: plan.Absent, Name: "web"} }, api.ReasonSourceMissing, "does not exist"},
		"source being deleted":              {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Set.Terminating = true }, api.ReasonSourceBeingDeleted, "being deleted"},
		"destination being deleted":         {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }, api.ReasonDestinationDeleted, "being deleted"},
		"source fenced":                     {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Set.Fence = "another.7" }, api.ReasonHeldByAnother, "another"},
		"destination fenced":                {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Destination.Set.Fence = "another.7" }, api.ReasonHeldByAnother, "another"},
		"budget edited":                     {plan.ScaleDown, 2, func(s *plan.Snapshot) { revertBudget(&s.Source, "kubectl") }, api.ReasonForeignBudget, `"kubectl"`},
		"destination's budget edited":       {plan.ScaleDown, 1, func(s *plan.Snapshot) { revertBudget(&s.Destination, "helm") }, api.ReasonForeignBudget, `"helm"`},
		"a second budget":                   {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "more"}) }, api.ReasonSeveralBudgets, "more"},
		"budget deleted":                    {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Budgets = nil }, api.ReasonForeignBudget, "does not exist any more"},
		"export in conflict":                {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Destination.Export.Conflict = "another port" }, api.ReasonExportConflict, "another port"},
		"export not valid":                  {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.Export.Invalid = "no such Service" }, api.ReasonExportInvalid, "no such Service"},
		"claim of the destination replaced": {plan.Verb(volumes.CreateClaim), 1, func(s *plan.Snapshot) {
			s.Volumes[2].Destination.Claim = volumes.Claim{Found: true, UID: "x", Volume: "another"}
		}, volumes.ReasonForeignClaim, "another disk"},
		"volume taken by somebody": {plan.Verb(volumes.Park), 1, func(s *plan.Snapshot) {
			s.Volumes[2].Source.Volume.ClaimRef = volumes.Ref{Namespace: "x", Name: "y"}
		}, volumes.ReasonForeignVolume, "x/y"},
		"destination's address leads elsewhere": {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Destination.ClusterID = "elsewhere" }, api.ReasonClusterReplaced, "elsewhere instead of cluster-west"},
		"source's address leads elsewhere":      {plan.ScaleDown, 2, func(s *plan.Snapshot) { s.Source.ClusterID = "elsewhere" }, api.ReasonClusterReplaced, "cluster east"},
		"source unreachable":                    {plan.ScaleUp, 1, func(s *plan.Snapshot) { s.Source.Reach, s.Source.ReachError = plan.Unreachable, "i/o timeout" }, api.ReasonClusterUnreachable, "i/o timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(tc.verb, tc.n)
			before := y.Snapshot()
			tc.change(&y.State)
			after := y.Snapshot()
			for _, s := range []plan.Snapshot{y.p.through(after), focused(y.p.through(after), planner.Reads{Ordinal: new(int32(2))})} {
				s.Record = y.State.Record
				decision := planner.Plan(s)
				if decision.Effect != nil || decision.Record != nil || decision.Done != "" {
					t.Fatalf("got %+v, want a hold", decision)
				}
				if hold := decision.Hold; !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) {
					t.Errorf("got %+v, want %s that says %q", *hold, tc.reason, tc.says)
				}
			}
			y.State = before
			y.end()
		})
	}
}

// TestStoppedOrdinalComesFirst: a change that waits for another client does not keep an ordinal in flight down.
func TestStoppedOrdinalComesFirst(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Service: true, Spec: plan.Spec{Export: true}}
	for name, change := range map[string]func(s *plan.Snapshot){
		"budget edited":      func(s *plan.Snapshot) { revertBudget(&s.Source, "kubectl") },
		"a second budget":    func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "more"}) },
		"export in conflict": func(s *plan.Snapshot) { s.Source.Export.Conflict = "another port" },
		"deleted": func(s *plan.Snapshot) {
			s.Deleting = true
			revertBudget(&s.Source, "kubectl")
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(plan.ScaleDown, 1)
			y.pass(lands)
			change(&y.State)
			y.version++
			y.grace = true // a budget that others write is not the migration's fault
			y.until(plan.ScaleUp, 1)
		})
	}
}

// TestDeletedWithForeignChanges: a Migration that is being deleted and cannot safely do anything releases both
// StatefulSets.
func TestDeletedWithForeignChanges(t *testing.T) {
	for name, change := range map[string]func(s *plan.Snapshot){
		"scaled": func(s *plan.Snapshot) { s.Source.Set.Replicas += 2 },
		"missing": func(s *plan.Snapshot) {
			s.Source.Set, s.Source.Pods = plan.Set{Presence: plan.Absent, Name: "web"}, nil
		},
		"budget": func(s *plan.Snapshot) { revertBudget(&s.Source, "kubectl") },
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
			y.until(plan.ScaleDown, 2)
			change(&y.State)
			y.State.Deleting = true
			y.version++
			y.writes(enough)
			if last := y.next(); last.Done != api.ReasonReleased {
				t.Errorf("got %+v", last)
			}
			for _, name := range plan.SideNames {
				if fence := y.State.Side(name).Set.Fence; fence != "" {
					t.Errorf("the %s has the fence %s", name, fence)
				}
			}
		})
	}
}

// TestPreflightFindings: the findings that refuse a migration before its first write.
func TestPreflightFindings(t *testing.T) {
	c := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Prepared: true}
	names := c
	names.Spec.SameNamespace = true
	for name, tc := range map[string]struct {
		c      plantest.Scenario
		change func(s *plan.Snapshot)
		reason string
	}{
		"another form at the destination":    {c, func(s *plan.Snapshot) { s.Destination.Budgets[0].Form = pdb.Available(2) }, api.ReasonForeignBudget},
		"a budget at the destination only":   {c, func(s *plan.Snapshot) { s.Source.Budgets = nil }, api.ReasonForeignBudget},
		"one budget that selects one of two": {names, func(s *plan.Snapshot) { s.Destination.Budgets = nil }, api.ReasonForeignBudget},
		"two budgets in one namespace":       {names, func(s *plan.Snapshot) { s.Destination.Budgets[0].UID = "another" }, api.ReasonForeignBudget},
		"a budget of others, too":            {c, func(s *plan.Snapshot) { s.Source.Budgets[0].Covers = "job-1" }, api.ReasonBudgetCoversOthers},
		"a budget's name that is taken": {c, func(s *plan.Snapshot) {
			s.Destination.Budgets, s.Destination.OtherBudgets = nil, []string{s.Source.Budgets[0].Name}
		}, api.ReasonForeignBudget},
		"several budgets":                    {c, func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "more"}) }, api.ReasonSeveralBudgets},
		"source missing":                     {c, func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent }, api.ReasonSourceMissing},
		"source being deleted":               {c, func(s *plan.Snapshot) { s.Source.Set.Terminating = true }, api.ReasonSourceBeingDeleted},
		"source fenced":                      {c, func(s *plan.Snapshot) { s.Source.Set.Fence = "another.1" }, api.ReasonHeldByAnother},
		"destination fenced":                 {c, func(s *plan.Snapshot) { s.Destination.Set.Fence = "another.1" }, api.ReasonHeldByAnother},
		"claims deleted on scale-down":       {c, func(s *plan.Snapshot) { s.Source.Set.DeletesClaims = true }, api.ReasonClaimsDeletedOnScale},
		"not observed":                       {c, func(s *plan.Snapshot) { s.Source.Set.Observed = false }, api.ReasonRolloutInProgress},
		"not rolled out":                     {c, func(s *plan.Snapshot) { s.Source.Set.RolledOut = false }, api.ReasonRolloutInProgress},
		"a replica not available":            {c, func(s *plan.Snapshot) { s.Source.Pods[1].Ready = false }, api.ReasonSourceNotHealthy},
		"a replica missing":                  {c, func(s *plan.Snapshot) { s.Source.Pods = s.Source.Pods[:2] }, api.ReasonSourceNotHealthy},
		"a replica not its own":              {c, func(s *plan.Snapshot) { s.Source.Pods[0].Owned = false }, api.ReasonSourceNotHealthy},
		"namespace missing":                  {c, func(s *plan.Snapshot) { s.Destination.NamespaceFound = false }, api.ReasonNamespaceMissing},
		"destination is the source":          {c, func(s *plan.Snapshot) { s.Destination.Set.UID = s.Source.Set.UID }, api.ReasonSameStatefulSet},
		"destination not empty":              {c, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 1 }, api.ReasonDestinationNotEmpty},
		"destination being deleted":          {c, func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }, api.ReasonDestinationDeleted},
		"a pod at the destination":           {c, func(s *plan.Snapshot) { s.Destination.Pods = []plan.Pod{{Ordinal: 1}} }, api.ReasonDestinationPodFound},
		"a foreign claim at the destination": {c, func(s *plan.Snapshot) { s.Volumes[0].Destination.Claim = volumes.Claim{Found: true, Volume: "another"} }, volumes.ReasonForeignClaim},
		"a claim without a volume":           {c, func(s *plan.Snapshot) { s.Volumes[0].Source.Volume = volumes.Volume{} }, volumes.ReasonVolumeLost},
		"what only the observer sees":        {c, func(s *plan.Snapshot) { s.Preflight = []plan.Finding{{Reason: api.ReasonAutoscaled}} }, api.ReasonAutoscaled},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.c.Build()
			tc.change(&s)
			decision := planner.Plan(s)
			if decision.Record != nil || decision.Effect != nil || decision.Hold == nil || !decision.Hold.Stalled || decision.Hold.Reason != tc.reason {
				t.Errorf("got %+v, want to be held by %s", decision, tc.reason)
			}
			if len(decision.Findings) == 0 || decision.Hold.Remedy == "" && tc.reason != api.ReasonSourceBeingDeleted && tc.reason != api.ReasonDestinationDeleted && tc.reason != api.ReasonAutoscaled {
				t.Errorf("no findings or no remedy: %+v", decision)
			}
		})
	}
	warned := c.Build()
	warned.Preflight = []plan.Finding{{Reason: api.ReasonAutoscaled, Warning: true}}
	if decision := planner.Plan(warned); decision.Record == nil || len(decision.Findings) != 1 {
		t.Errorf("a warning refuses: %+v", decision)
	}
}

// TestOneOfTwoProcesses: a superseded process writes nothing any more.
func TestOneOfTwoProcesses(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 3, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	other := y.newProcess()
	for range 4 {
		y.machine.pass(other, y.fair())
	}
	decision := y.machine.pass(y.p, y.fair())
	if decision.Hold == nil || decision.Hold.Reason != api.ReasonSuperseded || !decision.Hold.Stalled {
		t.Errorf("got %+v", decision)
	}
	y.p = other
	y.end()
}

// TestDeadline: a wait becomes a stall after the deadline, and ends with its cause (I6).
func TestDeadline(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleDown, 1)
	y.machine.pass(y.p, y.fair())
	stuck := func(s step) bool { return s.kind != ends }
	y.settle(stuck)
	decision := y.next()
	if decision.Hold == nil || decision.Hold.Stalled || decision.Hold.Reason != api.ReasonPodTerminating || decision.Wait != y.State.Spec.Deadline || decision.Step != api.StepAwaitRelease {
		t.Fatalf("got %+v", decision)
	}
	handoff := *y.State.Record.Handoff
	handoff.Step, handoff.StepTime = api.StepAwaitRelease, metav1.NewMicroTime(y.State.Now)
	y.State.Record.Handoff = &handoff
	y.State.Now = y.State.Now.Add(y.State.Spec.Deadline)
	decision = y.next()
	if !decision.Hold.Stalled || decision.Hold.Reason != api.ReasonPodTerminating || decision.Hold.Remedy == "" || !strings.Contains(decision.Hold.Message, "longer than 10m") {
		t.Fatalf("got %+v", decision)
	}
	y.settle(everyone)
	y.end()
}

// TestBinderIsCalledAgain: a claim that the binder saw before its volume is touched again after 1, 2, 4 and 8
// s, and then no more.
func TestBinderIsCalledAgain(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.Verb(volumes.CreateClaim), 1)
	y.machine.pass(y.p, y.fair())
	began := y.State.Now
	handoff := *y.State.Record.Handoff
	handoff.Step, handoff.StepTime = api.StepCarryVolumes, metav1.NewMicroTime(began)
	y.State.Record.Handoff = &handoff
	for n, after := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		y.State.Now = began.Add(after - time.Millisecond)
		if decision := y.next(); decision.Hold == nil || decision.Hold.Reason != api.ReasonVolumeUnbound || decision.Wait != time.Millisecond {
			t.Fatalf("before call %d: %+v", n+1, decision)
		}
		y.State.Now = began.Add(after)
		decision := y.next()
		if decision.Effect == nil || decision.Effect.Volume.Verb != volumes.MarkClaim || decision.Effect.Volume.Calls != n+1 {
			t.Fatalf("call %d: %+v", n+1, decision)
		}
		if err := y.Apply(*decision.Effect); err != nil {
			t.Fatal(err)
		}
	}
	y.State.Now = began.Add(time.Minute)
	if decision := y.next(); decision.Hold == nil || decision.Hold.Stalled || decision.Wait != 9*time.Minute {
		t.Fatalf("after the last call: %+v", decision)
	}
	y.settle(everyone)
	y.end()
}

// TestMinReady: the next ordinal waits until the last one has been Ready for minReadySeconds, and reports when
// that will be.
func TestMinReady(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 2, Spec: plan.Spec{MinReady: time.Minute}})
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair())
	y.settle(everyone)
	decision := y.next()
	if decision.Hold == nil || decision.Hold.Stalled || decision.Hold.Reason != api.ReasonMinReady || decision.Wait <= 0 || decision.Wait > time.Minute {
		t.Fatalf("got %+v", decision)
	}
	y.State.Now = y.State.Now.Add(decision.Wait)
	if decision := y.next(); decision.Record == nil {
		t.Fatalf("got %+v", decision)
	}
	y.end()
}

// TestTwiceWhilePaused: another writer starts an ordinal a second time while the move is paused. The move
// withdraws its own start once (I1). A pause does not make it forget that.
func TestTwiceWhilePaused(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 1, Budget: pdbtest.MaxUnavailable(1)})
	y.until(plan.ScaleUp, 1)
	y.machine.pass(y.p, y.fair())
	y.setMode(api.ModePause)
	y.rescaled(plan.SourceSide, 0, 1)
	for y.State.Record.StartWithdrawn == nil {
		y.machine.pass(y.p, y.fair())
		y.settleAll(everyone, func() {})
	}
	unread := y.p.through(y.Snapshot())
	unread.Destination = plan.Side{Cluster: "west", Reach: plan.Unreachable}
	if next := planner.Plan(unread).Record; next != nil && next.StartWithdrawn == nil {
		t.Error("it forgets a start that it cannot see to be taken back")
	}
	for range enough {
		y.machine.pass(y.p, y.fair())
		y.settleAll(everyone, func() {})
	}
	if y.State.Destination.Set.Replicas > 0 || y.State.Record.Handoff != nil {
		t.Errorf("it runs twice\n%s", y.story())
	}
	y.quiet()
}
