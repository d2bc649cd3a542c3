package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// TestGivenUpWithoutProvers: a Migration that is deleted after a foreign change ends only when no volume is lent to a
// prover any more. Nothing else is awaited, and the work on an ordinal in flight is not that of a proof.
func TestGivenUpWithoutProvers(t *testing.T) {
	leave := func(s *plan.Snapshot) { s.Deleting = true }
	scale := func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }
	skips := func(s *plan.Snapshot) { s.Source.Set.Reserves = true }
	isWithdrawn := func(s *api.CopySeal) { s.Proof.Withdrawn = true }
	released := "recorded: " + api.ReasonReleased
	for name, tc := range map[string]struct {
		changes []func(*plan.Snapshot)
		want    string
	}{
		"no proof":                      {[]func(*plan.Snapshot){leave, scale}, released},
		"a proof":                       {[]func(*plan.Snapshot){leave, scale, proves(owed(3, isUnread))}, api.ReasonCopying},
		"one that failed":               {[]func(*plan.Snapshot){leave, scale, proves(owed(3, isBroken))}, api.ReasonCopying},
		"a proof, and skipped ordinals": {[]func(*plan.Snapshot){leave, skips, proves(owed(3, isUnread))}, api.ReasonCopying},
		"withdrawn":                     {[]func(*plan.Snapshot){leave, scale, proves(owed(3, isWithdrawn))}, released},
		"one of two":                    {[]func(*plan.Snapshot){leave, scale, proves(owed(4, isWithdrawn), owed(3, isUnread))}, api.ReasonCopying},
		"of one in flight":              {[]func(*plan.Snapshot){leave, scale, proves(owed(3, isUnread)), func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }}, released},
		"not deleted":                   {[]func(*plan.Snapshot){scale, proves(owed(3, isUnread))}, api.ReasonForeignScale},
	} {
		if got := inShort(midway(tc.changes...).foreign()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	edit := func(s *plan.Snapshot) { putBack(&s.Source, &s.Record.Baseline.SourceBudget, "kubectl") }
	p := midway(leave, edit, proves(owed(3, isUnread)))
	for range 9 {
		decision := p.foreign()
		if decision != nil && decision.Record != nil && decision.Record.Completed != "" {
			t.Fatalf("with a foreign budget: %+v", decision)
		}
		if decision == nil || decision.Effect == nil {
			break
		}
	}
}

// TestProofEndsAfterAForeignChange: the work of a proof ends in a Migration that is deleted, whatever another writer has
// changed. In one that is not deleted, it waits.
func TestProofEndsAfterAForeignChange(t *testing.T) {
	scale := func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }
	for _, deleting := range []bool{true, false} {
		leave := func(s *plan.Snapshot) { s.Deleting = deleting }
		s := plantest.Parted(plantest.InTurn(unbudgeted, scale, leave, proves(owed(4, isUnread))))
		s.Early = new(int32(4))
		decision := Plan(s)
		ends := decision.Record != nil && len(decision.Record.Proofs) == 1 && withdrawn(decision.Record.Proofs[0])
		if ends != deleting || decision.Effect != nil {
			t.Errorf("deleting %t: %+v", deleting, decision)
		}
	}
}
