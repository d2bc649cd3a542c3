package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestSimulate compares whole dry runs with their golden step logs: the reviewable specification of the writes and
// their order.
func TestSimulate(t *testing.T) {
	one := []string{"data"}
	tests := map[string]plantest.Scenario{
		"clusters":       {Replicas: 3, Templates: one, Budget: pdbtest.MaxUnavailable(1)},
		"namespaces":     {Replicas: 2, Templates: one, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{SameCluster: true}},
		"same-namespace": {Replicas: 2, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{SameNamespace: true}},
		"lowest-first":   {Replicas: 2, Start: 1, Templates: one, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{Order: api.LowestFirst}},
		"part":           {Replicas: 4, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 1}},
		"bare":           {Replicas: 2},
		"two-claims":     {Replicas: 2, Templates: []string{"data", "wal"}, Budget: pdbtest.MaxUnavailable(2)},
		"delete-source":  {Replicas: 1, Templates: one, Budget: pdbtest.MaxUnavailable(1), Spec: plan.Spec{DeleteSource: true}},
		"exports":        {Replicas: 2, Service: true, Prepared: true, Spec: plan.Spec{DeleteSource: true, Export: true}},
		"empty":          {Replicas: 2, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodEmpty, Spec: plan.Spec{DeleteSource: true}},
		"empty-nearby":   {Replicas: 1, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodEmpty, Spec: plan.Spec{SameCluster: true, DeleteSource: true}},
		"copy":           {Replicas: 2, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodCopy, Spec: plan.Spec{DeleteSource: true}},
		"copy-nearby":    {Replicas: 1, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodCopy, Spec: plan.Spec{SameCluster: true}},
		"snapshot":       {Replicas: 2, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodSnapshot, Spec: plan.Spec{DeleteSource: true}},
		"snapshot-near":  {Replicas: 1, Templates: one, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodSnapshot, Spec: plan.Spec{SameCluster: true}},
		"budget-of-two":  {Replicas: 5, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 3}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) { golden.Compare(t, name+".golden", steps(Run(c.Build()))) })
	}
}

// TestSimulateMidway begins after another process has stopped, and after a rollback of a migration that runs
// again.
func TestSimulateMidway(t *testing.T) {
	w := NewWorld(plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}.Build())
	drive(t, w, func(d plan.Decision) bool { return d.Effect != nil && d.Effect.Verb == plan.ScaleUp })
	golden.Compare(t, "taken-over.golden", steps(Run(w.Snapshot())))
	w.State.Spec.Mode = api.ModeRollback
	drive(t, w, func(d plan.Decision) bool { return d.Done != "" })
	w.State.Spec.Mode = api.ModeRun
	golden.Compare(t, "run-again.golden", steps(Run(w.Snapshot())))
}

// TestSimulateEmptyBack returns ordinals to the volumes that they left if a user has confirmed that, and otherwise
// stalls.
func TestSimulateEmptyBack(t *testing.T) {
	scenario := plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodEmpty}
	for name, said := range map[string]bool{"empty-back": true, "empty-back-unsaid": false} {
		t.Run(name, func(t *testing.T) {
			s := halfSimulated(t, scenario, plan.ScaleUp, 2).Snapshot()
			s.Spec.Mode = api.ModeRollback
			for i := range s.Volumes {
				s.Volumes[i].Word.ReturnsToKept = said
			}
			golden.Compare(t, name+".golden", steps(Run(s)))
		})
	}
}

// TestSimulateCopyBack changes the direction at every write of a copy, and after the start. The ordinal returns to
// its former volume if the copy was not taken over, and otherwise by another copy.
func TestSimulateCopyBack(t *testing.T) {
	turnsBack(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodCopy})
}

// TestSimulateSnapshotBack does the same with a snapshot.
func TestSimulateSnapshotBack(t *testing.T) {
	turnsBack(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Method: api.MethodSnapshot})
}

// turnsBack rolls a migration back after each of its writes.
func turnsBack(t *testing.T, scenario plantest.Scenario) {
	t.Helper()
	writes := 0
	drive(t, NewWorld(scenario.Build()), func(d plan.Decision) bool {
		if d.Effect != nil {
			writes++
		}
		return d.Done != ""
	})
	for after := range writes {
		w, n := NewWorld(scenario.Build()), 0
		drive(t, w, func(d plan.Decision) bool {
			if d.Effect != nil {
				n++
			}
			return n == after+1
		})
		s := w.Snapshot()
		s.Spec.Mode = api.ModeRollback
		if result := Run(s); result.Held != nil && result.Held.Stalled || result.Outcome == "" {
			t.Errorf("after %d writes: %s %+v\n%s", after, result.Outcome, result.Held, steps(result))
		}
	}
}

// TestSimulateRollback changes the direction with an ordinal in flight, and with all moved.
func TestSimulateRollback(t *testing.T) {
	for name, after := range map[string]plan.Verb{"rollback-in-mid-handoff": plan.ScaleDown, "rollback-of-a-started-ordinal": plan.ScaleUp} {
		t.Run(name, func(t *testing.T) {
			s := halfSimulated(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}, after, 1).Snapshot()
			s.Spec.Mode = api.ModeRollback
			golden.Compare(t, name+".golden", steps(Run(s)))
		})
	}
}

// halfSimulated returns a world after the n-th write of a verb.
func halfSimulated(t *testing.T, c plantest.Scenario, verb plan.Verb, n int) *World {
	t.Helper()
	w := NewWorld(c.Build())
	last := drive(t, w, func(d plan.Decision) bool {
		if d.Effect != nil && d.Effect.Verb == verb {
			n--
		}
		return n == 0
	})
	carryOut(t, w, last)
	return w
}

// most is the number of decisions that no plan exceeds.
const most = 3000

// drive carries out decisions until the next one is the wanted one.
func drive(t *testing.T, w *World, wanted func(plan.Decision) bool) plan.Decision {
	t.Helper()
	for range most {
		decision := planner.Plan(w.State)
		if wanted(decision) {
			return decision
		}
		carryOut(t, w, decision)
	}
	t.Fatal("what is wanted never comes")
	return plan.Decision{}
}

func carryOut(t *testing.T, w *World, decision plan.Decision) {
	t.Helper()
	w.State.Now = w.State.Now.Add(decision.Wait)
	if decision.Record != nil {
		w.State.Engaged = true
		w.Note(*decision.Record)
		return
	}
	if decision.Effect != nil {
		if err := w.Apply(*decision.Effect); err != nil {
			t.Fatal(err)
		}
	}
	w.Settle()
}

// TestSimulateEnds: a dry run ends like the migration would in a world in which nothing fails. Pods that will
// become Ready count as available from the beginning, and delays are waited for.
func TestSimulateEnds(t *testing.T) {
	starting := plantest.Scenario{Replicas: 3}.Build()
	starting.Source.Pods[0].Ready, starting.Source.Pods[1].Ready = false, false
	patient := plantest.Scenario{Replicas: 2, Spec: plan.Spec{MinReady: time.Minute}}.Build()
	moved := halfSimulated(t, plantest.Scenario{Replicas: 2}, plan.ScaleUp, 2).Snapshot()
	moved.Spec.Mode = api.ModeRollback
	twice := plantest.Scenario{Replicas: 1, Templates: []string{"data", "data"}}.Build()
	twice.Volumes[1].Source.Volume.UID = "another"
	elsewhere := halfSimulated(t, plantest.Scenario{Replicas: 2, Templates: []string{"data"}}, plan.ScaleDown, 1).Snapshot()
	elsewhere.Volumes[1].Source.Volume.Attachments = []volumes.Attachment{{Name: "other", Node: "other"}}
	for name, tc := range map[string]struct {
		s             plan.Snapshot
		outcome, held string
		fewest        int32
	}{
		"two replicas come up":                {starting, api.ReasonMoved, "", 2},
		"each is Ready for a minute":          {patient, api.ReasonMoved, "", 1},
		"all go back":                         {moved, api.ReasonRolledBack, "", 1},
		"what is seen cannot be":              {twice, "", ErrConflict.Error(), 1},
		"a volume that is not ever let go of": {elsewhere, "", "VolumeAttachment other of volume", 1},
	} {
		result := Run(tc.s)
		if result.Outcome != tc.outcome || result.Fewest != tc.fewest {
			t.Errorf("%s: it ends with %q, fewest available %d", name, result.Outcome, result.Fewest)
		}
		if held := result.Held; (held == nil) != (tc.held == "") || held != nil && (!strings.Contains(held.Message, tc.held) || !held.Stalled) {
			t.Errorf("%s: held by %+v", name, held)
		}
	}
}

// TestSimulateFences: a dry run acquires its own fence like another process, whichever process is engaged.
func TestSimulateFences(t *testing.T) {
	s := halfSimulated(t, plantest.Scenario{Replicas: 2}, plan.ScaleDown, 1).Snapshot()
	result := Run(s)
	if len(result.Steps) == 0 || result.Steps[0].Effect.Verb != plan.WriteFence || !s.Engaged {
		t.Errorf("it begins with %+v", result.Steps)
	}
}

// steps formats a dry run, one line for each step: both slices, how many of their replicas may be evicted, and how
// many are available after the write.
func steps(s Result) string {
	var text strings.Builder
	share := func(f Forecast) string {
		if f.MaxUnavailable == nil {
			return "-"
		}
		return strconv.Itoa(int(*f.MaxUnavailable))
	}
	for i, step := range s.Steps {
		fmt.Fprintf(&text, "%2d  %-6s %-6s  %s/%s  %d  %s\n", i+1,
			plan.Span(step.Source.Start, step.Source.Replicas), plan.Span(step.Destination.Start, step.Destination.Replicas),
			share(step.Source), share(step.Destination), step.Available, step.Description)
	}
	fmt.Fprintf(&text, "%s, fewest available %d\n", s.Outcome, s.Fewest)
	if s.Held != nil {
		fmt.Fprintf(&text, "held: %+v\n", *s.Held)
	}
	return text.String()
}

// TestSimulateAThousand: the reads of a dry run of a thousand ordinals are not quadratic. It took seconds when
// every step read every claim.
func TestSimulateAThousand(t *testing.T) {
	begin := computed(t)
	result := Run(plantest.Scenario{Replicas: 1000, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}.Build())
	if result.Outcome != api.ReasonMoved || result.Fewest != 999 {
		t.Errorf("ended with %s, fewest available %d, %+v", result.Outcome, result.Fewest, result.Held)
	}
	if took := computed(t) - begin; took > time.Minute {
		t.Errorf("it took %s of a processor", took)
	}
}

// computed returns the CPU time of this process. Unlike the elapsed time, it does not depend on the load of the
// machine.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}
