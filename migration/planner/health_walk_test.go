package planner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// walk is a migration of three ordinals in a world in which only the gates fail.
type walk struct {
	*simulate.World
	// ask answers an open question; an empty reason is a good answer, and "-" none yet.
	ask func(planner.Reply) string
	// check is called with each decision and its snapshot.
	check func(plan.Snapshot, plan.Decision)
}

func newWalk(gates ...api.HealthGate) *walk {
	s := plantest.Scenario{Replicas: 3, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1)}.Build()
	s.Engaged = true
	for _, gate := range gates {
		s.Gates = append(s.Gates, plan.Health{Gate: gate})
	}
	return &walk{World: simulate.NewWorld(s), ask: func(planner.Reply) string { return "" }, check: func(plan.Snapshot, plan.Decision) {}}
}

// look evaluates the open questions, removes the others, and plans.
func (w *walk) look() plan.Decision {
	s := w.Snapshot()
	replies := planner.Replies(s)
	for i := range s.Gates {
		s.Gates[i].Answers = nil
		for _, reply := range replies {
			if reply.Gate.Name != s.Gates[i].Gate.Name {
				continue
			}
			answers := reply.Answers
			if reason := w.ask(reply); reason != "-" {
				answers = answers.Heard(reason, "because", s.Now)
			}
			s.Gates[i].Answers = append(s.Gates[i].Answers, answers)
		}
	}
	w.State.Gates = s.Gates
	decision := planner.Plan(s)
	w.check(s, decision)
	return decision
}

// until continues until the migration is complete, or waits only for a gate.
func (w *walk) until(t *rapid.T) plan.Decision {
	for range 2000 {
		decision := w.look()
		switch {
		case decision.Effect != nil:
			if err := w.Apply(*decision.Effect); err != nil {
				t.Fatalf("%s: %v", decision.Effect, err)
			}
		case decision.Record != nil:
			given := planner.DestinationCount(w.State)
			w.State.Record = *decision.Record
			w.State.Record.Given = given
		case decision.Done != "" || decision.Hold.Stalled || decision.Hold.Reason == api.ReasonGatePending:
			return decision
		}
		w.Settle()
		w.State.Now = w.State.Now.Add(max(decision.Wait, time.Second))
	}
	t.Fatal("it does not end")
	return plan.Decision{}
}

func without(s plan.Snapshot) plan.Snapshot {
	s.Gates = nil
	return s
}

// down reports whether an ordinal is in neither slice.
func down(s plan.Snapshot) bool {
	return s.Record.Handoff != nil && !s.Source.Set.Has(s.Record.Handoff.Ordinal) && !s.Destination.Set.Has(s.Record.Handoff.Ordinal)
}

var everywhere = []api.GatePoint{api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd}

// TestHealthKeepsNothingDown: whatever the gates answer, a stopped ordinal is started as if there were none. No
// other is stopped, and nothing completes, while a gate that holds has not passed. Once all pass, the migration
// ends (I5, I6, I8).
func TestHealthKeepsNothingDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gate := func(name string) api.HealthGate {
			return api.HealthGate{Name: name, At: rapid.SliceOfNDistinct(rapid.SampledFrom(everywhere), 1, 3, rapid.ID).Draw(t, "at"), DryRun: rapid.Bool().Draw(t, "dry run")}
		}
		w := newWalk(gate("a"), gate("b"))
		w.ask = func(planner.Reply) string {
			return rapid.SampledFrom([]string{"", "", "", "-", api.ReasonGateFailed, api.ReasonGateUnanswered, api.ReasonGateInvalid}).Draw(t, "answer")
		}
		w.check = func(s plan.Snapshot, decision plan.Decision) {
			if bare := planner.Plan(without(s)); down(s) && !cmp.Equal(bare, decision) {
				t.Fatalf("an ordinal is down, and %s", cmp.Diff(bare, decision))
			}
			stops := decision.Effect != nil && decision.Effect.Verb == plan.ScaleDown
			ends := decision.Record != nil && decision.Record.Completed != ""
			if !stops && !ends {
				return
			}
			for _, reply := range planner.Replies(s) {
				if reply.Holds && reply.State != api.GatePassed {
					t.Fatalf("%+v holds, and it goes on: %+v", reply, decision)
				}
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "times it holds") {
			if w.until(t).Done != "" {
				return
			}
		}
		w.ask = func(planner.Reply) string { return "" }
		w.State.Now = w.State.Now.Add(time.Hour)
		if decision := w.until(t); decision.Done != api.ReasonMoved {
			t.Fatalf("it does not end: %+v", decision.Hold)
		}
	})
}

// TestHealthLetsGoBack: a gate that failed in direction Forward does not hold a rollback (I8).
func TestHealthLetsGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(api.HealthGate{Name: "a", At: everywhere, OnRollback: api.GateRollbackWarn})
		good := rapid.IntRange(0, 40).Draw(t, "good answers")
		w.ask = func(planner.Reply) string {
			if good--; good >= 0 {
				return ""
			}
			return api.ReasonGateFailed
		}
		if w.until(t).Done != "" {
			return
		}
		w.State.Spec.Mode = api.ModeRollback
		w.check = func(s plan.Snapshot, decision plan.Decision) {
			if bare := planner.Plan(without(s)); !cmp.Equal(bare, decision) {
				t.Fatal(cmp.Diff(bare, decision))
			}
			if slices.ContainsFunc(planner.Replies(s), func(r planner.Reply) bool { return r.Holds }) {
				t.Fatal("it says that it holds")
			}
		}
		if decision := w.until(t); decision.Done != api.ReasonRolledBack {
			t.Fatalf("it does not end: %+v", decision.Hold)
		}
	})
}
