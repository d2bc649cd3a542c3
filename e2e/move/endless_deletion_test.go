package move

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// keeper is a finalizer of an operator that does not remove it.
const keeper = "operator.example.com/keep"

// keepClaim sets the finalizers of a claim of the destination; null removes them.
func (v *move) keepClaim(claim, finalizers string) error {
	patch := fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, finalizers)
	_, err := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).Patch(v.Ctx, claim, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// TestH7FinalizerOfAnOperator: an operator's finalizer keeps the destination's claim during a rollback. The
// rollback stalls and names the finalizer. When the move runs again, no ordinal is stopped while the claim is
// being deleted.
func TestH7FinalizerOfAnOperator(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(hasty))
	mover := v.Mover()
	named := func(hold *plan.Hold) bool {
		return hold != nil && hold.Stalled && strings.Contains(hold.Message, "data-web-2") && strings.Contains(hold.Message, keeper) && hold.Remedy != ""
	}
	again, gated := false, false
	v.Drive(mover, harness.Arrival(2)(func() error {
		if err := v.keepClaim("data-web-2", `["kubernetes.io/pvc-protection","`+keeper+`"]`); err != nil {
			return err
		}
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}), func(m *api.Migration, outcome engine.Outcome) error {
		switch hold := outcome.Decision.Hold; {
		case !named(hold):
			return nil
		case m.Spec.Mode == api.ModeRollback && !again:
			again = true
			return mover.Store.SetMode(v.Ctx, api.ModeRun)
		case m.Spec.Mode == api.ModeRun && !gated:
			gated = true
			if ready, err := v.isReady(v.Here(), "web-2"); !ready || err != nil {
				return fmt.Errorf("web-2 is Ready: %t (%w)", ready, err)
			}
			return v.keepClaim("data-web-2", `null`)
		}
		return nil
	})
	if !again || !gated {
		t.Errorf("the rollback stalled: %t, the next stop was held: %t", again, gated)
	}
	v.ExpectMovedCleanly()
}
