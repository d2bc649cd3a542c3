package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestSimulateIsWhatHappens compares a dry run with a run in which nothing fails: the
// same writes in the same order; no more replicas are down than the budget allows;
// and what it was given is left as it was.
func TestSimulateIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		s := c.build()
		before := s.clone()
		result := Simulate(s)
		if diff := cmp.Diff(before, s); diff != "" {
			t.Fatalf("the dry run has changed what it was given:\n%s", diff)
		}
		if result.Outcome != api.ReasonMoved || result.Held != nil {
			t.Fatalf("it ends with %q, held by %+v", result.Outcome, result.Held)
		}
		if n := c.replicas - result.Fewest; n > 1 {
			t.Fatalf("%d replicas are down at once", n)
		}
		m := newMachine(s)
		p := m.newProcess()
		var happened []string
		for range enough {
			m.settleAll(everyone, func() {})
			decision := m.pass(p, conditions{cached: m.snapshot, between: func() {}})
			if decision.Done != "" {
				break
			}
			if decision.Effect != nil {
				happened = append(happened, decision.Effect.String())
			}
			m.state.Now = m.state.Now.Add(decision.Wait)
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

func TestSimulateHeld(t *testing.T) {
	zero := maxUnavailable(0)
	failing := scenario{replicas: 3}.build()
	failing.Source.Pods[1].Ready = false
	unreachable := scenario{replicas: 3}.build()
	unreachable.Destination = Side{Cluster: "west"}
	for name, tc := range map[string]struct {
		s      Snapshot
		reason string
	}{
		"a budget of nothing":     {scenario{replicas: 3, budget: zero}.build(), api.ReasonBudgetZero},
		"nothing to move":         {scenario{}.build(), api.ReasonNothingToMove},
		"paused":                  {scenario{replicas: 1, spec: Spec{Mode: api.ModePause}}.build(), api.ReasonPaused},
		"an unreachable side":     {unreachable, api.ReasonClusterUnreachable},
		"more than there are":     {scenario{replicas: 2, spec: Spec{Count: 3}}.build(), api.ReasonCountTooLarge},
		"d above what it allows":  {scenario{replicas: 3, budget: maxUnavailable(1), spec: Spec{MaxUnavailable: maxUnavailable(2).MaxUnavailable}}.build(), api.ReasonBudgetExceeded},
		"a malformed budget of d": {scenario{replicas: 3, spec: Spec{MaxUnavailable: unparsable()}}.build(), api.ReasonBudgetInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			result := Simulate(tc.s)
			if len(result.Steps) != 0 || result.Outcome != "" || result.Held == nil || result.Held.Reason != tc.reason {
				t.Errorf("got %d steps, %q, held by %+v; want none, held by %s", len(result.Steps), result.Outcome, result.Held, tc.reason)
			}
		})
	}
	// An unavailable replica comes back in a world in which nothing fails.
	if result := Simulate(failing); result.Outcome != api.ReasonMoved {
		t.Errorf("it ends with %q, held by %+v", result.Outcome, result.Held)
	}
}

// TestAllowed is what the status and the dry run tell of a slice's budget.
func TestAllowed(t *testing.T) {
	s := scenario{replicas: 3, budget: maxUnavailable(1)}.build()
	two := s
	two.Spec.SameNamespace = true
	two.Destination.Set.Replicas = 2
	for name, tc := range map[string]struct {
		s    Snapshot
		b    *Budget
		want *int32
	}{
		"none":              {s, nil, nil},
		"its author's":      {s, &Budget{Form: pdb.Unavailable(1)}, nil},
		"a number":          {s, &Budget{Form: pdb.Unavailable(1), Fence: "x.1"}, new(int32(1))},
		"what must stay":    {s, &Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(2))},
		"of both slices":    {two, &Budget{Form: pdb.Available(1), Fence: "x.1"}, new(int32(4))},
		"of a smaller one":  {s, &Budget{Form: pdb.Available(4), Fence: "x.1"}, new(int32(0))},
		"that is malformed": {s, &Budget{Form: pdb.Form{MaxUnavailable: unparsable()}, Fence: "x.1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			side := tc.s.Source
			side.Budgets = nil
			if tc.b != nil {
				side.Budgets = []Budget{*tc.b}
			}
			if diff := cmp.Diff(tc.want, Allowed(tc.s, side)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
