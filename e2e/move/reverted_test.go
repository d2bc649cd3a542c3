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
	"github.com/sliceshift/sliceshift/volumes"
)

// TestBudgetReverted: during a move, a tool restores its own version of the PodDisruptionBudget without the
// migration's annotation. The migration names the tool and does not fight it. It writes no budget and stops no
// ordinal until the budget is handed over as the stall describes (G13). It may set volumes of the next handoff
// to Retain before the watch shows the budget.
func TestBudgetReverted(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	reverted, stalled := false, false
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		if reverted && !stalled && outcome.Wrote && outcome.Decision.Effect.Volume.Verb != volumes.Secure {
			return fmt.Errorf("it fights: %s", outcome.Decision.Effect)
		}
		if reverted || outcome.Finished == nil {
			return nil
		}
		reverted = true
		return v.revert("flux")
	}, harness.StalledWith(api.ReasonForeignBudget)(func() error {
		stalled = true
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, api.BudgetAnnotationKey, api.BudgetHandedOver)
		_, err := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).Patch(v.Ctx, v.App.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-annotate"})
		return err
	}), func(_ *api.Migration, outcome engine.Outcome) error {
		if hold := outcome.Decision.Hold; hold != nil && hold.Reason == api.ReasonForeignBudget && (!strings.Contains(hold.Message, `"flux"`) || !strings.Contains(hold.Remedy, api.BudgetHandedOver)) {
			return fmt.Errorf("stalled with %+v", hold)
		}
		return nil
	})
	if !stalled {
		t.Error("it did not notice")
	}
	v.ExpectMovedCleanly()
}

// revert replaces the source's PodDisruptionBudget by its author's version.
func (v *move) revert(manager string) error {
	budgets := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace)
	budget, err := budgets.Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	budget.Annotations, budget.Spec = nil, v.App.Budget().Spec
	_, err = budgets.Update(v.Ctx, budget, metav1.UpdateOptions{FieldManager: manager})
	return err
}
