package planner

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestAttemptsCountOn: no attempt has the number of an earlier one, because the number is part of the claim's
// name. A provisioner may give that name the directory of the dropped claim. Neither a clock that is behind nor a
// lost record repeats a number.
func TestAttemptsCountOn(t *testing.T) {
	const last = 7
	recorded := func(number int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Ahead = []api.CopyAhead{{Ordinal: 1, Volumes: []api.HandoffVolume{{
				ClaimTemplate: "data", Name: "pv-data-web-1", Disk: volumes.Disk("disk-data-web-1"), Copy: api.CopyAttempt{Number: number, Begun: "migration.1", Giver: string(plan.SourceSide)},
			}}}}
		}
	}
	t.Run("of one that is dropped", func(t *testing.T) {
		got := early(1, 0, recorded(last))
		if got.Record == nil || got.Record.Ahead != nil || got.Record.LastAttempt != last {
			t.Errorf("got %+v", got.Record)
		}
	})
	for name, before := range map[string]int32{
		"in the same second":         volumes.Numbered(plantest.Epoch, 0),
		"by a clock that was behind": volumes.Numbered(plantest.Epoch.Add(time.Hour), 0),
	} {
		t.Run(name, func(t *testing.T) {
			got := early(1, 1, recorded(0), func(s *plan.Snapshot) { s.Record.LastAttempt = before })
			if got.Record == nil || len(got.Record.Ahead) != 1 {
				t.Fatalf("got %+v", got)
			}
			if number := got.Record.Ahead[0].Volumes[0].Copy.Number; number != before+1 || got.Record.LastAttempt != number {
				t.Errorf("it has the number %d and %d is recorded, want %d", number, got.Record.LastAttempt, before+1)
			}
		})
	}
}
