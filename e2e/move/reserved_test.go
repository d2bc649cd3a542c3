package move

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestReservedInMidMove: another writer sets reserveOrdinals of a slice of our kind during a move. The slice
// could then own one more ordinal beyond its end. The move stalls, names the writer, and continues when the
// field is cleared (G17).
func TestReservedInMidMove(t *testing.T) {
	for name, at := range map[string]func(*move) harness.Endpoint{"the source": (*move).Here, "the destination": (*move).There} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newKindMove(t, [2]string{slice, slice})
			reserved, stalled := false, false
			v.Run(harness.Arrival(2)(func() error {
				reserved = true
				return v.reserve(at(v), "[7]", "helm") // it has no effect yet
			}), func(_ *api.Migration, outcome engine.Outcome) error {
				if reserved && !stalled && outcome.Wrote && outcome.Decision.Effect.Verb == plan.ScaleDown {
					return fmt.Errorf("it goes on: %s", outcome.Decision.Effect)
				}
				hold := outcome.Decision.Hold
				if stalled || hold == nil || hold.Reason != api.ReasonForeignScale {
					return nil
				}
				stalled = true
				if !hold.Stalled || !strings.Contains(hold.Message, "reserveOrdinals") || !strings.Contains(hold.Message, `"helm"`) {
					return fmt.Errorf("held by %+v", hold)
				}
				return v.reserve(at(v), "null", "kubectl-patch")
			})
			if !stalled {
				t.Error("it did not notice")
			}
			v.expectKind(v.There(), slice, 3)
			v.ExpectVolumes(v.There(), 3)
			v.Audit()
		})
	}
}

func (v *move) reserve(at harness.Endpoint, ordinals, manager string) error {
	c, set := v.kindClient(at, slice)
	return c.Patch(v.Ctx, set, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reserveOrdinals":`+ordinals+`}}`)), client.FieldOwner(manager))
}
