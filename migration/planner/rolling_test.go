package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestRolloutThatDoesNotEnd: a rollout that needs a user's action stalls the move in both directions, with the
// patch that ends it. Any other rollout is awaited (I6).
func TestRolloutThatDoesNotEnd(t *testing.T) {
	for stays, want := range map[plan.Stays]string{
		"":                  "",
		plan.StaysPaused:    `{"spec":{"paused":false,"updateStrategy":{"rollingUpdate":{"paused":false}}}}`,
		plan.StaysOnDelete:  `{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`,
		plan.StaysPartition: `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`,
		plan.StaysFailed:    `{"spec":{"updateStrategy":{"rollingUpdate":{"onFailure":"Halt"}}}}`,
	} {
		for _, name := range plan.SideNames {
			for _, mode := range []api.Mode{api.ModeRun, api.ModeRollback} {
				p := halfway(plantest.InTurn(rollsOutAt(name), changesRolls(name, func(r *plan.Rolls) { r.Stays = stays }), func(s *plan.Snapshot) { s.Spec.Mode = mode }))
				next := map[api.Mode]int32{api.ModeRun: 1, api.ModeRollback: 2}[mode]
				got := p.gate(next)
				if got == nil || got.Reason != api.ReasonRolloutInProgress || got.Stalled != (want != "") || !strings.Contains(got.Remedy, want) {
					t.Fatalf("%s, %s, %q: got %+v", name, mode, stays, got)
				}
				if want != "" && !strings.Contains(got.Remedy, "in cluster "+p.Side(name).Cluster+": kubectl patch sts -n shop web ") {
					t.Errorf("%s, %s, %q: remedy %q", name, mode, stays, got.Remedy)
				}
			}
		}
	}
}

// TestFenceWithoutMarks: a slice of our own kind without the marks of a migration is fenced again, before anything
// else (I1).
func TestFenceWithoutMarks(t *testing.T) {
	for _, name := range plan.SideNames {
		p := halfway(changesRolls(name, func(r *plan.Rolls) { r.Unmarked = true }))
		got := p.ensureFence()
		if got == nil || got.Effect == nil || got.Effect.Verb != plan.WriteFence || got.Effect.Side != name || got.Effect.After.Fence != "m.2" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := halfway(nil).ensureFence(); got != nil {
		t.Errorf("with its marks: %+v", got)
	}
}
