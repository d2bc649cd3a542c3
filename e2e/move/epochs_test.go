package move

import (
	"errors"
	"fmt"
	"math"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestFenceByHand: between two ordinals, or while an ordinal is stopped, the fence gets an epoch that no
// process can reach by counting. A restore from a file might do that. The fence does not lock the migration out
// permanently: the move continues (G16).
func TestFenceByHand(t *testing.T) {
	for name, at := range map[string]harness.Moment{
		"between two ordinals":        harness.Arrival(2),
		"while an ordinal is stopped": harness.WroteOn(plan.SourceSide, plan.ScaleDown),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters)
			mover := v.Mover()
			written := false
			v.Drive(mover, at(func() error {
				written = true
				v.patchSource(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, api.FenceAnnotationKey, planner.Fence(v.Migration.UID, math.MaxInt64)))
				return nil
			}), harness.StalledWith(api.ReasonSuperseded)(func() error { return errors.New("it takes itself for superseded") }))
			if !written {
				t.Error("no fence was written")
			}
			v.ExpectMovedCleanly()
		})
	}
}
