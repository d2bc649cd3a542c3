package model

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// atOnce is a spec with so many ordinals in flight.
func atOnce(most int32, spec plan.Spec) plan.Spec {
	spec.MaxInFlight = new(intstr.FromInt32(most))
	return spec
}

// blockBounds are worlds in which several ordinals move at once, for every test run; fullBlockBounds are for `make
// verify-model`.
func blockBounds() []bound {
	d := pdbtest.MaxUnavailable
	return []bound{
		{"3, claims, 2 at once, calm", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(2), Spec: atOnce(2, plan.Spec{})}, 0, nil, nil},
		{"3, claims, 2 at once, lowest first, calm", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(2), Spec: atOnce(2, plan.Spec{Order: api.LowestFirst})}, 0, nil, nil},
	}
}

// inBlock returns a scenario whose ordinals all move at once.
func inBlock(c plantest.Scenario) plantest.Scenario {
	c.Budget, c.Spec.MaxInFlight = pdbtest.MaxUnavailable(c.Replicas), new(intstr.FromInt32(c.Replicas))
	return c
}

func fullBlockBounds() []bound {
	d := pdbtest.MaxUnavailable
	return []bound{
		{"4, claims, 2 at once, calm", plantest.Scenario{Replicas: 4, Templates: oneClaim, Budget: d(2), Spec: atOnce(2, plan.Spec{})}, 0, nil, nil},
		{"2, claims, 2 at once, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(2), Spec: atOnce(2, plan.Spec{})}, 1, nil, nil},
		{"3, claims, 2 at once, in order, lowest first, writes", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(2), Ordered: true, Spec: atOnce(2, plan.Spec{Order: api.LowestFirst})}, 1, ofWrites, nil},
		{"3, claims, 2 of 3 at once, pods", plantest.Scenario{Replicas: 3, Templates: oneClaim, Budget: d(3), Spec: atOnce(2, plan.Spec{})}, 1, ofPodsToo, nil},
		{"2, claims, in one namespace, 2 at once, any", plantest.Scenario{Replicas: 2, Templates: oneClaim, Budget: d(2), Spec: atOnce(2, plan.Spec{SameNamespace: true})}, 1, nil, nil},
	}
}

// TestMachineOfBlocks is TestMachine with several ordinals in flight.
func TestMachineOfBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		c.Replicas = rapid.Int32Range(2, 5).Draw(t, "replicas of a block")
		d := rapid.Int32Range(2, 4).Draw(t, "d of a block")
		c.Budget, c.Spec.MaxUnavailable = pdbtest.MaxUnavailable(d), nil
		if rapid.Bool().Draw(t, "no PodDisruptionBudget") {
			c.Budget, c.Spec.MaxUnavailable = nil, new(intstr.FromInt32(min(d, c.Replicas)))
		}
		c.Spec.Count = min(c.Spec.Count, c.Replicas)
		c.Templates = []string{"data", "wal"}[:rapid.IntRange(1, 2).Draw(t, "templates of a block")]
		c.Spec.MaxInFlight = new(intstr.FromInt32(rapid.Int32Range(2, min(3, d, c.Replicas)).Draw(t, "at once")))
		walk(t, c)
	})
}

// TestMachineOfCopiedBlocks is TestMachineOfMethods with several ordinals in flight.
func TestMachineOfCopiedBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		c.Replicas, c.Spec.Count = rapid.Int32Range(2, 4).Draw(t, "replicas of a block"), 0
		d := rapid.Int32Range(2, 3).Draw(t, "d of a block")
		c.Budget, c.Spec.MaxUnavailable = pdbtest.MaxUnavailable(d), nil
		c.Templates = []string{"data", "wal"}[:rapid.IntRange(1, 2).Draw(t, "templates of a block")]
		c.Spec.MaxInFlight = new(intstr.FromInt32(rapid.Int32Range(2, min(d, c.Replicas)).Draw(t, "at once")))
		c.Method = rapid.SampledFrom([]api.VolumeMethod{api.MethodCopy, api.MethodCopy, api.MethodSnapshot}).Draw(t, "method of a block")
		if c.Method == api.MethodCopy {
			c.Prefetch = rapid.Int32Range(0, 1).Draw(t, "prefetch")
			c.ProvesLater, c.WaitsForPod = rapid.Bool().Draw(t, "proven later"), rapid.Bool().Draw(t, "waits for a pod")
			some := rapid.SampledFrom([][]string{nil, nil, {"data"}, c.Templates})
			c.Cold, c.Late = some.Draw(t, "cold"), some.Draw(t, "late")
		}
		walk(t, c)
	})
}

// TestBlocks: as many ordinals as asked for are down at once, and no more; whatever the order, the handoffs need
// the same writes as one after the other.
func TestBlocks(t *testing.T) {
	for name, c := range map[string]plantest.Scenario{
		"highest first":    {Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3)},
		"lowest first":     {Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Spec: plan.Spec{Order: api.LowestFirst}},
		"in one namespace": {Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Spec: plan.Spec{SameNamespace: true}},
		"by snapshots":     {Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Method: api.MethodSnapshot},
	} {
		t.Run(name, func(t *testing.T) {
			writes := map[int32]int{}
			for _, most := range []int32{1, 3} {
				c.Spec.MaxInFlight = new(intstr.FromInt32(most))
				y := newPlay(t, c)
				down := 0
				for range enough {
					decision := y.machine.pass(y.p, y.fair())
					y.verify()
					down = max(down, len(y.held))
					if decision.Effect == nil && decision.Record == nil {
						if decision.Done != "" {
							break
						}
						y.State.Now = y.State.Now.Add(decision.Wait)
						y.settle(everyone)
					}
				}
				y.end()
				if down != int(most) {
					t.Errorf("%d at once: %d were down", most, down)
				}
				writes[most] = y.landed
			}
			const last = 2 // the budgets grow as the last ones arrive
			if writes[3] > writes[1]+last {
				t.Errorf("%d writes, and %d one at a time", writes[3], writes[1])
			}
		})
	}
}

// TestCopiedBlock: ordinals that are copied are down at once, as many as asked for: none waits until another one is Ready.
func TestCopiedBlock(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 5, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Method: api.MethodCopy, Spec: atOnce(3, plan.Spec{})})
	down := 0
	for n := 0; n < enough && down < 3; n++ {
		decision := y.machine.pass(y.p, y.fair())
		y.State.Now = y.State.Now.Add(decision.Wait)
		y.settle(func(s step) bool { return s.kind != readies })
		down = max(down, len(y.held))
	}
	if down != 3 {
		t.Fatalf("%d were down\n%s", down, y.story())
	}
	y.end()
}

// TestBlockTurnsRound: a rollback at each write of a block takes every ordinal back, in an order that keeps the slices
// two ranges.
func TestBlockTurnsRound(t *testing.T) {
	for _, c := range []plantest.Scenario{
		{Replicas: 4, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Spec: atOnce(3, plan.Spec{})},
		{Replicas: 3, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Spec: atOnce(2, plan.Spec{}), Method: api.MethodSnapshot},
		{Replicas: 3, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Spec: atOnce(2, plan.Spec{}), Method: api.MethodCopy},
	} {
		for _, mode := range []api.Mode{api.ModeRollback, api.ModePause} {
			afterEach(t, c, func(n int, y *play) {
				y.setMode(mode)
				for range 120 {
					y.pass(lands)
				}
				// A pause keeps the copies of ordinals that run.
				if !y.State.Record.Idle() && (mode == api.ModeRollback || len(y.held) > 0) {
					t.Fatalf("%s, after write %d: %s leaves %+v in flight\n%s", c.Method, n, mode, y.State.Record.InFlight(), y.story())
				}
				if mode == api.ModePause {
					y.setMode(api.ModeRun)
				}
				y.end()
			})
		}
	}
}

// TestLateOrdinalHoldsItsBlock: an ordinal whose pod does not become Ready holds those beyond its block, and those within
// it arrive (I6).
func TestLateOrdinalHoldsItsBlock(t *testing.T) {
	y := newPlay(t, plantest.Scenario{Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(3), Spec: atOnce(3, plan.Spec{})})
	for range enough {
		y.machine.pass(y.p, y.fair())
		y.settle(func(s step) bool { return s.kind != readies || s.ordinal != 5 })
	}
	set := y.State.Destination.Set
	if set.Start != 3 || set.Replicas != 3 || len(y.State.Record.InFlight()) != 1 || !y.State.Record.Moves(5) {
		t.Fatalf("the destination owns %s, and %+v is in flight\n%s", plan.Span(set.Start, set.Replicas), y.State.Record.InFlight(), y.story())
	}
	y.settle(everyone)
	y.end()
}

// TestClosedGateInABlock: when a gate closes at any write of a block, no further ordinal is stopped, and those that are down
// arrive. After it opens, the rest moves (I5, I6).
func TestClosedGateInABlock(t *testing.T) {
	for _, method := range []api.VolumeMethod{"", api.MethodSnapshot, api.MethodCopy} {
		c := plantest.Scenario{Replicas: 4, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Method: method, Spec: atOnce(2, plan.Spec{})}
		closed := 0
		afterEach(t, c, func(n int, y *play) {
			for k := range int32(2) {
				if !y.State.Source.Set.Has(k) || y.State.Record.Moves(k) {
					return // the second block has begun
				}
				y.fail(plan.SourceSide, k)
			}
			closed++
			for range 120 {
				decision := y.machine.pass(y.p, y.fair())
				y.State.Now = y.State.Now.Add(decision.Wait)
				y.settle(func(s step) bool { return s.kind != readies || s.ordinal > 1 })
			}
			if len(y.held) > 0 {
				t.Fatalf("%s, after write %d: ordinals %v stay down\n%s", method, n, keys(y.held), y.story())
			}
			y.end()
		})
		if closed == 0 {
			t.Errorf("%s: the gate closed at no write", method)
		}
	}
}

// TestStalledBudgetsInABlock: a second PodDisruptionBudget, or a tool that restores its own version, holds the next stop
// although an ordinal of the block is down at any time. Those that are down arrive, the tool is not fought, and the rest
// moves when the cause is removed (I4, I6, I9).
func TestStalledBudgetsInABlock(t *testing.T) {
	c := plantest.Scenario{Replicas: 6, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Spec: atOnce(2, plan.Spec{})}
	for name, tc := range map[string]struct {
		begins  func(*play) func(*play)
		reasons string
	}{
		"a second budget": {func(y *play) func(*play) {
			w := &model{machine: y.machine}
			undo := authorDoubles(plan.SourceSide)(w)
			if undo == nil {
				return nil
			}
			return func(*play) { undo(w) }
		}, api.ReasonSeveralBudgets},
		"a tool": {func(y *play) func(*play) {
			if len(y.State.Source.Budgets) != 1 || y.State.Source.Budgets[0].Fence == "" {
				return nil
			}
			y.putBack(plan.SourceSide, "flux")
			form := y.State.Source.Budgets[0].Form
			return func(y *play) { y.handsBack(plan.SourceSide, form) }
		}, api.ReasonForeignBudget},
	} {
		t.Run(name, func(t *testing.T) {
			stalled := 0
			afterEach(t, c, func(n int, y *play) {
				if len(y.held) == 0 || y.State.Source.Set.Replicas < 3 {
					return
				}
				undo := tc.begins(y)
				if undo == nil {
					return
				}
				left := y.State.Source.Set.Replicas
				var hold plan.Hold
				for range 120 {
					decision := y.machine.pass(y.p, y.fair())
					y.State.Now = y.State.Now.Add(decision.Wait)
					y.settleAll(everyone, func() {}) // what the other writer allows exceeds d (I4)
					if e := decision.Effect; e != nil && (e.Verb == plan.ScaleDown || e.Verb == plan.SetBudget) {
						t.Fatalf("after write %d: %s\n%s", n, e, y.story())
					}
					if decision.Hold != nil {
						hold = *decision.Hold
					}
				}
				if y.State.Source.Set.Replicas != left || len(y.held) > 0 || !hold.Stalled || hold.Reason != tc.reasons {
					t.Fatalf("after write %d: the source has %d of %d ordinals, %v are down, and %+v\n%s", n, y.State.Source.Set.Replicas, left, keys(y.held), hold, y.story())
				}
				stalled++
				undo(y)
				y.end()
			})
			if stalled == 0 {
				t.Error("no ordinal was down")
			}
		})
	}
}

// TestDeletedInABlockOfTwoBudgets: a Migration is deleted while an ordinal of a block is down and a second budget stalls the
// next stop. It ends only when no ordinal is down (I6).
func TestDeletedInABlockOfTwoBudgets(t *testing.T) {
	c := plantest.Scenario{Replicas: 4, Templates: oneClaim, Budget: pdbtest.MaxUnavailable(2), Spec: atOnce(2, plan.Spec{})}
	deleted := 0
	afterEach(t, c, func(n int, y *play) {
		if len(y.held) == 0 || authorDoubles(plan.SourceSide)(&model{machine: y.machine}) == nil {
			return
		}
		deleted++
		y.State.Deleting = true
		y.version++
		for range 120 {
			decision := y.machine.pass(y.p, y.fair())
			if decision.Record != nil && decision.Record.Completed != "" && len(y.held) > 0 {
				t.Fatalf("after write %d: it ends, and %v are down\n%s", n, keys(y.held), y.story())
			}
			y.State.Now = y.State.Now.Add(decision.Wait)
			y.settleAll(everyone, func() {})
		}
		if len(y.held) > 0 {
			t.Fatalf("after write %d: %v stay down\n%s", n, keys(y.held), y.story())
		}
	})
	if deleted == 0 {
		t.Error("no ordinal was down")
	}
}
