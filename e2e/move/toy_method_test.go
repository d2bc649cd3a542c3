package move

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// toyMethod is Rebind with an additional step: before the ordinal is stopped, the fence is written on the claim
// that it leaves behind.
type toyMethod struct{}

func (toyMethod) Facts() volumes.Facts                             { return volumes.Facts{} }
func (toyMethod) Ahead(volumes.Pair, volumes.Goal) volumes.Verdict { return volumes.Verdict{} }
func (toyMethod) Transfer(pair volumes.Pair) volumes.Verdict       { return volumes.Rebind{}.Transfer(pair) }

func (toyMethod) Settle(pair volumes.Pair) volumes.Verdict { return volumes.Rebind{}.Settle(pair) }

func (toyMethod) Check(pair volumes.Pair, at volumes.Moment) (*volumes.Reason, []volumes.Reason) {
	return volumes.Rebind{}.Check(pair, at)
}

func (toyMethod) Prepare(pair volumes.Pair) volumes.Verdict {
	verdict := volumes.Rebind{}.Prepare(pair)
	if !verdict.Done() || pair.Giver.Claim.Fence == pair.Fence {
		return verdict
	}
	mark := volumes.MarkClaimOf(pair.Giver, pair.Fence)
	mark.AtGiver = true
	return volumes.Verdict{Action: &mark}
}

func init() { methods.Register("Toy", toyMethod{}) } //nolint:gochecknoinits // as a program that adds a method does it

// TestToyMethod: a volume method is one file, and carries the volumes of a real migration in both directions.
func TestToyMethod(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withMethod("Toy"))
	mover, marked := v.Mover(), map[string]int{}
	count := func(_ *api.Migration, outcome engine.Outcome) error {
		if effect := outcome.Decision.Effect; outcome.Wrote && effect.Volume.Verb == volumes.MarkClaim && effect.Volume.AtGiver {
			marked[string(effect.Side)]++
		}
		return nil
	}
	v.Drive(mover, count, harness.Arrival(1)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectBack()
	if marked["source"] == 0 || marked["destination"] == 0 {
		t.Errorf("claims marked: %v", marked)
	}
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
	v.Drive(mover)
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestUnknownMethod: a migration with an unknown method carries no volumes.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, withMethod("Teleport"))
	mover, refused := v.Mover(), false
	v.Drive(mover, harness.StalledWith(volumes.ReasonUnknownMethod)(func() error {
		refused = true
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}))
	if !refused {
		t.Error("it was not refused")
	}
	v.ExpectSlice(v.Here(), 0, 1)
	v.Audit()
}

func withMethod(name api.VolumeMethod) harness.Setting {
	return harness.WithSpec(func(s *api.MigrationSpec) { s.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: name}} })
}
