package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// plays are the scenarios that the tests below run write by write.
func plays() map[string]plantest.Scenario {
	one, two := []string{"data"}, []string{"data", "wal"}
	return map[string]plantest.Scenario{
		"clusters":     {Replicas: 3, Templates: one, Budget: pdbtest.MaxUnavailable(1), Ordered: true, Service: true},
		"namespaces":   {Replicas: 2, Templates: two, Budget: pdbtest.MinAvailable(1), Spec: plan.Spec{SameCluster: true}, Prepared: true},
		"names":        {Replicas: 4, Templates: one, Budget: pdbtest.MaxUnavailablePercent(50), Spec: plan.Spec{SameNamespace: true}},
		"lowest first": {Replicas: 3, Start: 2, Templates: one, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Order: api.LowestFirst}, Retained: true},
		"partial":      {Replicas: 4, Templates: one, Budget: pdbtest.MaxUnavailable(2), Spec: plan.Spec{Count: 2}},
		"taken":        taken,
		"bare":         {Replicas: 2, Spec: plan.Spec{Count: 1, Order: api.LowestFirst}, Ordered: true},
		"a block":      {Replicas: 3, Templates: one, Budget: pdbtest.MaxUnavailable(2), Spec: atOnce(2, plan.Spec{})},
		"clean-up":     {Replicas: 2, Templates: one, Budget: pdbtest.MinAvailablePercent(50), Service: true, Spec: plan.Spec{DeleteSource: true, Export: true}},
	}
}

// play is a machine that a test drives step by step, without faults of its own.
type play struct {
	*machine
	t *testing.T
	p *process
}

func newPlay(t *testing.T, c plantest.Scenario) *play {
	t.Helper()
	y := &play{machine: newMachine(c.Build()), t: t}
	y.forgets = true
	y.p = y.newProcess()
	return y
}

// fork returns a play that continues from the same state.
func (y *play) fork() *play {
	p := *y.p
	return &play{machine: y.machine.fork(), t: y.t, p: &p}
}

// afterEach calls do with a fork of the play before the first write and after each write.
func afterEach(t *testing.T, c plantest.Scenario, do func(n int, y *play)) {
	t.Helper()
	y := newPlay(t, c)
	for n := 0; ; n++ {
		do(n, y.fork())
		if y.writes(1) == 0 {
			return
		}
	}
}

func (y *play) verify() {
	y.t.Helper()
	if wrong := y.check(); wrong != "" {
		y.t.Fatalf("%s\n\n%s", wrong, y.story())
	}
}

func (y *play) fair() conditions { return conditions{cached: y.Snapshot, between: func() {}} }

// pass runs one pass and the steps that follow from it.
func (y *play) pass(f fate) plan.Decision {
	y.t.Helper()
	c := y.fair()
	c.fate = f
	decision := y.machine.pass(y.p, c)
	y.State.Now = y.State.Now.Add(decision.Wait)
	y.settle(everyone)
	return decision
}

func (y *play) settle(acts func(step) bool) {
	y.t.Helper()
	y.verify()
	y.settleAll(acts, y.verify)
}

// writes runs passes until n writes are done or no more follow, and returns the number of writes.
func (y *play) writes(n int) int {
	y.t.Helper()
	made := 0
	for idle := 0; made < n && idle < 3; {
		decision := y.pass(lands)
		switch {
		case decision.Done != "":
			return made
		case decision.Record != nil || decision.Effect != nil:
			made, idle = made+1, 0
		default:
			idle++
		}
	}
	return made
}

// next returns the next decision of the process.
func (y *play) next() plan.Decision {
	y.reread(y.p)
	return planner.Plan(y.p.through(y.Snapshot()))
}

// until runs passes until the next write is the n-th one of a verb.
func (y *play) until(verb plan.Verb, n int) plan.Effect {
	y.t.Helper()
	for range enough {
		if next := y.next().Effect; next != nil && (next.Verb == verb || plan.Verb(next.Volume.Verb) == verb) {
			if n--; n == 0 {
				return *next
			}
		}
		y.pass(lands)
	}
	y.t.Fatalf("%s never comes\n\n%s", verb, y.story())
	return plan.Effect{}
}

// end drives the migration to its end and checks that the end is correct.
func (y *play) end() plan.Decision {
	y.t.Helper()
	last := y.finish(y.p, y.verify)
	if wrong := y.ended(last); wrong != "" {
		y.t.Fatalf("%s\n\n%s", wrong, y.story())
	}
	return last
}

// quiet checks that nothing more is written.
func (y *play) quiet() {
	y.t.Helper()
	before := y.landed + y.version
	for range 3 {
		y.pass(lands)
	}
	if y.landed+y.version != before {
		y.t.Fatalf("writes go on after the end\n\n%s", y.story())
	}
}

// shape returns a world without identities that differ between runs.
func shape(s plan.Snapshot) plan.Snapshot {
	s = essence(s)
	for _, at := range []*plan.Side{&s.Source, &s.Destination} {
		at.Set.UID = ""
		for i := range at.Budgets {
			at.Budgets[i].UID, at.Budgets[i].Fence = "", string(api.FenceOwner(at.Budgets[i].Fence))
		}
	}
	for i := range s.Volumes {
		for _, h := range []*volumes.Holding{&s.Volumes[i].Source, &s.Volumes[i].Destination} {
			if h.Volume.ClaimRef.UID != "" && h.Volume.ClaimRef.UID == h.Claim.UID {
				h.Volume.ClaimRef.UID = "bound"
			}
			h.Claim.UID, h.Volume.UID = "", ""
			h.Claim.Fence, h.Volume.Fence = string(api.FenceOwner(h.Claim.Fence)), string(api.FenceOwner(h.Volume.Fence))
			if s.Spec.SameCluster {
				h.Volume.ClaimRef.UID = ""
			}
		}
	}
	return s
}

// TestCrashAnywhere loses each write in turn, in every way in which a write can be lost. The end is the same as
// without the loss (I7).
func TestCrashAnywhere(t *testing.T) {
	fates := map[string]fate{
		"crash before": crashBefore, "crash after": crashAfter, "unanswered": unanswered, "refused": refused,
		"stalled": stalls, "delayed": delayed,
	}
	for name, c := range plays() {
		t.Run(name, func(t *testing.T) {
			usual := newPlay(t, c)
			total := usual.writes(enough)
			usual.end()
			usual.quiet()
			afterEach(t, c, func(n int, at *play) {
				for how, f := range fates {
					y := at.fork()
					y.pass(f)
					y.writes(3)
					for _, w := range y.late {
						y.note("late: %s: %v", w.effect, y.land(w.effect, true))
						y.verify()
					}
					y.end()
					y.quiet()
					if diff := cmp.Diff(shape(usual.State), shape(y.State), cmpopts.EquateEmpty()); diff != "" && !y.harmless(n, total) {
						t.Fatalf("%s at write %d of %d: the end is another one\n%s\n%s", how, n+1, total, diff, y.story())
					}
				}
			})
		})
	}
}

// harmless reports whether a late write that arrives after the end is a creation that leaves an empty object.
func (y *play) harmless(n, total int) bool {
	return len(y.late) > 0 && unfenced(y.late[0].effect) && n+4 > total
}

// TestRollbackAnywhere rolls the migration back after each write. Everything is then as at the beginning (I8),
// and the migration can run again.
func TestRollbackAnywhere(t *testing.T) {
	for name, c := range plays() {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, y *play) {
				completed := y.State.Record.Completed
				y.setMode(api.ModeRollback)
				last := y.end()
				y.quiet()
				switch {
				case completed == api.ReasonMoved && (last.Hold == nil || last.Hold.Reason != api.ReasonAlreadyCompleted):
					t.Fatalf("after write %d: a rollback after the end is not refused: %+v", n, last)
				case completed == "" && last.Done != api.ReasonRolledBack:
					t.Fatalf("after write %d: %+v\n%s", n, last, y.story())
				case completed == "" && n%5 == 0:
					y.setMode(api.ModeRun)
					if last := y.end(); last.Done != api.ReasonMoved {
						t.Fatalf("after write %d, run again: %+v\n%s", n, last, y.story())
					}
				}
			})
		})
	}
}

// TestTwiceRound rolls the migration back after each write, and reverses it again after a few more writes.
func TestTwiceRound(t *testing.T) {
	for name, c := range plays() {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, at *play) {
				for _, more := range []int{1, 3, 6, 11} {
					y := at.fork()
					y.setMode(api.ModeRollback)
					y.writes(more)
					y.setMode(api.ModeRun)
					if last := y.end(); last.Done != api.ReasonMoved {
						t.Fatalf("after write %d and %d more: %+v\n%s", n, more, last, y.story())
					}
				}
			})
		})
	}
}

// TestPauseAnywhere pauses after each write. A handoff whose ordinal is stopped completes, then nothing is
// written, and then the migration continues.
func TestPauseAnywhere(t *testing.T) {
	for name, c := range plays() {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(n int, y *play) {
				y.setMode(api.ModePause)
				y.writes(40)
				if y.State.Record.Completed == "" {
					y.quiet()
				}
				if y.State.Record.Handoff != nil || len(y.held) > 0 {
					t.Fatalf("after write %d: a pause keeps ordinals %v down: %+v\n%s", n, keys(y.held), y.State.Record.Handoff, y.story())
				}
				y.setMode(api.ModeRun)
				y.end()
			})
		})
	}
}

// TestDeletionAnywhere deletes the Migration after each write. It releases both StatefulSets, and no ordinal
// remains down.
func TestDeletionAnywhere(t *testing.T) {
	for name, c := range plays() {
		t.Run(name, func(t *testing.T) {
			afterEach(t, c, func(_ int, y *play) {
				y.State.Deleting = true
				y.version++
				y.end()
				y.quiet()
			})
		})
	}
}

func (m *machine) story() string {
	return strings.Join(m.log, "\n") + "\n" + m.String()
}

// quietly runs a number of passes, and checks nothing but every state.
func (y *play) quietly(passes int) {
	y.t.Helper()
	for range passes {
		y.pass(lands)
	}
}
