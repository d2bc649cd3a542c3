package e2e

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestReservedInMidMove: somebody tells a slice of our kind to skip an ordinal while ordinals
// move. It would own one more beyond its end: the move stalls, names the writer, and goes on
// when that is cleared (G17).
func TestReservedInMidMove(t *testing.T) {
	for name, at := range map[string]func(*move) end{"the source": (*move).here, "the destination": (*move).there} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, [2]string{slice, slice})
			reserved, stalled := false, false
			v.run(arrival(2)(func() error {
				reserved = true
				return v.reserve(at(v), "[7]", "helm") // of no effect yet
			}), func(_ *api.Migration, outcome migration.Outcome) error {
				if reserved && !stalled && outcome.Wrote && outcome.Decision.Effect.Verb == plan.ScaleDown {
					return fmt.Errorf("it goes on: %s", outcome.Decision.Effect)
				}
				hold := outcome.Decision.Hold
				if stalled || hold == nil || hold.Reason != api.ReasonForeignScale {
					return nil
				}
				stalled = true
				if !hold.Stalled || !contains(hold.Message, "reserveOrdinals") || !contains(hold.Message, `"helm"`) {
					return fmt.Errorf("held by %+v", hold)
				}
				return v.reserve(at(v), "null", "kubectl-patch")
			})
			if !stalled {
				t.Error("it did not notice")
			}
			v.expectKind(v.there(), slice, 3)
			v.expectVolumes(v.there(), 3)
			v.audit()
		})
	}
}

func (v *move) reserve(at end, ordinals, manager string) error {
	c, set := v.kindClient(at, slice)
	return c.Patch(v.ctx, set, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reserveOrdinals":`+ordinals+`}}`)), client.FieldOwner(manager))
}
