package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

const mostStatus = 32 << 10

// sized returns the size of a status in JSON.
func sized(t *testing.T, m *api.Migration) int {
	t.Helper()
	sent, err := json.Marshal(m.Status)
	if err != nil {
		t.Fatal(err)
	}
	return len(sent)
}

// begun returns a set of n ordinals, one of which is about to move.
func begun(t *testing.T, n int32) plan.Snapshot {
	t.Helper()
	return drivenUntil(t, n, func(s plan.Snapshot, _ plan.Decision) bool { return s.Record.Handoff != nil })
}

// stopping returns a set whose first ordinal is about to be stopped.
func stopping(t *testing.T, n int32) plan.Snapshot {
	t.Helper()
	return drivenUntil(t, n, func(_ plan.Snapshot, next plan.Decision) bool {
		return next.Effect != nil && next.Effect.Verb == plan.ScaleDown
	})
}

// drivenUntil drives a move of n ordinals until a condition holds.
func drivenUntil(t *testing.T, n int32, until func(plan.Snapshot, plan.Decision) bool) plan.Snapshot {
	t.Helper()
	w := simulate.NewWorld(plantest.Scenario{Replicas: n, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Prepared: true}.Build())
	for {
		decision := planner.Plan(w.State)
		switch {
		case until(w.State, decision):
			return w.State
		case decision.Record != nil:
			w.State.Record, w.State.Engaged = *decision.Record, decision.Record.Fence != nil
		case decision.Effect == nil:
			t.Fatalf("it does not begin: %+v", decision.Hold)
		default:
			if err := w.Apply(*decision.Effect); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range plan.SideNames {
			w.Learn(name)
		}
		w.ControlBudgets(plan.SourceSide)
		w.ControlBudgets(plan.DestinationSide)
	}
}

// TestStatusOfThousands: for any problem with any number of ordinals, the message names a few of them and the
// status is small.
func TestStatusOfThousands(t *testing.T) {
	const n = 5000
	down := func(s *plan.Snapshot) {
		for i := range s.Source.Pods {
			s.Source.Pods[i].Ready = false
		}
	}
	fresh, moving := plantest.Scenario{Replicas: n, Templates: []string{"data"}}.Build(), begun(t, n)
	var pods []string
	for k := range int32(n) {
		pods = append(pods, plan.PodName("other", k))
	}
	for name, tc := range map[string]struct {
		s      plan.Snapshot
		change func(*plan.Snapshot)
		reason string
	}{
		"none is available before it begins": {fresh, down, api.ReasonSourceNotHealthy},
		"many budgets": {fresh, func(s *plan.Snapshot) {
			for _, pod := range pods {
				s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: pod})
			}
		}, api.ReasonSeveralBudgets},
		"none is available, and one is to move": {moving, down, api.ReasonReplicaUnavailable},
		"none is available, and none is to move": {moving, func(s *plan.Snapshot) {
			down(s)
			s.Record.Handoff = nil
		}, api.ReasonReplicaUnavailable},
		"all use its claim": {stopping(t, n), func(s *plan.Snapshot) {
			s.Source.RemovePod(s.Record.Handoff.Ordinal)
			s.Source.Set.Replicas--
			for i := range s.Volumes {
				s.Volumes[i].Source.Claim.Users = pods
			}
		}, api.ReasonClaimInUse},
		"what it had is lost": {moving, func(s *plan.Snapshot) {
			s.Record.Handoff = nil
			s.Source.Set.Start, s.Source.Set.Replicas = 0, 1
			s.Destination.Set.Presence = plan.Absent
		}, api.ReasonDestinationMissing},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.s.Clone()
			tc.change(&s)
			decision := planner.Plan(s)
			if decision.Hold == nil || decision.Hold.Reason != tc.reason {
				t.Fatalf("%+v, want %s", decision.Hold, tc.reason)
			}
			m := &api.Migration{}
			m.Status.History = fullHistory(n)
			applyRecord(m, s.Record)
			render(m, s, decision)
			if got := len(decision.Hold.Message); got > 512 || !strings.Contains(decision.Hold.Message, " more") {
				t.Errorf("%d bytes are said: %.600s", got, decision.Hold.Message)
			}
			if got := sized(t, m); got > mostStatus {
				t.Errorf("its status has %d bytes", got)
			}
		})
	}
}

// TestStatusIsBounded: messages from outside may have any length, and each of their characters may take six
// bytes in JSON. The remedy is still included.
func TestStatusIsBounded(t *testing.T) {
	const remedy = "kubectl describe pod -n shop web-0"
	for name, text := range map[string]string{"plain": "a", "letters of two bytes": "é", "quotes": `"`, "no letters": "\x01", "no text": "\xff", "brackets": "<>"} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{Status: api.MigrationStatus{
				Baseline: &api.Baseline{DisruptionBudget: &api.DisruptionBudget{Name: strings.Repeat("b", 253)}},
				Fence:    &api.Fence{Holder: strings.Repeat("h", 253)}, Handoff: &api.Handoff{},
			}}
			for i := range 20 {
				m.Status.Handoff.Volumes = append(m.Status.Handoff.Volumes, api.HandoffVolume{ClaimTemplate: fmt.Sprintf("%063d", i), Name: strings.Repeat("p", 253), Disk: strings.Repeat("d", 64)})
			}
			long := strings.Repeat(text, 100_000)
			m.Status.AutomaticRollback = &api.AutomaticRollback{Reason: api.ReasonHookTimedOut, By: "hook " + strings.Repeat("h", 63), Message: long[:512]} // the planner keeps no more
			for _, kind := range []string{api.ConditionAccepted, api.ConditionCompleted} {
				condition(m, kind, metav1.ConditionFalse, api.ReasonForeignScale, long)
			}
			renderAhead(m, map[int32]heldCopy{1: {hold: plan.Hold{Reason: api.ReasonForeignScale, Message: long, Remedy: remedy}}}, plan.Decision{})
			hold := &plan.Hold{Reason: api.ReasonForeignScale, Message: long, Remedy: remedy, Stalled: true}
			render(m, plan.Snapshot{}, plan.Decision{Hold: hold})
			warning := plan.Finding{Check: long, Reason: long, Object: long, Message: long, Remedy: long, Warning: true}
			renderWarnings(m, plan.Decision{Findings: slices.Repeat([]plan.Finding{warning}, 100)})
			if got := sized(t, m); got > mostStatus {
				t.Errorf("it has %d bytes", got)
			}
			for _, c := range m.Status.Conditions {
				if name != "no text" && !utf8.ValidString(c.Message) {
					t.Errorf("%s is cut within a letter", c.Type)
				}
			}
			if got := said(m, api.ConditionAheadHeld); !strings.HasSuffix(got, ". What to do: "+remedy) {
				t.Errorf("it is not said how to mend what is held ahead: %.80q", got)
			}
			if got := said(m, api.ConditionStalled); !strings.HasSuffix(got, ". What to do: "+remedy) || len(got) < longestMessage/12 {
				t.Errorf("it is not said how to mend it, or little of what is amiss: %d bytes, %.80q", len(got), got)
			}
		})
	}
}
